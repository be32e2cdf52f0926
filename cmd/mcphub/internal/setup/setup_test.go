package setup

import (
	"maps"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"mcphub/children/consent"
	"mcphub/children/spec"
	"mcphub/cmd/mcphub/internal/config"
	"mcphub/hub"
)

func file(t *testing.T, text string) *config.File {
	t.Helper()
	f, problems, err := config.Parse("/hub.json", []byte(text), nil)
	if err != nil {
		t.Fatal(problems, err)
	}
	return f
}

// serversOf returns the settings of a hub with the servers of a file.
func serversOf(t *testing.T, f *config.File) (cfg hub.Config) {
	t.Helper()
	for i := range f.Servers {
		if err := addServer(&cfg, f, &f.Servers[i], consent.New(t.TempDir())); err != nil {
			t.Fatal(err)
		}
	}
	return cfg
}

// A version that an entry names is the one that is proposed, and says the era.
func TestProtocolOfAnEntry(t *testing.T) {
	t.Parallel()
	f := file(t, `{"mcpServers":{
		"none":    {"command": "x"},
		"empty":   {"command": "x", "protocol": "", "era": "modern"},
		"legacy":  {"command": "x", "protocol": "2025-03-26"},
		"modern":  {"command": "x", "protocol": "2026-07-28"},
		"builtin": {"builtin": "files", "protocol": "2025-06-18"}}}`)
	cfg := serversOf(t, f)
	type pin struct {
		protocol string
		era      spec.Era
	}
	got := map[string]pin{}
	for _, c := range cfg.Children {
		got[c.Spec.Name] = pin{c.Spec.Protocol, c.Spec.Era}
	}
	want := map[string]pin{
		"none": {"", spec.EraAuto}, "empty": {"", spec.EraModern}, "legacy": {"2025-03-26", spec.EraLegacy},
		"modern": {"", spec.EraModern}, "builtin": {"2025-06-18", spec.EraLegacy},
	}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// C6: a session's own server is never stopped for being idle, a shared one
// after a quarter of an hour, and either as hub.json says.
func TestTimeouts(t *testing.T) {
	t.Parallel()
	f := file(t, `{"mcpServers":{
		"own":      {"command": "x"},
		"all":      {"command": "x", "share": "all"},
		"roots":    {"command": "x", "share": "roots"},
		"for-ever": {"command": "x", "share": "all", "timeout": {"idle": "0"}},
		"own-idle": {"command": "x", "timeout": {"idle": "1h", "start": "5s", "call": "7s", "stop": "1s"}},
		"off":      {"command": "x", "disabled": true}}, "limits": {"frame": "1MiB"}, "roots": {"timeout": "5s"}}`)
	cfg := serversOf(t, f)
	idle := map[string]time.Duration{"own": 0, "all": 15 * time.Minute, "roots": 15 * time.Minute, "for-ever": 0, "own-idle": time.Hour}
	specs := map[string]spec.Spec{}
	for _, c := range cfg.Children {
		specs[c.Spec.Name] = c.Spec
		if want, ok := idle[c.Spec.Name]; !ok || c.Spec.IdleTimeout != want {
			t.Errorf("%s: idle %s, want %s", c.Spec.Name, c.Spec.IdleTimeout, want)
		}
	}
	if len(specs) != len(idle) || len(cfg.Broken) != 0 {
		t.Errorf("%d servers, broken: %v", len(specs), cfg.Broken)
	}
	if s := specs["own-idle"]; s.StartTimeout != 5*time.Second || s.CallTimeout != 7*time.Second || s.StopTimeout != time.Second {
		t.Errorf("own-idle: %+v", s)
	}
	if s := specs["own"]; s.StartTimeout != 0 || s.CallTimeout != 10*time.Minute || s.StopTimeout != 2500*time.Millisecond {
		t.Errorf("own: %+v", s)
	}
	if own, top := specs["own"].FrameLimit, (&Source{}).baseSettings(f, zerolog.Nop()); own != 1<<20 || top.Limits.Frame != 1<<20 || top.Roots.Timeout != 5*time.Second {
		t.Errorf("limits.frame is %d for a server and %d for clients, roots.timeout %s", own, top.Limits.Frame, top.Roots.Timeout)
	}
	if len(cfg.Disabled) != 1 || cfg.Disabled[0] != "off" {
		t.Errorf("disabled: %q", cfg.Disabled)
	}
}

// TestPrefixes: no dot of a server's name gets into the names of its tools, unless a person wrote the prefix or the client takes all
// names of the protocol.
func TestPrefixes(t *testing.T) {
	t.Parallel()
	for most, want := range map[string]string{"": "git_hub_io__", `, "names": {"max": 65}`: "git.hub.io__"} {
		f := file(t, `{"mcpServers": {"git.hub.io": {"command": "x"}, "own": {"command": "x", "prefix": "a.b."}}`+most+`}`)
		cfg := serversOf(t, f)
		if len(cfg.Children) != 2 || cfg.Children[0].Prefix != want || cfg.Children[1].Prefix != "a.b." {
			t.Errorf("names%s: %+v", most, cfg.Children)
		}
	}
}
