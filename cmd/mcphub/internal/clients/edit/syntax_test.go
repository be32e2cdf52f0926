package edit

import (
	"strings"
	"testing"
)

// Whatever a broken file is written in, its error says the line, and none of what the file holds behind it.
func TestWhereAFileIsBroken(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		format     Format
		text, want string
	}{
		{JSON, "{\n \"a\": {\"command\": \"x\"\n \"b\": 3\n}\n", "f:3:2: "},
		{JSON, "{\n \"a\": {},\n", "f:3:1: "},
		{TOML, "[mcp_servers.a]\ncommand = \"x\"\nargs = [\"a\",\n[b\n", "f:4:2: "},
		{TOML, "a = 1\na = 2\n", "f:2:1: "},
		{YAML, "extensions:\n  a:\n   b: 1\n  c\n d: [\n", "f:4:3: "},
	} {
		_, err := Decode(tc.format, []byte(tc.text))
		if err == nil {
			t.Errorf("%s %q: it was read", tc.format, tc.text)
			continue
		}
		if got := WithFile("f", err).Error(); !strings.HasPrefix(got, tc.want) || strings.Contains(got, "hujson") || strings.Contains(got, "toml:") || strings.Contains(got, "\n") {
			t.Errorf("%s %q: %q, want %q", tc.format, tc.text, got, tc.want)
		}
	}
	if _, err := Decode(JSON, []byte("[]")); err == nil || !strings.HasPrefix(WithFile("f", err).Error(), "f: ") {
		t.Errorf("without a place: %v", err)
	}
}
