package servers

import (
	"encoding/json"
	"testing"

	"mcphub/e2e/ide"
	"mcphub/e2e/world"
)

// files starts the embedded child on its own, as a plain MCP server: no hub judges anything here.
func files(w *world.World, capabilities string, roots ide.Roots, dirs ...string) *world.Session {
	w.T.Helper()
	return w.Start(ide.Options{Command: world.Hub(w.T), Args: append([]string{"files"}, dirs...), Capabilities: capabilities, Roots: roots})
}

// Its tools bear the names of the official server's, and so do their arguments: what works with one works with the other.
func TestTheEmbeddedChildIsNamedLikeTheOfficialServer(t *testing.T) {
	t.Parallel()
	n := world.RequireNode(t)
	w := world.New(t)
	official := w.Start(ide.Options{Command: n.Program, Args: []string{n.Script("mcp-server-filesystem"), w.Project}, Capabilities: `{}`})
	embedded := files(w, `{}`, nil, w.Project)
	official.Handshake()
	embedded.Handshake()
	want, got := official.Tools(), embedded.Tools()
	for _, name := range []string{"read_text_file", "write_file", "list_directory", "get_file_info", "search_files", "list_allowed_directories"} {
		if got[name] == nil {
			t.Errorf("it has no %s", name)
		}
	}
	for name, entry := range got {
		if want[name] == nil {
			t.Errorf("the official server has no %s", name)
			continue
		}
		theirs, ours := properties(t, want[name]), properties(t, entry)
		for property := range ours {
			if theirs[property] == nil {
				t.Errorf("%s: the official server has no argument %s", name, property)
			}
		}
		for property := range theirs {
			if ours[property] == nil {
				t.Errorf("%s: it lacks the argument %s", name, property)
			}
		}
	}
}

func properties(t testing.TB, tool json.RawMessage) map[string]json.RawMessage {
	t.Helper()
	var entry struct {
		InputSchema struct{ Properties map[string]json.RawMessage }
	}
	world.Decode(t, tool, &entry)
	return entry.InputSchema.Properties
}
