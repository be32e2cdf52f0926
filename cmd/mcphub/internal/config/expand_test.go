package config

import (
	"os"
	"strings"
	"testing"
)

func sep() byte { return os.PathSeparator }

func TestExpand(t *testing.T) {
	t.Parallel()
	env := map[string]string{"A": "a", "EMPTY": "", "Z": "${A}", "ROOTED": "x${root}y${roots}${root:n}", "root": "r", "ProgramFiles(x86)": "p", "HOME": "/home/u", "USERPROFILE": "/home/u"}
	for _, tc := range []struct{ in, now, later string }{ // later "": the same as now
		{"plain", "plain", ""},
		{"", "", ""},
		{"${A}", "a", ""},
		{"x${A}y${A}", "xaya", ""},
		{"${EMPTY}", "", ""},
		{"${EMPTY:-d}", "d", ""},
		{"${NOPE:-d}", "d", ""},
		{"${NOPE:-}", "", ""},
		{"${A:-d}", "a", ""},
		{"${env:A}", "a", ""},
		{"${env:NOPE:-d:-e}", "d:-e", ""},
		{"${env:ProgramFiles(x86)}", "p", ""},
		{"${NOPE:-${A}}", "a", ""},
		{"${NOPE:-${NOPE:-${A}}/x}", "a/x", ""},
		{"${Z}", "${A}", ""}, // the value of a variable is not looked into
		{"$${A}", "${A}", ""},
		{"$$${A}", "$${A}", ""},
		{"${A}$${A}${A}", "a${A}a", ""},
		{"$A %A% {env:A} $(A) $", "$A %A% {env:A} $(A) $", ""},
		{"a}b{c", "a}b{c", ""},
		{"${userHome}/x", "/home/u/x", ""},
		{"${/}${pathSeparator}", strings.Repeat(string(sep()), 2), ""},
		{"${env:root}", "r", ""},
		// For the child's start: placeholders stay, what is meant literally stays escaped.
		{"$${root}", "${root}", "$${root}"},
		{"$${roots}/$${root:n}", "${roots}/${root:n}", "$${roots}/$${root:n}"},
		{"${ROOTED}", "x${root}y${roots}${root:n}", "x$${root}y$${roots}$${root:n}"},
	} {
		for _, later := range []bool{false, true} {
			want := tc.now
			if later && tc.later != "" {
				want = tc.later
			}
			e := expander{env: envOf(env), later: later}
			got, bad := e.expandText(tc.in, 0)
			if bad != nil || e.unsetError() != nil || got != want {
				t.Errorf("%q (later %v): %q, %v %v, want %q", tc.in, later, got, bad, e.missing, want)
			}
		}
	}
	for _, in := range []string{"${root}", "${roots}", "a${root:My Name}b", "${root:}"} {
		e := expander{env: envOf(env), later: true}
		if got, bad := e.expandText(in, 0); got != in || bad != nil || !e.roots {
			t.Errorf("%q became %q, %v", in, got, bad)
		}
	}
	e := expander{env: envOf(env), later: true}
	if got, _ := e.expandText("${workspaceFolder}/${NOPE:-${root}}", 0); got != "${root}/${root}" {
		t.Error(got)
	}
}

func TestExpandErrors(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ in, want string }{
		{"${NOPE}", "the variable NOPE is not set"},
		{"${NOPE}${ALSO}", "the variables NOPE, ALSO are not set"},
		{"${NOPE:-${ALSO}}", "the variable ALSO is not set"},
		{"${A", `"${" without "}"`},
		{"${A:-${B}", `"${" without "}"`},
		{"${}", "${} is nothing that can be replaced"},
		{"${1}", "${1} is nothing"},
		{"${env:}", "${env:} is nothing"},
		{"${env:A=B}", "is nothing"},
		{"${cmd: id}", "${cmd: id} is nothing"},
		{"${input:key}", "may stand"},
		{"${NUL}", "holds a NUL"},
		{"${workspaceFolderBasename:x}", "is nothing"},
		{"${A-b}", "is nothing"},
		{strings.Repeat("${N:-", 20) + "x" + strings.Repeat("}", 20), "defaults inside of each other"},
	} {
		e := expander{env: envOf(map[string]string{"NUL": "\x00keyring:X\x00"})}
		_, bad := e.expandText(tc.in, 0)
		if bad == nil {
			bad = e.unsetError()
		}
		if bad == nil || !strings.Contains(bad.text+bad.hint, tc.want) {
			t.Errorf("%q: %v, want %s", tc.in, bad, tc.want)
		}
	}
}

// TestWhereVariablesAreReplaced: all the fields that take them, and one that
// does not.
func TestWhereVariablesAreReplaced(t *testing.T) {
	t.Parallel()
	env := map[string]string{"V": "v", "P": "127.0.0.1:1"}
	f := must(t, `{
  "mcpServers": {
    "p": { "command": "${V}", "args": ["${V}"], "env": { "A": "${V}" }, "cwd": "/${V}", "tools": { "include": ["${V}"] } },
    "u": { "url": "http://${V}/", "headers": { "A": "${V}" } } },
  "roots": { "fallback": ["/${V}", { "path": "/${V}/2" }] },
  "policy": { "sandbox": "/${V}", "protected": ["/${V}"], "rules": [{ "then": "allow", "if": { "paths": { "within": "/${V}" } } }] },
  "audit": { "dir": "/${V}" }, "logs": { "dir": "/${V}" },
  "http": { "listen": "${P}", "tokens": [{ "name": "n", "env": "E", "roots": ["/${V}"] }] }
}`, env)
	p, u := f.Servers[0], f.Servers[1]
	for _, got := range [][2]string{
		{p.Command, "v"}, {p.Args[0], "v"}, {p.Env["A"], "v"}, {p.Cwd, "/v"}, {p.Tools.Include[0], "${V}"},
		{u.URL, "http://v/"}, {u.Headers["A"], "v"},
		{f.Roots.Fallback[0].Path, "/v"}, {f.Roots.Fallback[1].Path, "/v/2"},
		{f.Policy.Sandbox, "/v"}, {f.Policy.Protected[0], "/v"}, {f.Policy.Rules[0].If.Paths.Within, "/v"},
		{f.Audit.Dir, "/v"}, {f.Logs.Dir, "/v"}, {f.HTTP.Listen, "127.0.0.1:1"}, {f.HTTP.Tokens[0].Roots[0], "/v"},
	} {
		if got[0] != got[1] {
			t.Errorf("%q, want %q", got[0], got[1])
		}
	}
}

func TestUnsetOutsideOfServers(t *testing.T) {
	t.Parallel()
	f, problems, err := Parse("hub.json", []byte(`{"mcpServers": {"f": {"builtin": "files"}}, "roots": {"fallback": ["/a", "${NOPE}/b", {"path": "${NOPE:-}"}, "/c"]}}`), nil)
	if err != nil || len(problems) != 2 || problems[0].Severity != SeverityWarning || problems[1].Severity != SeverityWarning {
		t.Fatal(problems, err)
	}
	// They stay as they are written: a list of which nothing is left would look like no list, and that opens everything.
	if r := f.Roots.Fallback; len(r) != 4 || r[0].Path != "/a" || r[1].Path != "${NOPE}/b" || r[2].Path != "${NOPE:-}" || r[3].Path != "/c" {
		t.Error(r)
	}
	// A protected path that is not known cannot be skipped.
	if f, _, err := Parse("hub.json", []byte(`{"policy": {"protected": ["${NOPE}/keys"]}}`), nil); f != nil || err == nil {
		t.Error("a protected path was lost")
	}
	// Where ${root} can mean nothing it is not passed on.
	s, problems := entry(t, `{"command": "${root}/bin/tool"}`, nil)
	if s.Err == nil || !strings.Contains(problems[0].Text, "no meaning") {
		t.Error(problems)
	}
}
