package config

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"mcphub/cmd/mcphub/internal/config/keys"
)

// entry parses one entry and returns it with what was said about it.
func entry(t *testing.T, text string, env map[string]string) (*Server, []Problem) {
	t.Helper()
	f, problems, err := Parse("", []byte(`{"mcpServers": {"a": `+text+`}}`), envOf(env))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return f.Server("a"), problems
}

var aliasEnv = map[string]string{"TOKEN": "t0ken", "X": "y"}

// aliasRows: two spellings of one entry. Every alias of the table stands in one.
var aliasRows = []struct{ theirs, ours string }{
	{`{"command": "x", "transport": "stdio"}`, `{"command": "x", "type": "stdio"}`},
	{`{"command": "x", "transportType": "local"}`, `{"command": "x", "type": "stdio"}`},
	{`{"url": "http://h/", "type": "streamable-http"}`, `{"url": "http://h/", "type": "http"}`},
	{`{"url": "http://h/", "type": "streamable_http"}`, `{"url": "http://h/", "type": "http"}`},
	{`{"url": "http://h/", "type": "streamableHttp"}`, `{"url": "http://h/", "type": "http"}`},
	{`{"url": "http://h/", "type": "httpStream"}`, `{"url": "http://h/", "type": "http"}`},
	{`{"url": "http://h/", "type": "remote"}`, `{"url": "http://h/"}`},
	{`{"executable": "x"}`, `{"command": "x"}`},
	{`{"command": ["x", "a", "b"]}`, `{"command": "x", "args": ["a", "b"]}`},
	{`{"command": ["x"]}`, `{"command": "x"}`},
	{`{"command": ["x", "a"], "args": ["b"]}`, `{"command": "x", "args": ["a", "b"]}`},
	{`{"command": {"path": "x", "args": ["a"], "env": {"A": "b"}}}`, `{"command": "x", "args": ["a"], "env": {"A": "b"}}`},
	{`{"command": {"path": "x", "env": null}}`, `{"command": "x"}`},
	{`{"command": "x", "environment": {"A": 1, "B": true, "C": null}}`, `{"command": "x", "env": {"A": "1", "B": "true"}}`},
	{`{"command": "x", "workingDirectory": "/w"}`, `{"command": "x", "cwd": "/w"}`},
	{`{"command": "x", "working_directory": "/w"}`, `{"command": "x", "cwd": "/w"}`},
	{`{"command": "x", "env_vars": ["A", {"name": "B", "source": "local"}]}`, `{"command": "x", "inherit": ["A", "B"]}`},
	{`{"httpUrl": "http://h/"}`, `{"url": "http://h/", "type": "http"}`},
	{`{"httpUrl": "http://h/", "type": "sse"}`, `{"url": "http://h/", "type": "sse"}`},
	{`{"http_url": "http://h/"}`, `{"url": "http://h/", "type": "http"}`},
	{`{"serverUrl": "http://h/"}`, `{"url": "http://h/"}`},
	{`{"server_url": "http://h/"}`, `{"url": "http://h/"}`},
	{`{"baseUrl": "http://h/"}`, `{"url": "http://h/"}`},
	{`{"base_url": "http://h/"}`, `{"url": "http://h/"}`},
	{`{"serverUrl": "http://h/", "url": "http://h/"}`, `{"url": "http://h/"}`},
	{`{"url": "http://h/", "http_headers": {"A": "b"}}`, `{"url": "http://h/", "headers": {"A": "b"}}`},
	{`{"url": "http://h/", "bearer_token_env_var": "X", "http_headers": {"B": "c"}, "env_http_headers": {"A": "X"}}`, `{"url": "http://h/", "headers": {"Authorization": "Bearer y", "B": "c", "A": "y"}}`},
	{`{"url": "http://h/", "env_http_headers": {"A": "X"}}`, `{"url": "http://h/", "headers": {"A": "y"}}`},
	{`{"url": "http://h/", "headers": {"B": "c"}, "env_http_headers": {"A": "X"}}`, `{"url": "http://h/", "headers": {"A": "y", "B": "c"}}`},
	{`{"url": "http://h/", "bearerToken": "t"}`, `{"url": "http://h/", "headers": {"Authorization": "Bearer t"}}`},
	{`{"url": "http://h/", "bearer_token": "${TOKEN}"}`, `{"url": "http://h/", "headers": {"Authorization": "Bearer t0ken"}}`},
	{`{"url": "http://h/", "bearerTokenEnv": "TOKEN"}`, `{"url": "http://h/", "headers": {"Authorization": "Bearer t0ken"}}`},
	{`{"url": "http://h/", "bearer_token_env": "TOKEN"}`, `{"url": "http://h/", "headers": {"Authorization": "Bearer t0ken"}}`},
	{`{"url": "http://h/", "bearer_token_env_var": "TOKEN"}`, `{"url": "http://h/", "headers": {"Authorization": "Bearer t0ken"}}`},
	{`{"command": "x", "env_file": ".env"}`, `{"command": "x", "envFile": ".env"}`},
	{`{"command": "x", "enabled": true}`, `{"command": "x"}`},
	{`{"command": "x", "enabled": false}`, `{"command": "x", "disabled": true}`},
	{`{"command": "x", "isActive": false}`, `{"command": "x", "disabled": true}`},
	{`{"command": "x", "isActive": true}`, `{"command": "x"}`},
	{`{"url": " http://h/mcp\t\n"}`, `{"url": "http://h/mcp"}`},
	{`{"serverUrl": "http://h/mcp "}`, `{"url": "http://h/mcp"}`},
	{`{"command": "x", "enabled": false, "disabled": true}`, `{"command": "x", "disabled": true}`},
	{`{"command": "x", "timeout": 60000}`, `{"command": "x", "timeout": {"call": "1m"}}`},
	{`{"command": "x", "timeout": "1m"}`, `{"command": "x", "timeout": {"call": "1m"}}`},
	{`{"command": "x", "timeout": {"startup": 5000, "request": 6000}}`, `{"command": "x", "timeout": {"start": "5s", "call": "6s"}}`},
	{`{"command": "x", "timeoutMs": 60000}`, `{"command": "x", "timeout": {"call": "1m"}}`},
	{`{"command": "x", "requestTimeout": 500}`, `{"command": "x", "timeout": {"call": "500ms"}}`},
	{`{"command": "x", "tool_timeout_sec": 90.5}`, `{"command": "x", "timeout": {"call": "90.5s"}}`},
	{`{"command": "x", "connectionTimeout": 5000}`, `{"command": "x", "timeout": {"start": "5s"}}`},
	{`{"command": "x", "startup_timeout_ms": 5000}`, `{"command": "x", "timeout": {"start": "5s"}}`},
	{`{"command": "x", "startup_timeout_sec": 20, "timeout": 60000}`, `{"command": "x", "timeout": {"start": "20s", "call": "1m"}}`},
	{`{"command": "x", "tools": ["*"]}`, `{"command": "x", "tools": {"include": ["*"]}}`},
	{`{"command": "x", "includeTools": ["a"]}`, `{"command": "x", "tools": {"include": ["a"]}}`},
	{`{"command": "x", "enabledTools": ["a"]}`, `{"command": "x", "tools": {"include": ["a"]}}`},
	{`{"command": "x", "enabled_tools": ["a"]}`, `{"command": "x", "tools": {"include": ["a"]}}`},
	{`{"command": "x", "allowedTools": ["a"]}`, `{"command": "x", "tools": {"include": ["a"]}}`},
	{`{"command": "x", "allowed_tools": ["a"]}`, `{"command": "x", "tools": {"include": ["a"]}}`},
	{`{"command": "x", "excludeTools": ["a"]}`, `{"command": "x", "tools": {"exclude": ["a"]}}`},
	{`{"command": "x", "tools": ["*"], "disabledTools": ["a"]}`, `{"command": "x", "tools": {"include": ["*"], "exclude": ["a"]}}`},
	{`{"command": "x", "disabled_tools": []}`, `{"command": "x", "tools": {"exclude": []}}`},
	{`{"command": "x", "blockedTools": ["a"]}`, `{"command": "x", "tools": {"exclude": ["a"]}}`},
	{`{"command": "x", "blocked_tools": ["a"]}`, `{"command": "x", "tools": {"exclude": ["a"]}}`},
	{`{"url": "http://h/", "auth": "oauth"}`, `{"url": "http://h/", "auth": {}}`},
	{`{"url": "http://h/", "auth": {"CLIENT_ID": "i", "CLIENT_SECRET": "s", "scopes": ["a"], "redirectPath": "/b"}}`, `{"url": "http://h/", "auth": {"clientId": "i", "clientSecret": "s", "scopes": ["a"], "redirectPath": "/b"}}`},
	{`{"url": "http://h/", "oauth": {"enabled": true, "clientId": "i", "scope": "a b", "tokenUrl": "https://h/t", "redirectPath": "/b"}}`, `{"url": "http://h/", "auth": {"clientId": "i", "scopes": ["a", "b"], "redirectPath": "/b"}}`},
	{`{"url": "http://h/", "oauth": {"client_id": "i", "callbackPort": 8080}}`, `{"url": "http://h/", "auth": {"clientId": "i", "callbackPort": 8080, "redirectHost": "localhost"}}`},
	{`{"url": "http://h/", "oauth": {"clientId": "i", "callback_port": 8080, "redirectHost": "127.0.0.1"}}`, `{"url": "http://h/", "auth": {"clientId": "i", "callbackPort": 8080, "redirectHost": "127.0.0.1"}}`},
	{`{"url": "http://h/", "auth": {"clientId": "i", "callbackPort": 8080}}`, `{"url": "http://h/", "auth": {"clientId": "i", "callbackPort": 8080}}`},
	{`{"url": "http://h/", "oauth": {"clientId": "i", "redirectPath": "/b"}}`, `{"url": "http://h/", "auth": {"clientId": "i", "redirectPath": "/b"}}`},
	{`{"url": "http://h/", "oauth": {"redirectUri": "http://localhost:7777/oauth/callback"}}`, `{"url": "http://h/", "auth": {"redirectHost": "localhost", "redirectPath": "/oauth/callback", "callbackPort": 7777}}`},
	{`{"url": "http://h/", "oauth": {"redirect_uri": "http://127.0.0.1/back"}}`, `{"url": "http://h/", "auth": {"redirectHost": "127.0.0.1", "redirectPath": "/back"}}`},
	{`{"url": "http://h/", "oauth": {"redirectUri": "http://127.0.0.1:1", "callbackPort": 2}}`, `{"url": "http://h/", "auth": {"redirectHost": "127.0.0.1", "redirectPath": "", "callbackPort": 2}}`},
	{`{"url": "http://h/", "headersHelper": "/opt/token --for  ${X}"}`, `{"url": "http://h/", "headersFrom": {"command": "/opt/token", "args": ["--for", "y"]}}`},
	{`{"url": "http://h/", "headersHelper": "~/bin/token"}`, `{"url": "http://h/", "headersFrom": {"command": "~/bin/token"}}`},
	{`{"url": "http://h/", "oauth": false}`, `{"url": "http://h/"}`},
	{`{"url": "http://h/", "oauth": {"enabled": false, "clientId": "i"}}`, `{"url": "http://h/"}`},
	{`{"command": "x", "args": null, "env": null, "cwd": null, "disabled": null, "timeoutMs": null}`, `{"command": "x"}`},
	{`{"command": "x", "description": "d", "icon": {}, "dev": {"watch": "*"}, "lifecycle": "keep-alive", "// c": 1}`, `{"command": "x"}`},
}

func TestAliases(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for _, r := range aliasRows {
		got, problems := entry(t, r.theirs, aliasEnv)
		want, _ := entry(t, r.ours, aliasEnv)
		if len(problems) > 0 {
			t.Errorf("%s: %v", r.theirs, problems)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(Server{}, "Key", "Sandbox")); diff != "" {
			t.Errorf("%s (-want +got)\n%s", r.theirs, diff)
		}
		for _, a := range aliases {
			if strings.Contains(r.theirs, `"`+a.from+`"`) {
				used[a.from] = true
			}
		}
	}
	for _, a := range aliases {
		if !used[a.from] {
			t.Errorf("no row for %s", a.from)
		}
		if keys.Entry.Find(strings.Split(a.to, ".")[0]) == nil {
			t.Errorf("%s leads to no key: %s", a.from, a.to)
		}
		if !strings.Contains(fmt.Sprint(keys.Entry.Names()), strings.Split(a.to, ".")[0]) || keys.Entry.Find(a.from) != nil {
			t.Errorf("%s is a key of ours", a.from)
		}
	}
}

// TestAliasProblems: positions are the positions of what was written, keys are ours.
func TestAliasProblems(t *testing.T) {
	t.Parallel()
	const elsewhere = `: has no effect: a browser comes back to the hub at http://127.0.0.1 or http://localhost; register such a redirect, and write "redirectHost", "callbackPort" and "redirectPath"`
	for _, tc := range []struct{ text, want string }{
		{`{"url": "http://h/", "oauth": {"redirectUri": "https://x.example/cb"}}`, `1:68: warning: mcpServers.a.oauth.redirectUri` + elsewhere},
		{`{"url": "http://h/", "auth": {"redirect_uri": "http://localhost:80/cb?x=1"}}`, `1:68: warning: mcpServers.a.auth.redirect_uri` + elsewhere},
		{`{"url": "http://h/", "auth": {"redirectUri": "http://localhost:99999/cb"}}`, `1:67: error: mcpServers.a.auth.callbackPort: "99999" is out of range; want 1 to 65535`},
		{`{"url": "http://h/", "serverUrl": "http://i/"}`, `1:43: error: mcpServers.a.url: "serverUrl" says the same as a key on line 1, with another value; keep one of them`},
		{`{"command": "x", "disabled": true, "enabled": true}`, `1:57: error: mcpServers.a.disabled: "enabled" says the same as a key on line 1, with another value; keep one of them`},
		{`{"url": "http://h/", "headers": {"authorization": "x"}, "bearerToken": "t"}`, `1:78: error: mcpServers.a.headers.Authorization: "bearerToken" says the same as a key on line 1, with another value; keep one of them`},
		{`{"url": "http://h/", "bearerToken": "t", "http_headers": {"authorization": "x"}}`, `1:80: error: mcpServers.a.headers.authorization: "authorization" says the same as a key on line 1, with another value; keep one of them`},
		{`{"command": "x", "disabledTools": "a"}`, `1:56: error: mcpServers.a.tools.exclude: found a string, want a list; put it in brackets, each word for itself: ["one", "two"]`},
		{`{"command": "x", "tool_timeout_sec": "abc"}`, `1:59: error: mcpServers.a.timeout.call: "abc" is no duration; write it as "90s", "2m" or "1h30m"`},
		{`{"command": ["x", 1]}`, `1:40: error: mcpServers.a.args[0]: found a number, want a string; write it in quotes: "1"`},
		{`{"command": []}`, `1:34: error: mcpServers.a.command: found a list, want a string`},
		{`{"command": {"path": "x", "arg": []}}`, `1:48: warning: mcpServers.a.command.arg: unknown key "arg"; it has no effect`},
		{`{"url": "http://h/", "bearer_token_env_var": "NOPE"}`, `1:67: error: mcpServers.a.headers.Authorization: the variable NOPE is not set; set it for the hub, or give a default: ${NOPE:-...}`},
		{`{"command": "x", "alwaysAllow": []}`, `1:39: note: mcpServers.a.alwaysAllow: has no effect in a hub; your client decides what it asks about`},
		{`{"command": "x", "roots": [{"uri": "file:///a"}]}`, `1:39: note: mcpServers.a.roots: a list of objects has no effect in an entry; directories of its own are a list of texts: ["~/Documents"]`},
		{`{"command": "x", "env_vars": "A"}`, `1:51: error: mcpServers.a.inherit: found a string, want a list; put it in brackets, each word for itself: ["one", "two"]`},
		{`{"url": "http://h/", "env_http_headers": []}`, `1:63: error: mcpServers.a.headers: found a list, want an object`},
		{`{"command": "x", "timeout": false, "timeoutMs": 5000}`, `1:50: error: mcpServers.a.timeout.call: found false, want a duration such as "10s"
1:57: error: mcpServers.a.timeout.call: "timeoutMs" says the same as a key on line 1, with another value; keep one of them`},
	} {
		_, problems := entry(t, tc.text, aliasEnv)
		var got []string
		for _, p := range problems {
			got = append(got, p.String())
		}
		if g := strings.Join(got, "\n"); g != tc.want {
			t.Errorf("%s\ngot  %s\nwant %s", tc.text, g, tc.want)
		}
	}
}

// TestPastedFiles: whole files as clients keep them load, with nothing worse
// than a note about what only a client can do.
func TestPastedFiles(t *testing.T) {
	t.Parallel()
	env := map[string]string{"API_KEY": "k", "HOME": "/home/u", "USERPROFILE": `C:\u`}
	for _, tc := range []struct {
		client, text string
		want         []Server // Name, and what matters
	}{
		{"Claude Code", `{"mcpServers": {
			"fs": {"type": "stdio", "command": "npx", "args": ["-y", "pkg", "${API_KEY:-none}"], "env": {}},
			"web": {"type": "http", "url": "https://h/mcp", "headers": {"X": "${API_KEY}"}}}}`,
			[]Server{{Name: "fs", Type: "stdio", Process: Process{Command: "npx", Args: []string{"-y", "pkg", "k"}}},
				{Name: "web", Type: "http", Remote: Remote{URL: "https://h/mcp", Headers: map[string]string{"X": "k"}}}}},
		{"Cursor", `{"mcpServers": {"fs": {"command": "x", "args": ["${workspaceFolder}", "${env:API_KEY}"], "env": {"D": "${workspaceFolder}${/}d"}}}}`,
			[]Server{{Name: "fs", Process: Process{Command: "x", Args: []string{"${root}", "k"}, Env: map[string]string{"D": "${root}" + string(sep()) + "d"}}}}},
		{"VS Code", `{ // comment
			"inputs": [], "servers": {"fs": {"type": "stdio", "command": "x", "cwd": "${workspaceFolder}", "env": {"A": null, "N": 1}, "dev": {"debug": {"type": "node"}}},}}`,
			[]Server{{Name: "fs", Type: "stdio", Process: Process{Command: "x", Cwd: "${root}", Env: map[string]string{"N": "1"}}}}},
		{"Windsurf", `{"mcpServers": {"web": {"serverUrl": "https://h/sse", "headers": {}, "disabled": false, "disabledTools": []}}}`,
			[]Server{{Name: "web", Remote: Remote{URL: "https://h/sse"}}}},
		{"Zed", `{"context_servers": {"fs": {"source": "custom", "command": {"path": "x", "args": ["a"], "env": {}}, "settings": {}}}}`,
			[]Server{{Name: "fs", Process: Process{Command: "x", Args: []string{"a"}}}}},
		{"Gemini CLI", `{"mcpServers": {"fs": {"command": "x", "cwd": "/w", "timeout": 600000, "trust": false, "includeTools": ["a"], "description": "d"}, "web": {"httpUrl": "https://h/mcp"}}}`,
			[]Server{{Name: "fs", Process: Process{Command: "x", Cwd: "/w"}, Tools: Tools{Include: []string{"a"}}},
				{Name: "web", Type: "http", Remote: Remote{URL: "https://h/mcp"}}}},
		{"Codex", `{"mcp_servers": {"fs": {"command": "x", "env_vars": ["A"], "startup_timeout_sec": 60, "tool_timeout_sec": 600, "enabled": true, "required": true}}}`,
			[]Server{{Name: "fs", Timeout: Timeout{Start: time.Minute}, Process: Process{Command: "x", Inherit: []string{"A"}}}}},
		{"opencode", `{"mcp": {"fs": {"type": "local", "command": ["npx", "-y", "pkg"], "environment": {"A": "b"}, "enabled": true}, "web": {"type": "remote", "url": "https://h/mcp"}}}`,
			[]Server{{Name: "fs", Type: "stdio", Process: Process{Command: "npx", Args: []string{"-y", "pkg"}, Env: map[string]string{"A": "b"}}},
				{Name: "web", Remote: Remote{URL: "https://h/mcp"}}}},
		{"opencode 2", `{"mcp": {"servers": {"fs": {"type": "local", "command": ["x"], "timeout": {"startup": 60000}}}}}`,
			[]Server{{Name: "fs", Timeout: Timeout{Start: time.Minute}, Type: "stdio", Process: Process{Command: "x"}}}},
		{"Cline", `{"mcpServers": {"fs": {"command": "x", "disabled": false, "autoApprove": [], "timeout": "10m"}, "web": {"type": "streamableHttp", "url": "https://h/mcp"}}}`,
			[]Server{{Name: "fs", Process: Process{Command: "x"}}, {Name: "web", Type: "http", Remote: Remote{URL: "https://h/mcp"}}}},
		{"Copilot CLI", `{"mcpServers": {"fs": {"type": "local", "command": "x", "args": [], "tools": ["*"]}}}`,
			[]Server{{Name: "fs", Type: "stdio", Process: Process{Command: "x"}, Tools: Tools{Include: []string{"*"}}}}},
		{"mcporter", `{"imports": [], "mcpServers": {"web": {"baseUrl": "https://h/mcp", "bearerTokenEnv": "API_KEY", "lifecycle": "keep-alive"}}}`,
			[]Server{{Name: "web", Remote: Remote{URL: "https://h/mcp", Headers: map[string]string{"Authorization": "Bearer k"}}}}},
		{"several containers", `{"servers": {"b": {"command": "y"}}, "mcpServers": {"a": {"command": "x"}}}`,
			[]Server{{Name: "a", Process: Process{Command: "x"}}, {Name: "b", Process: Process{Command: "y"}}}},
	} {
		t.Run(tc.client, func(t *testing.T) {
			f, problems, err := Parse("", []byte(tc.text), envOf(env))
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range problems {
				if p.Severity != SeverityNote {
					t.Error(p)
				}
			}
			for i := range tc.want {
				tc.want[i].Start, tc.want[i].Era, tc.want[i].Arguments = "lazy", "auto", "lenient"
				tc.want[i].Timeout = Timeout{Start: tc.want[i].Timeout.Start, Call: 10 * time.Minute, Stop: 2500 * time.Millisecond}
			}
			if diff := cmp.Diff(tc.want, f.Servers, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(Server{}, "Key", "Sandbox")); diff != "" {
				t.Error("(-want +got)", diff)
			}
		})
	}
}
