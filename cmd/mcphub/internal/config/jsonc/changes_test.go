package jsonc

import (
	"slices"
	"testing"
)

func TestChanges(t *testing.T) {
	t.Parallel()
	got := Changes([]byte(`{"mcpServers": {"a": {"command": "a"}, "b": {"command": "b"}}} // x`), []byte(`{"mcpServers": {"a": {"command": "a"}, "b": {"command": "c", "args": ["1"]}}, "sandbox": "off"}`))
	want := []string{`- mcpServers b: {`, `-   "command": "b"`, `- }`, `+ mcpServers b: {`, `+   "command": "c",`, `+   "args": [`, `+     "1"`, `+   ]`, `+ }`, `+ sandbox: "off"`}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if got := Changes(nil, []byte("{\"a\":1,\"a\":2}\nx")); !slices.Equal(got, []string{`+ {"a":1,"a":2}`, "+ x"}) {
		t.Errorf("what cannot be read: %q", got)
	}
}
