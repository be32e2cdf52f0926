package clients

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcphub/cmd/mcphub/internal/clients/edit"
)

// keptSecrets is a store of secrets in memory.
type keptSecrets map[string]string

func (k keptSecrets) Set(name, value string) error { k[name] = value; return nil }
func (k keptSecrets) Delete(name string) error     { delete(k, name); return nil }

// brokenSecrets fails at the third.
type brokenSecrets struct{ keptSecrets }

func (k *brokenSecrets) Set(name, value string) error {
	if len(k.keptSecrets) == 2 {
		return errors.New("the keyring is locked")
	}
	return k.keptSecrets.Set(name, value)
}

func none(string) (string, bool) { return "", false }

func server(t testing.TB, c, name, entry string) Server {
	t.Helper()
	s := Server{Name: name, Client: Find(c)}
	if err := json.Unmarshal([]byte(entry), &s.Entry); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestMergeNames(t *testing.T) {
	t.Parallel()
	servers := []Server{
		server(t, "cursor", "git", `{"command": "a"}`),
		server(t, "vscode", "git", `{"type": "stdio", "command": "a"}`),
		server(t, "zed", "git", `{"command": "b"}`),
		server(t, "zed", "other", `{"command": "b", "timeout": {"call": "60s"}}`),
		server(t, "zed", "git", `{"command": "c"}`),
		server(t, "zed", "old", `{"command": "old", "args": ["x"]}`),
	}
	hub := "{\n  // mine\n  \"mcpServers\": {\n    \"old\": { \"command\": [\"old\", \"x\"] }\n  }\n}\n"
	text, imports, err := Merge(Target{File: "hub.json", Text: []byte(hub), Env: none}, servers, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, im := range imports {
		got = append(got, im.Name+"|"+im.Same)
	}
	if want := "git| git|git git-zed| git-zed|git-zed git-zed-2| old|old"; strings.Join(got, " ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, " "), want)
	}
	if !strings.HasPrefix(string(text), "{\n  // mine\n  \"mcpServers\": {\n    \"old\": { \"command\": [\"old\", \"x\"] },\n") {
		t.Errorf("got %s", text)
	}
}

// TestMergeDisabled: what is on in one client is on in the hub.
func TestMergeDisabled(t *testing.T) {
	t.Parallel()
	off := server(t, "zed", "a", `{"command": "a"}`)
	off.Disabled = true
	on := server(t, "cursor", "a", `{"command": "a"}`)
	alone := server(t, "zed", "b", `{"command": "b"}`)
	alone.Disabled = true
	text, _, err := Merge(Target{File: "hub.json", Text: nil, Env: none}, []Server{off, on, alone}, nil)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := edit.Decode(edit.JSON, text)
	entries := edit.Entries(whole, mcpServers)
	if err != nil {
		t.Fatal(err)
	}
	a, _ := entries.Get("a").(edit.Table)
	b, _ := entries.Get("b").(edit.Table)
	if a.Has("disabled") || b.Get("disabled") != true {
		t.Errorf("got %s", text)
	}
	// In hub.json it is off, in the client on: the one who takes it over decides.
	on = server(t, "cursor", "b", `{"command": "b"}`)
	if _, imports, err := Merge(Target{File: "hub.json", Text: text, Env: none}, []Server{on}, nil); err != nil || !imports[0].DisabledInHub {
		t.Errorf("got %+v, %v", imports, err)
	}
}

// TestMergeOwnRoots: a filesystem server keeps the directories that it had in its client, and nothing else is given any.
func TestMergeOwnRoots(t *testing.T) {
	t.Parallel()
	to := Target{File: "hub.json", Env: none, Directories: func(command string, args []string) []string {
		if command != "files" {
			return nil
		}
		return args
	}}
	data := filepath.ToSlash(t.TempDir())
	for entry, want := range map[string]string{
		`{"command": "files", "args": ["/data", "~/Documents"]}`: `["/data","~/Documents"]`,
		`{"command": "files", "args": ["~"]}`:                    `["~"]`,
		`{"command": "files", "args": ["/data", "."]}`:           `null`,
		`{"command": "files"}`:                                   `null`,
		`{"command": "other", "args": ["/data"]}`:                `null`,
	} {
		entry, want = strings.ReplaceAll(entry, "/data", data), strings.ReplaceAll(want, "/data", data)
		s := server(t, "claude-desktop", "a", entry)
		text, imports, err := Merge(to, []Server{s}, nil)
		if err != nil || imports[0].Err != "" {
			t.Fatal(err, imports[0].Err)
		}
		var file struct {
			Servers map[string]struct{ Roots json.RawMessage } `json:"mcpServers"`
		}
		if err := json.Unmarshal(text, &file); err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		if err := json.Compact(&got, []byte(cmp.Or(string(file.Servers["a"].Roots), "null"))); err != nil || got.String() != want {
			t.Errorf("%s: roots %s, want %s", entry, got.String(), want)
		}
		again := to
		again.Text = text
		if _, imports, err := Merge(again, []Server{s}, nil); err != nil || imports[0].Same != "a" {
			t.Errorf("%s: it is imported twice: %+v, %v", entry, imports, err)
		}
	}
}

func TestMoveSecrets(t *testing.T) {
	t.Parallel()
	s := server(t, "cursor", "git", `{"command": "a",
		"args": ["--api-key", "plain-0", "--token=plain-1", "--header", "Authorization: Bearer plain-22222222", "--key-file", "/x", "${TOKEN}"],
		"env": {"GITHUB_TOKEN": "plain-3", "LANG": "C", "REF_TOKEN": "${env:T}", "URL": "https://u:plain-4@host/"}}`)
	web := server(t, "cursor", "web", `{"url": "https://host/mcp/ghp_plain6789012345678901/x?team=a&tavilyApiKey=plain-7%20&k=${K}&v=hf_plain89012345678901234567890#f", "headers": {"Authorization": "Bearer plain-5", "X-Team": "a"}}`)
	secrets := keptSecrets{}
	text, imports, err := Merge(Target{File: "hub.json", Text: nil, Env: func(string) (string, bool) { return "set", true }}, []Server{s, web}, nil)
	if err != nil || len(secrets) != 0 {
		t.Fatal(secrets, err)
	}
	if err := StoreSecrets(imports, secrets.Set, secrets.Delete); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "plain") {
		t.Errorf("a secret is left in %s", text)
	}
	for name, want := range map[string]string{
		"git/api-key": "plain-0", "git/token": "plain-1", "git/GITHUB_TOKEN": "plain-3", "git/URL": "https://u:plain-4@host/", "web/Authorization": "plain-5",
		"web/path": "ghp_plain6789012345678901", "web/tavilyApiKey": "plain-7%20", "web/v": "hf_plain89012345678901234567890",
	} {
		if secrets[name] != want {
			t.Errorf("%s: got %q, want %q; kept: %d", name, secrets[name], want, len(secrets))
		}
	}
	if !strings.Contains(string(text), `"Bearer ${keyring:web/Authorization}"`) || !strings.Contains(string(text), `"--token=${keyring:git/token}"`) {
		t.Errorf("got %s", text)
	}
	if len(imports) == 2 && len(imports[0].Moved) != 5 {
		t.Errorf("moved %v", imports[0].Moved)
	}
	if want := `"https://host/mcp/${keyring:web/path}/x?team=a&tavilyApiKey=${keyring:web/tavilyApiKey}&k=${K}&v=${keyring:web/v}#f"`; !strings.Contains(string(text), want) {
		t.Errorf("got %s, want %s", text, want)
	}
	// Secrets of one name, which is no name of a secret, have one each.
	two := server(t, "cursor", "two", `{"url": "https://host/?token[]=plain-a&token[]=plain-b"}`)
	if text, _, err := Merge(Target{File: "hub.json", Text: nil, Env: none}, []Server{two}, nil); err != nil || !strings.Contains(string(text), `?token[]=${keyring:two/token-}&token[]=${keyring:two/token--2}`) {
		t.Errorf("got %v: %s", err, text)
	}
	// A shell string keeps its command, and what is shown of it hides the secret alone.
	for command, want := range map[string]string{
		`OPENAI_API_KEY=sk-live-0123456789abcdef npx -y server | tee log`: `OPENAI_API_KEY=${keyring:sh/OPENAI_API_KEY} npx -y server | tee log`,
		`export KEY=sk-live-0123456789abcdef; exec server --x 'a b'`:      `export KEY=${keyring:sh/KEY}; exec server --x 'a b'`,
		`curl -H "Authorization: Bearer abcdef0123456789" http://h/`:      `curl -H "Authorization: Bearer ${keyring:sh/c}" http://h/`,
		`TOKEN="sk-live-0123456789abcdef" npx "$HOME/x" ${Y}`:             `TOKEN="${keyring:sh/TOKEN}" npx "$HOME/x" ${Y}`,
		`a 0123 TOKEN=01234567890 0123`:                                   `a 0123 TOKEN=${keyring:sh/TOKEN} 0123`,
	} {
		entry, err := json.Marshal(map[string]any{"command": "bash", "args": []string{"-c", command}})
		if err != nil {
			t.Fatal(err)
		}
		text, imports, err := Merge(Target{File: "hub.json", Text: nil, Env: none}, []Server{server(t, "cursor", "sh", string(entry))}, nil)
		if err != nil {
			t.Fatal(err)
		}
		var file struct {
			Servers map[string]struct{ Args []string } `json:"mcpServers"`
		}
		if err := json.Unmarshal(text, &file); err != nil || !slices.Equal(file.Servers["sh"].Args, []string{"-c", want}) {
			t.Errorf("%s: got %q, %v", command, file.Servers["sh"].Args, err)
		}
		shown, err := json.Marshal(imports[0].Shown())
		if err != nil || strings.Contains(string(shown), "0123456789") || !strings.Contains(string(shown), "a secret of ") {
			t.Errorf("%s: shown as %s, %v", command, shown, err)
		}
	}
	// What a shell may read as several words is no secret: it would hide a command. A whole argument that is none is moved as it is.
	for command, want := range map[string]string{
		"true --token\n/tmp/some_long_name_here.sh": "true --token\n/tmp/some_long_name_here.sh", `secret=$(curl evil.example) x`: `secret=$(curl evil.example) x`, `PASSWORD="a b c" b c`: `PASSWORD="a b c" b c`,
	} {
		out := moveArgs([]any{"-c", command}, func(_, _, _ string) string { return "moved" })
		if out[1] != want {
			t.Errorf("%s: got %q", command, out[1])
		}
	}
	key := "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\n"
	if out := moveArgs([]any{"--private-key", key}, func(_, _, value string) string { return "moved " + value }); out[1] != "moved "+key {
		t.Errorf("a key: got %q", out[1])
	}
	// No reference may stand for a user's name or password.
	user := server(t, "cursor", "user", `{"url": "https://u:plain-8@host/?token=plain-9"}`)
	if text, got, err := Merge(Target{File: "hub.json", Text: nil, Env: none}, []Server{user}, nil); err != nil || strings.Join(got[0].Plain, " ") != "url" ||
		strings.Join(got[0].Moved, " ") != "url.token" || !strings.Contains(string(text), "u:plain-8@host/?token=${keyring:user/token}") {
		t.Errorf("got %+v, %v: %s", got, err, text)
	}
	// The second time they are the same servers.
	_, imports, err = Merge(Target{File: "hub.json", Text: text, Env: none}, []Server{s, web}, nil)
	if err != nil || imports[0].Same != "git" || imports[1].Same != "web" {
		t.Errorf("got %+v, %v", imports, err)
	}
	// Where a store fails, nothing is kept, and the error holds no secret.
	_, imports, err = Merge(Target{File: "hub.json", Text: nil, Env: none}, []Server{s, web}, nil)
	if err != nil {
		t.Fatal(err)
	}
	failing := &brokenSecrets{keptSecrets: keptSecrets{}}
	if err = StoreSecrets(imports, failing.Set, failing.Delete); err == nil || strings.Contains(err.Error(), "plain-") || !strings.Contains(err.Error(), "locked") || len(failing.keptSecrets) != 0 {
		t.Errorf("got %v, %d kept", err, len(failing.keptSecrets))
	}
}

func TestReadFile(t *testing.T) {
	t.Parallel()
	e := Env{OS: "linux", Home: t.TempDir(), Get: func(string) string { return "" }}
	for name, tc := range map[string]struct{ file, text, want string }{
		"Cline by its name":  {"cline_mcp_settings.json", `{"mcpServers": {"a": {"command": "a", "timeout": 1800}}}`, `{"command":"a","timeout":{"call":"1800s"}}`},
		"mcpServers":         {"mcp.json", `{"mcpServers": {"a": {"command": "a", "timeout": 60}}}`, `{"command":"a","timeout":{"call":60}}`},
		"VS Code":            {"mcp.json", `{"servers": {"a": {"command": "${userHome}/a"}}}`, `{"command":"${userHome}/a"}`},
		"Zed":                {"settings.json", `{"x": 1, "context_servers": {"a": {"command": "${a}"}}}`, `{"command":"$${a}"}`},
		"opencode":           {"x.jsonc", `{"mcp": {"a": {"type": "local", "command": ["a", "{env:B}"],},}}`, `{"type":"stdio","command":"a","args":["${env:B}"]}`},
		"opencode 2":         {"x.json", `{"mcp": {"servers": {"a": {"command": ["a"]}}}}`, `{"command":"a"}`},
		"Codex":              {"x.toml", "[mcp_servers.a]\ncommand = \"a\"\n", `{"command":"a"}`},
		"Goose":              {"x.yml", "extensions:\n  a: {type: stdio, cmd: a}\n", `{"type":"stdio","command":"a"}`},
		"Continue":           {"x.yaml", "mcpServers:\n- name: a\n  command: a\n", `{"command":"a"}`},
		"nothing but":        {"x.json", `{"a": {"command": "a"}}`, `{"command":"a"}`},
		"without a suffix":   {"config", "[mcp_servers.a]\ncommand = \"a\"\n", `{"command":"a"}`},
		"YAML as mcpServers": {"x.yaml", "mcpServers:\n  a:\n    command: a\n", `{"command":"a"}`},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), tc.file)
			if err := os.WriteFile(path, []byte(tc.text), 0o600); err != nil {
				t.Fatal(err)
			}
			found, err := ReadFile(path, e)
			if err != nil || len(found.Servers) != 1 {
				t.Fatalf("got %+v, %v", found, err)
			}
			got, err := json.Marshal(found.Servers[0].Entry)
			if err != nil || string(got) != tc.want {
				t.Errorf("got %s, %v\nwant %s", got, err, tc.want)
			}
		})
	}
	path := filepath.Join(t.TempDir(), "x.json")
	if err := os.WriteFile(path, []byte(`{"a": 1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFile(path, e); err == nil || !strings.Contains(err.Error(), "there is no MCP server in it") {
		t.Errorf("got %v", err)
	}
}

// TestNamesOfSecrets: KEY and X-Key hold secrets in env and headers; a path, a key that everybody may know and an ordinary
// variable are none.
func TestNamesOfSecrets(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.ToSlash(filepath.Join(dir, "creds.json"))
	s := server(t, "cursor", "a", `{"command": "a", "args": ["--credentials", "`+path+`"], "env": {"KEY": "plain-1", "MY_KEY": "plain-2", "PUBLIC_KEY": "open", "KEYBOARD": "us", "GOOGLE_OAUTH_CREDENTIALS": "`+path+`", "TOKEN": "/not/there/plain-3"}}`)
	web := server(t, "cursor", "b", `{"url": "https://host/mcp", "headers": {"X-Key": "plain-4"}}`)
	text, imports, err := Merge(Target{File: "hub.json", Env: none}, []Server{s, web}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "plain-") || strings.Count(string(text), path) != 2 || !strings.Contains(string(text), `"open"`) || !strings.Contains(string(text), `"us"`) {
		t.Errorf("got %s", text)
	}
	if got := imports[1].Kept(); len(got) != 1 || got[0] != (PlainSecret{"headers.X-Key", "b/X-Key"}) {
		t.Errorf("kept: %v", got)
	}
	if value, ok := imports[1].Secret("b/X-Key"); !ok || value != "plain-4" {
		t.Errorf("its value is %q", value)
	}
	for i := range imports {
		shown, err := json.Marshal(imports[i].Shown())
		if err != nil || strings.Contains(string(shown), "plain-") || i == 0 && strings.Count(string(shown), path) != 2 {
			t.Errorf("shown: %s, %v", shown, err)
		}
	}
}

// TestSecretsOfContinue: a reference to a secret that Continue keeps is asked for, in YAML and in the lists of JSON; one that is
// escaped already is text.
func TestSecretsOfContinue(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"config.yaml": "name: x\nmcpServers:\n  - name: a\n    command: a\n    env: {K: \"${{ secrets.A_KEY }}\", L: \"x-${{secrets.A_KEY}}\", M: \"${input:OTHER} $${input:OTHER}\"}\n",
		"config.json": `{"mcpServers": [{"name": "a", "command": "a", "env": {"K": "${{ secrets.A_KEY }}", "L": "x-${{secrets.A_KEY}}", "M": "${input:OTHER} $${input:OTHER}"}}]}`,
	} {
		home := t.TempDir()
		path := filepath.Join(home, ".continue", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		found, err := Read(Find("continue"), Env{OS: "linux", Home: home, Get: func(string) string { return "" }})
		if err != nil || len(found.Servers) != 1 {
			t.Fatalf("%s: %+v, %v", name, found, err)
		}
		out, imports, err := Merge(Target{File: "hub.json", Env: none}, found.Servers, found.Inputs)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(out), `"K": "${input:A_KEY}"`) || !strings.Contains(string(out), `"x-${input:A_KEY}"`) || !strings.Contains(string(out), `"id": "A_KEY"`) || strings.Contains(string(out), `"id": "OTHER"`) {
			t.Errorf("%s: %s", name, out)
		}
		if got := imports[0].Inputs; strings.Join(got, " ") != "A_KEY A_KEY" {
			t.Errorf("%s asks for %q", name, got)
		}
	}
}
