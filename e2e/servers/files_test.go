package e2e

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"mcphub/e2e/ide"
)

// files starts the embedded child on its own, as a plain MCP server: no hub judges anything here.
func (w *world) files(capabilities string, roots ide.Roots, dirs ...string) *session {
	w.t.Helper()
	return w.start(ide.Options{Command: mcphub(w.t), Args: append([]string{"files"}, dirs...), Capabilities: capabilities, Roots: roots})
}

// In the embedded child the boundary holds where the file is opened: no link, old or new, leads out.
func TestTheEmbeddedChildHoldsTheBoundaryItself(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.files(`{}`, nil, w.project)
	s.initialize()
	if r := s.callArgs("read_text_file", obj{"path": w.path("project", "hello.txt")}); !strings.Contains(r.Text, "hello from the project") {
		t.Errorf("inside: %s", r.Raw)
	}
	for _, c := range []struct {
		tool string
		args obj
	}{
		{"read_text_file", obj{"path": "/etc/passwd"}},
		{"read_text_file", obj{"path": w.path("outside", "secret.txt")}},
		{"read_text_file", obj{"path": w.project + "/../outside/secret.txt"}},
		{"read_text_file", obj{"path": "../outside/secret.txt"}},
		{"read_text_file", obj{"path": w.path("project-secret", "secret.txt")}},
		{"read_text_file", obj{"path": w.path("project", "link-file")}},
		{"read_text_file", obj{"path": w.path("project", "link-out", "secret.txt")}},
		{"list_directory", obj{"path": w.path("project", "link-out")}},
		{"list_directory", obj{"path": w.dir}},
		{"write_file", obj{"path": w.path("project", "link-dangling"), "content": "x"}},
		{"write_file", obj{"path": w.path("project", "link-out", "new.txt"), "content": "x"}},
		{"write_file", obj{"path": w.path("outside", "new.txt"), "content": "x"}},
		{"search_files", obj{"path": w.path("project", "link-out"), "pattern": "*"}},
	} {
		m := s.request("tools/call", ide.ToolParams(c.tool, raw(t, c.args)))
		if m.Error == nil && !strings.Contains(string(m.Result), `"isError":true`) || strings.Contains(string(m.Raw), secretText) {
			t.Errorf("%s %v: %s", c.tool, c.args, m.Raw)
		}
	}
	for _, name := range []string{"not-yet.txt", "new.txt"} {
		if _, err := os.Stat(w.path("outside", name)); !os.IsNotExist(err) {
			t.Errorf("%s was written outside: %v", name, err)
		}
	}
	// The control: the link does lead out for whoever just opens it.
	if b, err := os.ReadFile(w.path("project", "link-file")); err != nil || string(b) != secretText {
		t.Errorf("the link leads nowhere: %q %v", b, err)
	}
	s.callArgs("write_file", obj{"path": w.path("project", "new.txt"), "content": "written"})
	if b, err := os.ReadFile(w.path("project", "new.txt")); err != nil || string(b) != "written" {
		t.Errorf("a write inside: %q %v", b, err)
	}
}

// It asks its client for the roots, and they take the place of its arguments; new ones take the place of old ones.
func TestTheEmbeddedChildFollowsTheRoots(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.files("", ide.Folders(w.project), w.outside)
	s.initialize()
	must(t, s.AwaitAsked(s.ctx(), 1))
	s.callArgs("read_text_file", obj{"path": w.path("project", "hello.txt")})
	if r := s.await(s.send("read_text_file", pathArgs(t, w.path("outside", "secret.txt")))); !r.IsError {
		t.Errorf("its argument still holds beside the roots: %s", r.Raw)
	}
	s.SetRoots(ide.Folders(w.other))
	must(t, s.RootsChanged())
	must(t, s.AwaitAsked(s.ctx(), 2))
	if !within(waitLimit, func() bool {
		return !s.await(s.send("read_text_file", pathArgs(t, w.path("other", "other.txt")))).IsError
	}) {
		t.Error("the new root never held")
	}
	if r := s.await(s.send("read_text_file", pathArgs(t, w.path("project", "hello.txt")))); !r.IsError {
		t.Errorf("the old root still holds: %s", r.Raw)
	}
}

func TestTheEmbeddedChildBehindTheHub(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.serve(w.config(obj{"files": obj{"builtin": "files"}}), ide.Folders(w.project, w.other))
	s.initialize()
	if r := s.callArgs("files__read_text_file", obj{"path": w.path("project", "hello.txt")}); !strings.Contains(r.Text, "hello from the project") {
		t.Errorf("inside: %s", r.Raw)
	}
	s.callArgs("files__write_file", obj{"path": w.path("other", "sub", "..", "new.txt"), "content": "x"})
	for _, path := range []string{"/etc/passwd", w.path("project", "link-file"), w.path("project", "link-out", "secret.txt"), w.path("outside", "secret.txt")} {
		s.denied("files__read_text_file", pathArgs(t, path), path, w.project, w.other)
	}
	s.denied("files__write_file", raw(t, obj{"path": w.path("project", "link-dangling"), "content": "x"}), w.path("project", "link-dangling"), w.project, w.other)
	s.SetRoots(ide.Folders(w.outside))
	must(t, s.RootsChanged())
	s.callArgs("files__read_text_file", obj{"path": w.path("outside", "secret.txt")})
}

// Its tools bear the names of the official server's, and so do their arguments: what works with one works with the other.
func TestTheEmbeddedChildIsNamedLikeTheOfficialServer(t *testing.T) {
	t.Parallel()
	n := requireNode(t)
	w := newWorld(t)
	official := w.start(ide.Options{Command: n.program, Args: []string{n.script("mcp-server-filesystem"), w.project}, Capabilities: `{}`})
	embedded := w.files(`{}`, nil, w.project)
	official.initialize()
	embedded.initialize()
	want, got := official.tools(), embedded.tools()
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
	decode(t, tool, &entry)
	return entry.InputSchema.Properties
}
