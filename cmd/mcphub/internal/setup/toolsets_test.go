package setup

import (
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"mcphub/hub"
	"mcphub/hub/toolset"
	"mcphub/internal/principal"
)

const twoSets = `{"mcpServers": {"files": {"builtin": "files"}, "git": {"builtin": "files"}}, "names": {"separator": "--"},
"toolsets": {"web": {"servers": ["files"], "tools": ["git--read_*"], "exclude": ["*--x"], "instructions": "Look."}, "ops": {"servers": ["git"]}},
"clients": {"codex": ["web"]}, "projects": {"shop": ["web"], "~/work": ["ops"]},
"http": {"resource": "https://hub.example/mcp", "tokens": [{"name": "alice", "env": "A", "toolsets": ["web"]}, {"name": "bob", "env": "B"}],
"issuers": [{"issuer": "https://login.example", "groups": "groups", "toolsets": {"claim": "groups", "values": {"dev": ["web"], "ops": ["ops"]}}}]}}`

// The toolsets of hub.json are in order, and folders start at the file or at home, in every spelling.
func TestToolsetTable(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("not every user may make links")
	}
	f := file(t, twoSets)
	f.Path = filepath.Join(t.TempDir(), "hub.json")
	if err := os.MkdirAll(filepath.Join(f.Dir(), "real"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real", filepath.Join(f.Dir(), "shop")); err != nil {
		t.Fatal(err)
	}
	real, err := filepath.EvalSymlinks(filepath.Join(f.Dir(), "real"))
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(f.Dir(), "home")
	got, err := ToolsetTable(f, home)
	want := &toolset.Table{
		Sets:     []toolset.Set{{Name: "ops", Servers: []string{"git"}}, {Name: "web", Servers: []string{"files"}, Tools: []toolset.Pattern{{Server: "git", Name: "read_*"}}, Exclude: []toolset.Pattern{{Server: "*", Name: "x"}}, Instructions: "Look."}},
		Clients:  map[string][]string{"codex": {"web"}},
		Projects: []toolset.Project{{Dirs: []string{filepath.Join(f.Dir(), "shop"), real}, Toolsets: []string{"web"}}, {Dirs: []string{filepath.Join(home, "work")}, Toolsets: []string{"ops"}}},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v %v, want %+v", got, err, want)
	}
	if none, err := ToolsetTable(file(t, `{"mcpServers": {}}`), home); none != nil || err != nil {
		t.Errorf("without toolsets there is %+v %v", none, err)
	}
	for name, want := range map[string]string{"web": "", "wbe": "did you mean web?", "other": "it has ops, web"} {
		err := CheckToolsets(got.Names(), []string{name})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := CheckToolsets(nil, []string{"web"}); err == nil || !strings.Contains(err.Error(), `add "toolsets"`) {
		t.Error(err)
	}
	given := &Source{Toolsets: []string{"wbe"}}
	if err := given.CheckToolsets(&AcceptedConfig{}, got); err == nil || !strings.Contains(err.Error(), "did you mean web?") {
		t.Errorf("a hub is there for a toolset that is not: %v", err)
	}
	if err := given.CheckToolsets(&AcceptedConfig{Waiting: "it waits"}, got); err != nil {
		t.Errorf("a hub whose hub.json waits for a person ends: %v", err)
	}
}

// A command that shows what another client gets has the toolsets that its token may have, or its groups. A caller of an issuer rests on them.
func TestToolsetsOfCallers(t *testing.T) {
	t.Parallel()
	f := file(t, twoSets)
	for _, tc := range []struct {
		name   string
		groups []string
		want   []string
	}{
		{"alice", nil, []string{"web"}}, {"bob", nil, nil}, {"dave@login.example", []string{"dev", "ops"}, []string{"web", "ops"}}, {"dave@login.example", []string{"x"}, []string{}},
	} {
		as, err := ViewAs(f, tc.name, tc.groups)
		if err != nil || !reflect.DeepEqual(as.Toolsets, tc.want) {
			t.Errorf("%s in %q: %+v %v", tc.name, tc.groups, as, err)
		}
	}
	who := hub.Caller{Principal: principal.Principal{Name: "dave", Issuer: "https://login.example"}, Named: []string{"dev"}}
	basis := func(text string) string { return protectedResource(file(t, text), zerolog.Nop()).Basis(who) }
	was := basis(twoSets)
	for name, tc := range map[string]struct {
		now   string
		stays bool
	}{
		"the same":             {twoSets, true},
		"another value is out": {strings.Replace(twoSets, `, "ops": ["ops"]}`, `}`, 1), true},
		"its value has others": {strings.Replace(twoSets, `"dev": ["web"]`, `"dev": ["ops"]`, 1), false},
		"another claim":        {strings.Replace(twoSets, `"claim": "groups"`, `"claim": "teams"`, 1), false},
	} {
		if got := basis(tc.now) == was; got != tc.stays {
			t.Errorf("%s: stays %v", name, got)
		}
	}
}
