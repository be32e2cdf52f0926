package declaration

import "testing"

func TestMethodsAndTheirExtensions(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		key, method string
		want        bool
	}{
		{"io.modelcontextprotocol/skills", "skills/list", true},
		{"io.modelcontextprotocol/skills", "skills", true},
		{"io.modelcontextprotocol/skills", "notifications/skills/changed", true},
		{"com.example.skills", "skills/list", true},
		{"skills", "skills/list", true},
		{"com.example/my-ext", "com.example/my-ext/do", true},
		{"io.modelcontextprotocol/skills", "skill/list", false},
		{"com.example/my-skills", "skills/list", false},
		{"io.modelcontextprotocol/skills", "resources/skills", false},
		{"io.modelcontextprotocol/skills/", "skills/list", false},
		{"", "/list", false},
		{"claude/channel", "notifications/claude/channel", true}, // the whole key
		{"claude/channel", "claude/channels", false},
		{"claude/channel", "notifications/claude", false},
	} {
		if got := Extends(test.key, test.method); got != test.want {
			t.Errorf("%q, %q: %t", test.key, test.method, got)
		}
	}
}
