package protocol

import (
	"os"
	"strings"
	"testing"

	"mcphub/e2e/ide"
	"mcphub/e2e/world"
)

// The first flow of the policy with the official filesystem server: an area that a rule opens for reading is served to it, so
// that it answers, and is no more than that: a write is denied before it is sent, and so is what only looks like the area.
func TestPolicyOpensAnAreaForReading(t *testing.T) {
	t.Parallel()
	n := world.RequireNode(t)
	program := []string{n.Program, n.Script("mcp-server-filesystem")}
	policy := func(w *world.World) obj {
		return obj{"policy": obj{"rules": []obj{
			{"name": "read-other", "then": "allow", "if": obj{"servers": []string{"fs"}, "paths": obj{"roles": []string{"read"}, "within": w.Other}}},
			{"name": "no-sub", "then": "deny", "if": obj{"paths": obj{"within": w.Path("project", "sub")}}},
		}}}
	}
	w := world.New(t)
	world.Symlink(t, w.Path("outside", "secret.txt"), w.Path("other", "link"))
	world.Symlink(t, w.Path("project", "sub"), w.Path("project", "inner"))
	s := w.Serve(w.Config(obj{"fs": w.Wrapped("fs", "mcp-server-filesystem", program, nil)}, policy(w)), ide.Folders(w.Project))
	s.Handshake()
	if r := s.MustCall("fs__read_text_file", world.PathArgs(t, w.Path("other", "other.txt"))); !strings.Contains(r.Text, "hello from the other one") {
		t.Errorf("read: %s", r.Text)
	}
	if r := s.MustCall("fs__list_allowed_directories", `{}`); !strings.Contains(r.Text, w.Project) || !strings.Contains(r.Text, w.Other) || strings.Contains(r.Text, w.Outside) {
		t.Errorf("the server may open %s", r.Text)
	}
	written := w.Path("other", "written.txt")
	s.Denied("fs__write_file", world.Raw(t, obj{"path": written, "content": "x"}), written, w.Project)
	s.Denied("fs__read_text_file", world.PathArgs(t, w.Path("other", "link")), w.Path("other", "link"), w.Project)
	s.Denied("fs__read_text_file", world.PathArgs(t, w.Path("project-secret", "secret.txt")), w.Path("project-secret", "secret.txt"), w.Project)
	for _, path := range []string{w.Path("project", "sub", "deep.txt"), w.Path("project", "inner", "deep.txt"), "sub/deep.txt"} {
		if r := s.AwaitCall(s.SendCall("fs__read_text_file", world.PathArgs(t, path))); !r.IsError || !strings.Contains(r.Text, `is refused by the rule "no-sub" of the policy (hub.json:`) {
			t.Errorf("%s: %v %s", path, r.IsError, r.Text)
		}
	}
	if _, err := os.Stat(written); err == nil {
		t.Error("it was written")
	}
	if seen := w.Recorded("fs"); world.Calls(seen, "write_file") != 0 || world.Calls(seen, "read_text_file") != 1 {
		t.Errorf("the server has seen more than the one call that was allowed:\n%s", seen)
	}
	// The control: without the policy the server is not served the area, and the hub denies it.
	bare := world.New(t)
	s = bare.Serve(bare.Config(obj{"fs": bare.Wrapped("fs", "mcp-server-filesystem", program, nil)}), ide.Folders(bare.Project))
	s.Handshake()
	s.Denied("fs__read_text_file", world.PathArgs(t, bare.Path("other", "other.txt")), bare.Path("other", "other.txt"), bare.Project)
	s.MustCall("fs__read_text_file", world.PathArgs(t, bare.Path("project", "sub", "deep.txt")))
}
