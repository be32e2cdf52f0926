package setup

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"mcphub/cmd/mcphub/internal/config"
	"mcphub/hub"
	"mcphub/internal/principal"
	"mcphub/rootsmgr"
)

// H5: tokens come from the environment or from a file that is its owner's
// alone, and carry the directories that their client never leaves.
func TestTokens(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	write("good", "s3cret\n", 0o600)
	write("readable", "s3cret\n", 0o664) // which others may write, no matter who is in the group
	write("empty", "\n", 0o600)
	write("two", "a\nb\n", 0o600)
	write("long", strings.Repeat("x", maxToken+1), 0o600)
	for name, tc := range map[string]struct{ token, secret, wrong string }{
		"variable":       {`"env": "SET"`, "from-env", ""},
		"unset variable": {`"env": "UNSET"`, "", "UNSET"},
		"file":           {`"file": "good"`, "s3cret", ""},
		"no file":        {`"file": "gone"`, "", "cannot be read"},
		"folder":         {`"file": "."`, "", "no regular file"},
		"open file":      {`"file": "readable"`, "", "chmod 600"},
		"empty file":     {`"file": "empty"`, "", "alone, on one line"},
		"two lines":      {`"file": "two"`, "", "alone, on one line"},
		"long file":      {`"file": "long"`, "", "larger than 16384 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "open file" && runtime.GOOS == "windows" {
				t.Skip("modes mean nothing there")
			}
			f, problems, err := config.Parse(filepath.Join(dir, "hub.json"), []byte(`{"mcpServers":{"f":{"builtin":"files"}},
				"http": {"tokens": [{"name": "alice", `+tc.token+`, "roots": ["sub", "/srv/alice", "w/*"]}]}}`), nil)
			if err != nil {
				t.Fatal(problems, err)
			}
			env := func(name string) (string, bool) {
				return map[string]string{"SET": "from-env"}[name], name == "SET"
			}
			o, err := HTTPOptions(f, env, zerolog.Nop())
			if tc.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wrong) || !strings.Contains(err.Error(), "hub.json:2") || strings.Contains(err.Error(), "s3cret") {
					t.Errorf("%v, want %q at hub.json:2", err, tc.wrong)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := o.Tokens[0]; got.Name != "alice" || got.Secret != tc.secret || !slices.Equal(got.Roots, []rootsmgr.RootEntry{{URI: filepath.Join(dir, "sub")}, {URI: "/srv/alice"}, {URI: filepath.Join(dir, "w/*"), Pattern: "*"}}) {
				t.Errorf("%+v", got)
			}
		})
	}
}

// The key of requestState comes the same way, and is never short.
func TestStateKey(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("k", shortestKey)
	for name, tc := range map[string]struct{ key, secret, wrong string }{
		"long":    {`{"env": "KEY"}`, long, ""},
		"short":   {`{"env": "KEY"}`, long[1:], "fewer than"},
		"not set": {`{"env": "OTHER"}`, long, "OTHER"},
		"no file": {`{"file": "gone"}`, "", "cannot be read"},
	} {
		f, problems, err := config.Parse(filepath.Join(t.TempDir(), "hub.json"), []byte(`{"mcpServers":{"f":{"builtin":"files"}},
			"http": {"stateKey": `+tc.key+`}}`), nil)
		if err != nil {
			t.Fatal(problems, err)
		}
		o, err := HTTPOptions(f, func(name string) (string, bool) {
			return map[string]string{"KEY": tc.secret}[name], name == "KEY"
		}, zerolog.Nop())
		switch {
		case tc.wrong == "" && (err != nil || string(bytes.Join(o.StateKeys, []byte(" "))) != tc.secret):
			t.Errorf("%s: %q, %v", name, o.StateKeys, err)
		case tc.wrong != "" && (err == nil || !strings.Contains(err.Error(), tc.wrong) || !strings.Contains(err.Error(), "hub.json:2") || strings.Contains(err.Error(), "kkk")):
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, problems, err := config.Parse("hub.json", []byte(`{"mcpServers":{},"http":{"stateKey":{"env":"A","file":"b"}}}`), nil); err == nil {
		t.Errorf("both at once: %v", problems)
	}
}

// What a caller of an issuer rests on changes with all that would make another of it, and with nothing else.
func TestBasisOfAnIssuersCaller(t *testing.T) {
	t.Parallel()
	at := func(text string) *config.File {
		f, problems, err := config.Parse(filepath.Join(t.TempDir(), "hub.json"), []byte(`{"mcpServers":{"f":{"builtin":"files"}}, "http": {"resource": "https://hub.example/mcp", "issuers": [`+text+`]}}`), nil)
		if err != nil {
			t.Fatal(problems, err)
		}
		return f
	}
	issuer := func(claim, more, values string) string {
		return `{"issuer": "https://login.example"` + more + `, "roots": {"claim": "` + claim + `", "values": {` + values + `}}}`
	}
	const a, b, other = `"a": ["/srv/a"]`, `"b": ["/srv/b"]`, `{"issuer": "https://other.example"}`
	who := hub.Caller{Principal: principal.Principal{Name: "alice", Issuer: "https://login.example"}, Values: []string{"a"}}
	basis := func(text string) string { return protectedResource(at(text), zerolog.Nop()).Basis(who) }
	was := basis(issuer("groups", "", a+","+b))
	for name, tc := range map[string]struct {
		now   string
		stays bool
	}{
		"the same":             {issuer("groups", "", a+","+b), true},
		"another value is out": {issuer("groups", "", a), true},
		"another issuer":       {issuer("groups", "", a+","+b) + "," + other, true},
		"its value is out":     {issuer("groups", "", b), false},
		"other directories":    {issuer("groups", "", `"a": ["/srv/c"],`+b), false},
		"another claim":        {issuer("teams", "", a+","+b), false},
		"another audience":     {issuer("groups", `, "audience": "x"`, a+","+b), false},
		"another scope":        {issuer("groups", `, "scopes": ["x"]`, a+","+b), false},
		"it is out":            {other, false},
	} {
		if got := basis(tc.now) == was; got != tc.stays {
			t.Errorf("%s: stays %t", name, got)
		}
	}
}

// The one who listens on numbers that other machines reach is told from who does not; what is no address is reached by no
// one and local to no one.
func TestLocalAddresses(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]struct{ local, reached bool }{
		"127.0.0.1:80": {true, false}, "127.9.9.9:80": {true, false}, "[::1]:80": {true, false}, "[::ffff:127.0.0.1]:80": {true, false},
		"0.0.0.0:80": {false, true}, "[::]:80": {false, true}, ":80": {false, true}, "192.0.2.1:80": {false, true}, "[fe80::1%eth0]:80": {false, true},
		"localhost:80": {false, false}, "hub.example:80": {false, false}, "80": {false, false}, "": {false, false},
	} {
		if local, reached := IsLocalAddress(address), isReached(address); local != want.local || reached != want.reached {
			t.Errorf("%q: local %t, reached %t", address, local, reached)
		}
	}
}

// The part of a principal follows how many there may be.
func TestSeveralPrincipals(t *testing.T) {
	t.Parallel()
	a, b := `{"name": "a", "env": "A"}`, `{"name": "b", "env": "B"}`
	for text, want := range map[string]bool{
		`{}`: false, `{"http": {"tokens": [` + a + `]}}`: false, `{"http": {"tokens": [` + a + `, ` + b + `]}}`: true,
		`{"http": {"resource": "https://hub.example/mcp", "issuers": [{"issuer": "https://login.example"}]}}`: true,
	} {
		if got := (&Source{}).baseSettings(file(t, text), zerolog.Nop()).Limits; got.MultiplePrincipals != want || got.PrincipalChildren != 0 {
			t.Errorf("%s: %+v", text, got)
		}
	}
}
