package servers

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"mcphub/e2e/ide"
	"mcphub/e2e/world"
)

// files starts the embedded child on its own, as a plain MCP server: no hub judges anything here.
func files(w *world.World, capabilities string, roots ide.Roots, dirs ...string) *world.Session {
	w.T.Helper()
	return w.Start(ide.Options{Command: world.Hub(w.T), Args: append([]string{"files"}, dirs...), Capabilities: capabilities, Roots: roots})
}

// In the embedded child the boundary holds where the file is opened: no link, old or new, leads out.
func TestTheEmbeddedChildHoldsTheBoundaryItself(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	s := files(w, `{}`, nil, w.Project)
	s.Handshake()
	if r := s.MustCallArgs("read_text_file", obj{"path": w.Path("project", "hello.txt")}); !strings.Contains(r.Text, "hello from the project") {
		t.Errorf("inside: %s", r.Raw)
	}
	for _, c := range []struct {
		tool string
		args obj
	}{
		{"read_text_file", obj{"path": "/etc/passwd"}},
		{"read_text_file", obj{"path": w.Path("outside", "secret.txt")}},
		{"read_text_file", obj{"path": w.Project + "/../outside/secret.txt"}},
		{"read_text_file", obj{"path": "../outside/secret.txt"}},
		{"read_text_file", obj{"path": w.Path("project-secret", "secret.txt")}},
		{"read_text_file", obj{"path": w.Path("project", "link-file")}},
		{"read_text_file", obj{"path": w.Path("project", "link-out", "secret.txt")}},
		{"list_directory", obj{"path": w.Path("project", "link-out")}},
		{"list_directory", obj{"path": w.Dir}},
		{"write_file", obj{"path": w.Path("project", "link-dangling"), "content": "x"}},
		{"write_file", obj{"path": w.Path("project", "link-out", "new.txt"), "content": "x"}},
		{"write_file", obj{"path": w.Path("outside", "new.txt"), "content": "x"}},
		{"search_files", obj{"path": w.Path("project", "link-out"), "pattern": "*"}},
	} {
		m := s.MustRequest("tools/call", ide.ToolParams(c.tool, world.Raw(t, c.args)))
		if m.Error == nil && !strings.Contains(string(m.Result), `"isError":true`) || strings.Contains(string(m.Raw), world.SecretText) {
			t.Errorf("%s %v: %s", c.tool, c.args, m.Raw)
		}
	}
	for _, name := range []string{"not-yet.txt", "new.txt"} {
		if _, err := os.Stat(w.Path("outside", name)); !os.IsNotExist(err) {
			t.Errorf("%s was written outside: %v", name, err)
		}
	}
	// The control: the link does lead out for whoever just opens it.
	if b, err := os.ReadFile(w.Path("project", "link-file")); err != nil || string(b) != world.SecretText {
		t.Errorf("the link leads nowhere: %q %v", b, err)
	}
	s.MustCallArgs("write_file", obj{"path": w.Path("project", "new.txt"), "content": "written"})
	if b, err := os.ReadFile(w.Path("project", "new.txt")); err != nil || string(b) != "written" {
		t.Errorf("a write inside: %q %v", b, err)
	}
}

// It asks its client for the roots, and they take the place of its arguments; new ones take the place of old ones.
func TestTheEmbeddedChildFollowsTheRoots(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	s := files(w, "", ide.Folders(w.Project), w.Outside)
	s.Handshake()
	world.Must(t, s.AwaitAsked(s.Context(), 1))
	s.MustCallArgs("read_text_file", obj{"path": w.Path("project", "hello.txt")})
	if r := s.AwaitCall(s.SendCall("read_text_file", world.PathArgs(t, w.Path("outside", "secret.txt")))); !r.IsError {
		t.Errorf("its argument still holds beside the roots: %s", r.Raw)
	}
	s.SetRoots(ide.Folders(w.Other))
	world.Must(t, s.RootsChanged())
	world.Must(t, s.AwaitAsked(s.Context(), 2))
	if !world.Within(world.WaitLimit, func() bool {
		return !s.AwaitCall(s.SendCall("read_text_file", world.PathArgs(t, w.Path("other", "other.txt")))).IsError
	}) {
		t.Error("the new root never held")
	}
	if r := s.AwaitCall(s.SendCall("read_text_file", world.PathArgs(t, w.Path("project", "hello.txt")))); !r.IsError {
		t.Errorf("the old root still holds: %s", r.Raw)
	}
}

func TestTheEmbeddedChildBehindTheHub(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	s := w.Serve(w.Config(obj{"files": obj{"builtin": "files"}}), ide.Folders(w.Project, w.Other))
	s.Handshake()
	if r := s.MustCallArgs("files__read_text_file", obj{"path": w.Path("project", "hello.txt")}); !strings.Contains(r.Text, "hello from the project") {
		t.Errorf("inside: %s", r.Raw)
	}
	s.MustCallArgs("files__write_file", obj{"path": w.Path("other", "sub", "..", "new.txt"), "content": "x"})
	for _, path := range []string{"/etc/passwd", w.Path("project", "link-file"), w.Path("project", "link-out", "secret.txt"), w.Path("outside", "secret.txt")} {
		s.Denied("files__read_text_file", world.PathArgs(t, path), path, w.Project, w.Other)
	}
	s.Denied("files__write_file", world.Raw(t, obj{"path": w.Path("project", "link-dangling"), "content": "x"}), w.Path("project", "link-dangling"), w.Project, w.Other)
	s.SetRoots(ide.Folders(w.Outside))
	world.Must(t, s.RootsChanged())
	s.MustCallArgs("files__read_text_file", obj{"path": w.Path("outside", "secret.txt")})
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
