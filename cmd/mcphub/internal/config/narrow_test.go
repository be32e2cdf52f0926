package config

import (
	"strings"
	"testing"
)

// TestNarrowed: what only takes away counts at once, and all else is told to be more.
func TestNarrowed(t *testing.T) {
	t.Parallel()
	const was = `{
  "mcpServers": {"a": {"command": "a"}, "b": {"command": "b", "args": ["1"]}},
  "roots": {"fallback": ["/srv/one", "/srv/two"]},
  "policy": {"rules": [{"name": "r", "then": "allow", "if": {"paths": {"within": "/srv/x"}}}]}
}`
	edit := func(pairs ...string) string { return strings.NewReplacer(pairs...).Replace(was) }
	for _, c := range []struct {
		name, now string
		whole     bool
		narrows   bool
		servers   string // with ! the ones that are disabled
	}{
		{"nothing", was, true, false, "a b"},
		{"a comment", "// x\n" + was, true, false, "a b"},
		{"a server less", edit(`"a": {"command": "a"}, `, ""), true, true, "b"},
		{"a server disabled", edit(`"command": "a"`, `"command": "a", "disabled": true`), true, true, "!a b"},
		{"a rule that denies", edit(`"rules": [`, `"rules": [{"name": "d", "then": "deny", "if": {"servers": ["b"]}}, `), true, true, "a b"},
		{"a server more", edit(`"a": {`, `"c": {"command": "c", "sandbox": "off"}, "a": {`), false, false, "a b"},
		{"a server less and another", edit(`"a": {"command": "a"}`, `"c": {"command": "c"}`), false, true, "b"},
		{"another program", edit(`"command": "b"`, `"command": "evil"`), false, false, "a b"},
		{"other arguments", edit(`["1"]`, `["2"]`), false, false, "a b"},
		{"a variable", edit(`"command": "b"`, `"command": "b", "env": {"X": "1"}`), false, false, "a b"},
		{"no sandbox", edit(`"command": "b"`, `"command": "b", "sandbox": "off"`), false, false, "a b"},
		{"no monitor", edit(`"command": "b"`, `"command": "b", "paths": {"mode": "off"}`), false, false, "a b"},
		{"a root less, which may open more", edit(`"/srv/one", `, ""), false, false, "a b"},
		{"a rule that allows", edit(`"rules": [`, `"rules": [{"name": "d", "then": "allow"}, `), false, false, "a b"},
		{"disabled and another program", edit(`"command": "a"`, `"command": "evil", "disabled": true`), false, true, "!a b"},
		{"approval", edit(`"roots":`, `"approval": {"timeout": "7m"}, "roots":`), false, false, "a b"},
		{"http", edit(`"roots":`, `"http": {"listen": "127.0.0.1:1"}, "roots":`), false, false, "a b"},
		{"a server that cannot be read", edit(`"command": "b"`, `"comand": "b"`), false, false, "a b"},
	} {
		f, _, err := Parse("hub.json", []byte(was), nil)
		if err != nil {
			t.Fatal(err)
		}
		by, _, err := Parse("hub.json", []byte(c.now), nil)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		n, whole := f.Narrow(by)
		var servers []string
		for _, s := range n.Servers {
			name := s.Name
			if s.Disabled {
				name = "!" + name
			}
			servers = append(servers, name)
		}
		if got := strings.Join(servers, " "); whole != c.whole || got != c.servers || f.Equivalent(n) == c.narrows {
			t.Errorf("%s: whole %t, narrows %t, %s", c.name, whole, !f.Equivalent(n), got)
		}
	}
}
