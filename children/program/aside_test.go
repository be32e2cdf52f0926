package program

import (
	"strings"
	"testing"
)

// What starts elsewhere than in the first root says so, and what a Plan does is the same.
func TestAside(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		line string
		cwd  string
		want string // a file that it would obey
	}{
		{"deno run -A /opt/server.ts", "", "deno.json"},
		{"bun run /opt/server.ts", "", "bunfig.toml"},
		{"bun /opt/server.ts", "", "bunfig.toml"},
		{"env A=1 deno run /opt/server.ts", "", "deno.json"},
		{"deno run -A /opt/server.ts", "/opt", ""},
		{"node /opt/server.js", "", ""},
		{"npx -y some-server", "", ""},
		{"bunx some-server", "", ""},
		{"uvx some-server", "", ""},
	} {
		words := strings.Fields(tc.line)
		prog := Program{Command: words[0], Args: words[1:], Cwd: tc.cwd}
		got := prog.Aside()
		if got != "" != (tc.want != "") || !strings.Contains(got, tc.want) {
			t.Errorf("%s in %q: %q", tc.line, tc.cwd, got)
		}
		if prog.Local = true; prog.Aside() != "" {
			t.Errorf("%s with \"local\": %q", tc.line, prog.Aside())
		}
	}
}
