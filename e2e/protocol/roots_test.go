package protocol

import (
	"encoding/json"
	"testing"

	"mcphub/e2e/ide"
	"mcphub/e2e/world"
)

// rootsView is what get-roots tells.
type rootsView struct {
	SupportsRoots    bool
	RootsListChanged bool
	RootsCount       int
	Roots            []struct{ URI, Name string }
	FilePaths        []string
	State            string
	Origin           string
	Generation       uint64
}

func getRoots(s *world.Session) rootsView {
	s.T.Helper()
	r := s.MustCall("get-roots", `{}`)
	body := []byte(r.Structured)
	if body == nil {
		body = []byte(r.Text)
	}
	var v rootsView
	if err := json.Unmarshal(body, &v); err != nil {
		s.T.Fatalf("get-roots: %v: %s", err, r.Raw)
	}
	return v
}

// A real server that keeps the roots itself must have taken the new ones before the next call reaches it.
func TestARealServerHasTheNewRoots(t *testing.T) {
	t.Parallel()
	n := world.RequireNode(t)
	w := world.New(t)
	program := []string{n.Program, n.Script("mcp-server-filesystem")}
	s := w.Serve(w.Config(obj{"fs": world.Free(w.Wrapped("fs", "mcp-server-filesystem", program, nil))}), ide.Folders(w.Project))
	s.Handshake()
	first, second := world.PathArgs(t, w.Path("project", "hello.txt")), world.PathArgs(t, w.Path("other", "other.txt"))
	s.MustCall("fs__read_text_file", first)
	for range 5 {
		s.SetRoots(ide.Folders(w.Project, w.Other))
		world.Must(t, s.RootsChanged())
		s.MustCall("fs__read_text_file", second)
		s.MustCall("fs__read_text_file", first)
		s.SetRoots(ide.Folders(w.Project))
		world.Must(t, s.RootsChanged())
		s.Denied("fs__read_text_file", second, w.Path("other", "other.txt"), w.Project)
		s.MustCall("fs__read_text_file", first)
	}
	if st := w.Starts("fs"); len(st) != 1 {
		t.Errorf("%d starts: a server that honours list_changed was restarted", len(st))
	}
	// The root it works in is gone: now it may be started afresh (C4), and the call waits for that too.
	s.SetRoots(ide.Folders(w.Other))
	world.Must(t, s.RootsChanged())
	s.MustCall("fs__read_text_file", second)
	s.Denied("fs__read_text_file", first, w.Path("project", "hello.txt"), w.Other)
}
