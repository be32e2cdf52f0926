package config

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"mcphub/cmd/mcphub/internal/config/hubfile"
	"mcphub/cmd/mcphub/internal/config/keys"
)

func ptr[T any](v T) *T { return &v }

// must parses text that has no problems at all.
func must(t *testing.T, text string, env map[string]string) *File {
	t.Helper()
	f, problems, err := Parse("hub.json", []byte(text), envOf(env))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Error(p)
	}
	return f
}

func TestEveryKeyIsRead(t *testing.T) {
	t.Parallel()
	f := must(t, everyKey, map[string]string{"GITHUB_TOKEN": "s3cret"})
	usual := Timeout{Call: 10 * time.Minute, Stop: 2500 * time.Millisecond}
	free := Sandbox{Mode: "off", Default: true, Network: Network{Word: "on"}}
	held := free
	held.Mode = "auto"
	want := &File{
		Path: "hub.json",
		Servers: []Server{
			{Name: "files", Builtin: "files", Arguments: "lenient", Start: "lazy", Era: "auto", Timeout: usual, Sandbox: free},
			{Name: "filesystem", Process: Process{Command: "npx", Args: []string{"-y", "@modelcontextprotocol/server-filesystem"}},
				Roots: []string{"args"}, Arguments: "lenient", Start: "lazy", Era: "auto", Timeout: usual, Sandbox: held},
			{Name: "git.hub", Remote: Remote{URL: "https://example.com/mcp", Headers: map[string]string{"Authorization": "Bearer s3cret"},
				TLS: &ServerTLS{"ca.pem", "c.pem", "k.pem", []string{"sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}}, HeadersFrom: &HeadersFrom{"token", []string{"-x"}, 5 * time.Minute}},
				Type: "http", Paths: Paths{Mode: "declared"}, Arguments: "lenient", Start: "lazy", Era: "auto", Timeout: usual, Sandbox: free},
			{Name: "git", Process: Process{Command: "uvx", Args: []string{"mcp-server-git"}, Cwd: "${root}",
				Env: map[string]string{"LANG": "C.UTF-8", "a.b": "1"}, EnvFile: ".env", Inherit: []string{"GIT_SSH_COMMAND"}, Local: true},
				Paths: Paths{Mode: "strict", Args: map[string]map[string]ArgRule{
					"git_add": {"/files/*": {"write", "/repo_path"}}, "git_diff": {"/target": {Role: "none"}}}},
				Prefix: ptr(""), Tools: Tools{Include: []string{"*"}, Exclude: []string{"git_reset"}, Rename: map[string]string{"git_log": "history"}, Describe: map[string]string{"git_log": "What was done."}, Set: map[string]map[string]string{"git_log": {"/repo/path": `{"a":[1,null]}`}}},
				Arguments: "strict", Share: "roots", Start: "eager", Era: "legacy", Protocol: "2025-06-18", Changes: "refuse", Disabled: true,
				Sandbox: Sandbox{"required", false, []string{"~/a"}, []string{"b"}, Network{Ports: []int{443, 80}}, "on", "refuse"},
				Limits:  ServerLimits{1 << 30, 50, CallLimits{4, ptr(0), "60/min"}, map[string]CallLimits{"write_*": {Calls: 1, Queue: nil, Rate: "10/s"}}},
				Results: ServerResults{ptr(int64(0))},
				Timeout: Timeout{30 * time.Second, 90 * time.Second, ptr(time.Duration(0)), time.Second}},
		},
		Sandbox: "auto", Changes: "warn",
		Name: "team-hub", Title: "Hub of the team", Instructions: "Ask first.",
		Names:    Names{"--", 40},
		Expose:   Expose{"auto", 12000},
		Results:  Results{100 << 10},
		Attach:   Attach{"auto", time.Minute},
		Toolsets: map[string]Toolset{"web": {[]string{"files"}, []string{"git--git_*"}, []string{"*--*_delete"}, "Look first.", true}},
		Clients:  map[string][]string{"codex": {"web"}}, Projects: map[string][]string{"~/work/shop": {"web"}},
		Inputs:  []Input{{"key", "The key", true, "promptString"}},
		Secrets: Secrets{"file", "~/id"}, Auth: OAuthClient{"https://client.example/mcphub.json"},
		Roots: Roots{5 * time.Second, 100 * time.Millisecond, time.Minute,
			[]Fallback{{".", ""}, {"/shared/media", "Media"}}, When{keys.WhenDeny, true, true}, []string{"https://api.example.com/v1/"}, true, map[string]string{"vscode-remote://ssh-remote+host/home/me": "~/work"}},
		Policy: Policy{Sandbox: "/tmp/sandbox", Protected: []string{"~/.ssh"}, Rules: []Rule{
			{"read-documents", "allow", false, Condition{Principals: []string{"alice"}, Groups: []string{"dev"}, Servers: []string{"files*"}, Tools: []string{"read_*"}, Paths: &PathCondition{[]string{"read"}, "~/Documents", false}}},
			{"rule 2", "escalate", true, Condition{Paths: &PathCondition{[]string{"read", "write"}, "", true}}},
			{"rule 3", "deny", false, Condition{}}}},
		Approval: Approval{time.Minute, []string{"terminal", "console"}, "tty", "off"},
		Audit:    Audit{"off", true, true, true, Keep{90 * 24 * time.Hour, 10 << 30}, Syslog{"tls://logs.example:6514", "/etc/ssl/logs.pem"}},
		Logs:     Logs{"off"},
		Metrics:  Metrics{"127.0.0.1:9464", Secret{Env: "METRICS_TOKEN"}, []string{"hub.local"}, true},
		HTTP: HTTP{"[::1]:8080", "token", []string{"hub.local"}, []string{"https://hub.local"}, 20 * time.Second, 3 * time.Second, time.Minute,
			[]Token{{Name: "alice", Env: "ALICE_TOKEN", Groups: []string{"dev"}, Roots: []string{"/srv/alice"}, Toolsets: []string{"web"}}, {Name: "bob", File: "~/bob.token"}},
			"https://hub.example/mcp", []Issuer{{Issuer: "https://login.example/realm", Audience: "hub", Principal: "email", Groups: "teams", Scopes: []string{"mcp"}, Roots: &IssuerValues{"groups", map[string][]string{"team-a": {"/srv/team-a"}}}, Toolsets: &IssuerValues{"groups", map[string][]string{"team-a": {"web"}}}, Login: IssuerLogin{"hub-login", Secret{Env: "LOGIN_SECRET"}}}},
			time.Hour, []Secret{{Env: "STATE_KEY"}}, &TLS{"cert.pem", "key.pem"}, HTTPWhen{true}, "hub-1", []string{"10.0.0.0/8", "::1"}, []string{"http://hub-2:8080"}},
		Limits: Limits{1 << 20, 2 << 10, 1 << 20, 1, 2, 3, 4, 8, PrincipalLimits{1, 2, 3, 4, 5}},
	}
	if diff := cmp.Diff(want, f, cmpopts.IgnoreUnexported(File{}), cmpopts.IgnoreFields(Policy{}, "Raw"), cmpopts.IgnoreFields(File{}, "Sum"), cmpopts.IgnoreFields(Server{}, "Key")); diff != "" {
		t.Error("(-want +got)", diff)
	}
	if !f.Audit.IsOff() || !f.Logs.IsOff() {
		t.Error("audit or logs are not off")
	}
	var raw struct {
		Protected []string
		Rules     []struct{ Then string }
	}
	if err := json.Unmarshal(f.Policy.Raw, &raw); err != nil || len(raw.Rules) != 3 || raw.Protected[0] != "~/.ssh" {
		t.Errorf("raw policy %s: %v", f.Policy.Raw, err)
	}
}

// TestTableAndTypesAgree fails when a key of the table has no field or a field
// has no key: decoding is strict one way, everyKey shows the other.
func TestTableAndTypesAgree(t *testing.T) {
	t.Parallel()
	f := must(t, everyKey, map[string]string{"GITHUB_TOKEN": "t"})
	for _, k := range keys.Describe() {
		path := strings.Split(strings.NewReplacer("[]", ".0", "toolsets.*", "toolsets.web").Replace(k.Path), ".")
		if path[0] == "mcpServers" || strings.HasPrefix(k.Path, "roots.fallback[]") || strings.HasSuffix(k.Path, "[].serve") || k.Path == "http.tokens[].file" || k.Path == "http.stateKey[].file" || k.Path == "http.issuers[].login.file" || k.Path == "metrics.token.file" {
			continue // not in the first entry, or instead of another key
		}
		if p, around := f.At(path...), f.At(path[:len(path)-1]...); p.Line == 0 || p.Line == around.Line && p.Col == around.Col {
			t.Errorf("everyKey does not use %s", k.Path)
		}
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	f := Default()
	want := &File{
		Servers: []Server{{Name: "files", Builtin: "files", Arguments: "lenient", Start: "lazy", Era: "auto",
			Timeout: Timeout{Call: 10 * time.Minute, Stop: 2500 * time.Millisecond},
			Sandbox: Sandbox{Mode: "off", Default: true, Network: Network{Word: "on"}}}},
		Sandbox: keys.SandboxDefault,
		Names:   Names{"__", 50}, Expose: Expose{"direct", 20000}, Attach: Attach{"off", 10 * time.Minute}, Secrets: Secrets{Store: "keyring"},
		Roots:    Roots{Timeout: 10 * time.Second, Debounce: 250 * time.Millisecond, Stale: 10 * time.Minute, When: When{Unsupported: keys.WhenProject}},
		Approval: Approval{2 * time.Minute, nil, "off", "auto"},
		HTTP:     HTTP{Listen: "127.0.0.1:0", Auth: keys.AuthToken, Drain: 5 * time.Second, Grace: 20 * time.Second, Idle: 30 * time.Minute},
		Limits:   Limits{64 << 20, 1 << 10, 64 << 20, 1000, 256, 256, 8, 128, PrincipalLimits{}},
	}
	if diff := cmp.Diff(want, f, cmpopts.IgnoreUnexported(File{}), cmpopts.IgnoreFields(Server{}, "Key")); diff != "" {
		t.Error("(-want +got)", diff)
	}
	if p := f.At("roots"); p.Line != 0 || p.Key != "roots" || f.Dir() != "" {
		t.Errorf("Default points at %v in %q", p, f.Dir())
	}
}

func TestExampleLoadsWithoutProblems(t *testing.T) {
	t.Parallel()
	f, problems, err := Load(exampleFile, envOf(nil))
	if err != nil || len(problems) > 0 {
		t.Fatal(problems, err)
	}
	if abs, _ := filepath.Abs(exampleFile); f.Path != abs || f.Dir() != filepath.Dir(abs) || f.At("roots").File != exampleFile {
		t.Errorf("path %q, folder %q, problems in %q", f.Path, f.Dir(), f.At("roots").File)
	}
	for _, name := range []string{"filesystem", "everything", "files"} {
		if s := f.Server(name); s == nil || s.Disabled || s.Err != nil {
			t.Errorf("server %s: %+v", name, s)
		}
	}
	// What stands in comments must be right too.
	text, err := os.ReadFile(exampleFile)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	for i, l := range lines {
		if in := strings.TrimLeft(strings.TrimPrefix(strings.TrimSpace(l), "//"), " "); strings.HasPrefix(strings.TrimSpace(l), "//") &&
			(strings.HasPrefix(in, `"`) || strings.HasPrefix(in, "{") || strings.HasPrefix(in, "]") || strings.HasPrefix(in, "}")) {
			lines[i] = in
		}
	}
	f, problems, err = Parse("hub.json.example", []byte(strings.Join(lines, "\n")), envOf(nil))
	if err != nil || len(problems) > 0 || len(f.Policy.Rules) != 1 || len(f.Roots.Fallback) != 2 {
		t.Fatal(problems, err)
	}
}

func TestLoadErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, _, err := Load(filepath.Join(dir, "none.json"), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, _, err := Load(dir, nil); err == nil || !strings.Contains(err.Error(), "folder") {
		t.Error(err)
	}
	big := filepath.Join(dir, "big.json")
	if err := os.WriteFile(big, append([]byte("{}"), make([]byte, hubfile.MaxSize)...), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Load(big, nil); err == nil || !strings.Contains(err.Error(), "larger than 4MiB") {
		t.Error(err)
	}
	var le *LoadError
	f, problems, err := Parse("hub.json", []byte(`{"expose": 1, "names": []}`), nil)
	if f != nil || !errors.As(err, &le) || len(le.Errors) != 2 || len(problems) != 3 {
		t.Errorf("%v %v %v", f, problems, err)
	}
	if want := "hub.json:1:12: error: expose: found a number, want \"direct\", \"search\" or \"auto\" or an object (and 1 more)"; err.Error() != want {
		t.Errorf("got  %s\nwant %s", err, want)
	}
}

func TestJSONC(t *testing.T) {
	t.Parallel()
	f := must(t, "\xef\xbb\xbf// first\n{ /* in */ \"mcpServers\": { \"b\": { \"command\": \"x\", }, \"a\": { \"command\": \"y\" }, }, } // last, without newline", nil)
	if f.Servers[0].Name != "b" || f.Servers[1].Name != "a" {
		t.Error("servers are not in the order of the file")
	}
	if p := f.At("mcpServers", "b"); p.Line != 2 || p.Col != 28 {
		t.Error(p)
	}
}

// TestOneBadServer: an error in an entry fails that entry; one elsewhere fails
// the file.
func TestOneBadServer(t *testing.T) {
	t.Parallel()
	f, problems, err := Parse("hub.json", []byte(`{"mcpServers": {
  "good": { "command": "x" },
  "typed": { "command": "x", "args": "y" },
  "unset": { "command": "x", "env": { "TOKEN": "${TOKEN}" } },
  "off": { "command": "x", "env": { "TOKEN": "${TOKEN}" }, "disabled": true },
  "last": { "builtin": "files" }
}}`), envOf(nil))
	if err != nil || len(f.Servers) != 5 || len(problems) != 2 {
		t.Fatal(problems, err)
	}
	for _, s := range f.Servers {
		if bad := s.Name == "typed" || s.Name == "unset"; (s.Err != nil) != bad {
			t.Errorf("%s: %v", s.Name, s.Err)
		}
	}
	want := "hub.json:4:48: error: mcpServers.unset.env.TOKEN: the variable TOKEN is not set; set it for the hub, or give a default: ${TOKEN:-...}"
	if got := f.Server("unset").Err.String(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if f, _, err := Parse("hub.json", []byte(`{"mcpServers": {"a": {"command": "x"}}, "policy": {"protected": "~/.ssh"}}`), nil); f != nil || err == nil {
		t.Error("a policy that cannot be read was passed over")
	}
}

func TestAt(t *testing.T) {
	t.Parallel()
	f := must(t, everyKey, map[string]string{"GITHUB_TOKEN": "t"})
	for _, tc := range []struct {
		path      []string
		key       string
		line, col int
	}{
		{[]string{"policy", "rules", "1"}, "policy.rules[1]", 27, 26},
		{[]string{"policy", "rules", "1", "if"}, "policy.rules[1].if", 27, 63},
		{[]string{"mcpServers", "git.hub", "url"}, `mcpServers["git.hub"].url`, 6, 18},
		{[]string{"mcpServers", "git", "paths", "args", "none"}, "mcpServers.git.paths.args.none", 11, 33}, // the object around it
		{[]string{"nothing"}, "nothing", 1, 1},
	} {
		p := f.At(tc.path...)
		if p.Key != tc.key || p.Line != tc.line || p.Col != tc.col || p.File != "hub.json" {
			t.Errorf("%v: %+v", tc.path, p)
		}
	}
}

// Whatever an entry is called, it has a name of its own that tools can begin with.
func TestNamesOfServers(t *testing.T) {
	t.Parallel()
	f, problems, err := Parse("hub.json", []byte(`{"names":{"separator":"--"},"mcpServers":{
		"My Server":{"command":"a"}, "My-Server":{"command":"b"}, "\u6587\u4ef6":{"command":"c"}, "../x/y":{"command":"d"},
		"a--b":{"command":"e"}, "":{"command":"f"}, "  ":{"command":"g","cwd":3}}}`), nil)
	if err != nil {
		t.Fatal(err, problems)
	}
	var names []string
	for _, s := range f.Servers {
		names = append(names, s.Name)
		if !keys.IsServerName(s.Name) || strings.Contains(s.Name, "--") {
			t.Errorf("%q is called %q", s.Key, s.Name)
		}
	}
	if want := []string{"My-Server2", "My-Server", "server", "x-y", "a_b", "server2", "server3"}; !slices.Equal(names, want) {
		t.Errorf("have %q\nwant %q", names, want)
	}
	if f.Servers[6].Err == nil || f.Servers[0].Err != nil {
		t.Errorf("errors: %v, %v", f.Servers[6].Err, f.Servers[0].Err)
	}
	if at := f.At("mcpServers", "server3", "cwd"); at.Line != 3 || at.Key != `mcpServers["  "].cwd` {
		t.Errorf("at %d, %s", at.Line, at.Key)
	}
}

// LoadAs gives what Load would if the text stood in the file: its path counts, and
// problems name where the text is.
func TestLoadAs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, other := filepath.Join(dir, "here", "hub.json"), filepath.Join(dir, "there", "new.json")
	for file, text := range map[string]string{path: `{"mcpServers": {}}`, other: `{"mcpServers": {"a": {"command": "x"}, "b": {"command": 7}}}`} {
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		f, problems, err := LoadAs(path, other, nil)
		if err != nil || f.Path != path || f.Dir() != filepath.Dir(path) || f.Trail.Names[0] != path || f.Sum == "" || len(f.Servers) != 2 {
			t.Fatalf("%+v, %v", f, err)
		}
		if len(problems) != 1 || problems[0].File != other {
			t.Errorf("%+v", problems)
		}
		if err := os.Remove(path); err != nil && !os.IsNotExist(err) { // it need not be there
			t.Fatal(err)
		}
	}
	if _, _, err := LoadAs(other, path, nil); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a text that is not there: %v", err)
	}
}

// TestAuthSaidTwice: that no one needs a token, beside tokens, is an error wherever it is
// said; each alone is none.
func TestAuthSaidTwice(t *testing.T) {
	t.Parallel()
	const tokens = `, "tokens": [{"name": "a", "env": "A"}]`
	const issuers = `, "resource": "https://hub.example/mcp", "issuers": [{"issuer": "https://login.example"}]`
	for _, tc := range []struct {
		text  string
		above []string
		says  string
	}{
		{`"auth": "none"` + tokens, nil, "http.auth"},
		{`"auth": "none"` + issuers, nil, "http.auth"},
		{`"auth": "token"` + tokens, []string{"http.auth=none"}, "--set http.auth"},
		{`"auth": "none"`, nil, ""},
		{`"auth": "token"` + tokens, nil, ""},
		{`"auth": "none"` + tokens, []string{"http.auth=token"}, ""},
	} {
		file := filepath.Join(t.TempDir(), "hub.json")
		if err := os.WriteFile(file, []byte(`{"mcpServers": {}, "http": {`+tc.text+`}}`), 0o600); err != nil {
			t.Fatal(err)
		}
		above, err := Flags(tc.above)
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = Load(file, func(string) (string, bool) { return "x", true }, above...)
		if tc.says == "" && err != nil || tc.says != "" && (err == nil || !strings.Contains(err.Error(), tc.says) || !strings.Contains(err.Error(), "nobody needs one")) {
			t.Errorf("%s %q: %v", tc.text, tc.above, err)
		}
	}
}
