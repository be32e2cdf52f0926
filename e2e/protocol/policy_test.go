package e2e

import (
	"os"
	"strings"
	"testing"

	"mcphub/e2e/ide"
)

// The first flow of the policy with the official filesystem server: an area that a rule opens for reading is served to it, so
// that it answers, and is no more than that: a write is denied before it is sent, and so is what only looks like the area.
func TestPolicyOpensAnAreaForReading(t *testing.T) {
	t.Parallel()
	n := requireNode(t)
	program := []string{n.program, n.script("mcp-server-filesystem")}
	policy := func(w *world) obj {
		return obj{"policy": obj{"rules": []obj{
			{"name": "read-other", "then": "allow", "if": obj{"servers": []string{"fs"}, "paths": obj{"roles": []string{"read"}, "within": w.other}}},
			{"name": "no-sub", "then": "deny", "if": obj{"paths": obj{"within": w.path("project", "sub")}}},
		}}}
	}
	w := newWorld(t)
	symlink(t, w.path("outside", "secret.txt"), w.path("other", "link"))
	symlink(t, w.path("project", "sub"), w.path("project", "inner"))
	s := w.serve(w.config(obj{"fs": w.wrapped("fs", "mcp-server-filesystem", program, nil)}, policy(w)), ide.Folders(w.project))
	s.initialize()
	if r := s.call("fs__read_text_file", pathArgs(t, w.path("other", "other.txt"))); !strings.Contains(r.Text, "hello from the other one") {
		t.Errorf("read: %s", r.Text)
	}
	if r := s.call("fs__list_allowed_directories", `{}`); !strings.Contains(r.Text, w.project) || !strings.Contains(r.Text, w.other) || strings.Contains(r.Text, w.outside) {
		t.Errorf("the server may open %s", r.Text)
	}
	written := w.path("other", "written.txt")
	s.denied("fs__write_file", raw(t, obj{"path": written, "content": "x"}), written, w.project)
	s.denied("fs__read_text_file", pathArgs(t, w.path("other", "link")), w.path("other", "link"), w.project)
	s.denied("fs__read_text_file", pathArgs(t, w.path("project-secret", "secret.txt")), w.path("project-secret", "secret.txt"), w.project)
	for _, path := range []string{w.path("project", "sub", "deep.txt"), w.path("project", "inner", "deep.txt"), "sub/deep.txt"} {
		if r := s.await(s.send("fs__read_text_file", pathArgs(t, path))); !r.IsError || !strings.Contains(r.Text, `is refused by the rule "no-sub" of the policy (hub.json:`) {
			t.Errorf("%s: %v %s", path, r.IsError, r.Text)
		}
	}
	if _, err := os.Stat(written); err == nil {
		t.Error("it was written")
	}
	if seen := w.recorded("fs"); calls(seen, "write_file") != 0 || calls(seen, "read_text_file") != 1 {
		t.Errorf("the server has seen more than the one call that was allowed:\n%s", seen)
	}
	// The control: without the policy the server is not served the area, and the hub denies it.
	bare := newWorld(t)
	s = bare.serve(bare.config(obj{"fs": bare.wrapped("fs", "mcp-server-filesystem", program, nil)}), ide.Folders(bare.project))
	s.initialize()
	s.denied("fs__read_text_file", pathArgs(t, bare.path("other", "other.txt")), bare.path("other", "other.txt"), bare.project)
	s.call("fs__read_text_file", pathArgs(t, bare.path("project", "sub", "deep.txt")))
}
