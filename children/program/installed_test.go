package program

import (
	"slices"
	"strings"
	"testing"
)

func TestOwnNames(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"npx -y @s/notes-mcp@1.0.0 x": "notes-mcp", "npx -p @s/notes notes-server": "notes notes-server", "uvx mcp-server-git==1": "mcp-server-git", "timeout 5 uvx --from notes n": "notes n",
		"python3 -m notes_mcp.server": "notes_mcp", "python3 /opt/notes/server.py": "server", "node /x/node_modules/@s/notes/dist/index.js": "notes", "node /x/node_modules/notes/index.js": "notes",
		"/usr/bin/notes-mcp --x": "notes-mcp", "uv run notes": "notes", "bash -c notes": "notes", "node": "", "npx": "", "": "",
	} {
		words := strings.Split(line, " ")
		if got := (Program{Command: words[0], Args: words[1:]}).OwnNames(); !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}
