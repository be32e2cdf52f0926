package config

import (
	"strings"
	"testing"

	"mcphub/cmd/mcphub/internal/config/jsonc"
	"mcphub/internal/reference"
)

func TestReferences(t *testing.T) {
	t.Parallel()
	f := must(t, `{"mcpServers": {
  "p": { "command": "x", "args": ["--key=${keyring:K}", "${NOPE:-${input:I}}"], "env": { "A": "${file:${HOME}/a b}", "B": "$${keyring:K}" } },
  "u": { "url": "https://h/${keyring:K}?k=${input:I}", "headers": { "A": "Bearer ${file:t}" }, "auth": { "clientSecret": "${keyring:S}" } } },
  "inputs": [{ "id": "I" }]}`, map[string]string{"HOME": "/home/u", "USERPROFILE": "/home/u"})
	p, u := f.Servers[0], f.Servers[1]
	mark := func(k reference.Kind, name string) string { return reference.Ref{Kind: k, Name: name}.Mark() }
	for _, got := range [][2]string{
		{p.Args[0], "--key=" + mark("keyring", "K")}, {p.Args[1], mark("input", "I")},
		{p.Env["A"], mark("file", "/home/u/a b")}, {p.Env["B"], "${keyring:K}"},
		{u.URL, "https://h/" + mark("keyring", "K") + "?k=" + mark("input", "I")}, {u.Headers["A"], "Bearer " + mark("file", "t")},
	} {
		if got[0] != got[1] {
			t.Errorf("%q, want %q", got[0], got[1])
		}
	}
	var all []string
	for _, s := range f.Servers {
		for _, r := range s.References() {
			all = append(all, jsonc.FormatKey(r.At)+" "+r.String())
		}
	}
	want := "mcpServers.p.args[\"0\"] ${keyring:K}|mcpServers.p.args[\"1\"] ${input:I}|mcpServers.p.env.A ${file:/home/u/a b}|" +
		"mcpServers.u.url ${keyring:K}|mcpServers.u.url ${input:I}|mcpServers.u.headers.A ${file:t}|mcpServers.u.auth.clientSecret ${keyring:S}"
	if got := strings.Join(all, "|"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// What is no reference in its place is an error, and a mark cannot be forged.
func TestReferenceProblems(t *testing.T) {
	t.Parallel()
	const nul = `\u0000keyring:X\u0000`
	for _, tc := range []struct{ entry, want string }{
		{`{"command": "${keyring:X}"}`, "may stand in args, env, headers and url"},
		{`{"command": "x", "cwd": "${keyring:X}"}`, "may stand in args"},
		{`{"command": "x", "envFile": "${file:X}"}`, "may stand in args"},
		{`{"command": "x", "inherit": ["${keyring:X}"]}`, "may stand in args"},
		{`{"command": "x", "tools": {"include": ["${keyring:X}"]}}`, "may stand in args"},
		{`{"command": "x", "prefix": "${input:X}"}`, "may stand in args"},
		{`{"command": "x", "args": ["${keyring:}"]}`, "no name of a secret"},
		{`{"command": "x", "args": ["${keyring:a b}"]}`, "no name of a secret"},
		{`{"command": "x", "args": ["${file:}"]}`, "names no file"},
		{`{"command": "x", "args": ["${file:${root}/x}"]}`, "no meaning in ${file:PATH}"},
		{`{"command": "x", "args": ["${file:${keyring:X}}"]}`, "may stand in args"},
		{`{"command": "x", "args": ["${file:${NOPE}}"]}`, "NOPE is not set"},
		{`{"url": "https://${keyring:X}/"}`, "takes its host from a secret"},
		{`{"url": "https://u:${keyring:X}@h/"}`, "takes its host from a secret"},
		{`{"url": "${keyring:X}"}`, "takes its host from a secret"},
		{`{"url": "https://h${file:x}"}`, "takes its host from a secret"},
		{`{"command": "x", "args": ["` + nul + `"]}`, "NUL"},
		{`{"command": "x", "env": {"A": "` + nul + `"}}`, "NUL"},
		{`{"url": "https://h/` + nul + `"}`, "NUL"},
		{`{"url": "https://h/", "headers": {"A": "` + nul + `"}}`, "NUL"},
		{`{"command": "x", "args": ["${V}"]}`, "NUL"},
		{`{"command": "x", "args": ["${file:${V}}"]}`, "NUL"},
	} {
		s, problems := entry(t, tc.entry, map[string]string{"V": "\x00keyring:X\x00"})
		if s.Err == nil || !strings.Contains(s.Err.String(), tc.want) {
			t.Errorf("%s: %v", tc.entry, problems)
		}
		if len(s.References()) > 0 && strings.Contains(tc.want, "NUL") {
			t.Errorf("%s: a mark was forged: %q", tc.entry, s.References())
		}
	}
	for text, want := range map[string]string{
		`{"roots": {"fallback": ["${keyring:X}"]}}`:                    "may stand in args",
		`{"http": {"tokens": [{"name": "a", "env": "${keyring:X}"}]}}`: "may stand in args",
		`{"inputs": [{"id": "a"}, {"id": "a"}]}`:                       "another input",
		`{"inputs": [{"id": "a b"}]}`:                                  "no name of a secret",
		`{"inputs": [{"id": "git-token"}], "mcpServers": {"a": {"command": "x", "env": {"A": "${input:git_token}"}}}}`: `did you mean "git-token"?`,
	} {
		_, problems, _ := Parse("hub.json", []byte(text), nil)
		found := false
		for _, p := range problems {
			found = found || strings.Contains(p.String(), want)
		}
		if !found {
			t.Errorf("%s: %v, want %s", text, problems, want)
		}
	}
}
