package protocol

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mcphub/e2e/ide"
	"mcphub/e2e/world"
	"mcphub/internal/bounds"
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

func TestTheSecondCallIsJudgedByTheNewRoots(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	s := w.Serve(w.Config(obj{"rec": w.Recorder("rec")}), ide.Folders(w.Project))
	s.Handshake()
	first, second := world.PathArgs(t, w.Path("project", "hello.txt")), world.PathArgs(t, w.Path("other", "other.txt"))
	s.MustCall("rec__echo", first)
	s.Denied("rec__echo", second, w.Path("other", "other.txt"), w.Project)
	before := getRoots(s).Generation

	s.SetRoots(ide.Folders(w.Other))
	world.Must(t, s.RootsChanged())
	s.MustCall("rec__echo", second) // at once: the call itself waits for the new roots (R5)
	s.Denied("rec__echo", first, w.Path("project", "hello.txt"), w.Other)
	if v := getRoots(s); v.RootsCount != 1 || len(v.FilePaths) != 1 || v.FilePaths[0] != w.Other || v.Generation <= before {
		t.Errorf("get-roots after the change: %+v (generation before: %d)", v, before)
	}

	s.SetRoots(ide.Folders(w.Other, w.Project))
	world.Must(t, s.RootsChanged())
	s.MustCall("rec__echo", first)
	s.Denied("rec__echo", `{"path":"/etc/passwd"}`, "/etc/passwd", w.Other, w.Project)
	// Narrowed to nothing, every later path is out.
	s.SetRoots(ide.Folders())
	world.Must(t, s.RootsChanged())
	if r := s.AwaitCall(s.SendCall("rec__echo", first)); !r.IsError {
		t.Errorf("allowed under no roots at all: %s", r.Raw)
	}
	if seen := w.Recorded("rec"); world.Calls(seen, "echo") != 3 || strings.Contains(seen, "passwd") {
		t.Errorf("want the three allowed calls and no other:\n%s", seen)
	}
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

func TestAClientThatNeverAnswers(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	const timeout = 5 * time.Second
	s := w.Serve(w.Config(obj{"rec": world.Free(w.Recorder("rec"))}, obj{"roots": obj{"timeout": timeout.String()}}), ide.Never())
	started := time.Now()
	s.Handshake()
	path := s.SendCall("rec__echo", world.PathArgs(t, w.Path("project", "hello.txt")))
	// Calls without paths, and all else, are answered meanwhile.
	s.MustRequest("ping", "")
	getRoots(s)
	s.MustCall("rec__echo", `{"text":"no path here"}`)
	s.MustCall("rec__sleep", `{"ms":1}`)
	if answered(s, path) {
		t.Error("calls without paths waited for the roots")
	}
	r := s.AwaitCall(path)
	if took := time.Since(started); took < timeout || took > bounds.Of(timeout+time.Second) {
		t.Errorf("the call with a path was answered after %v, want about %v", took, timeout)
	}
	wantNoAnswerReason(t, r)
	if strings.Contains(w.Recorded("rec"), "hello.txt") {
		t.Errorf("it reached the child:\n%s", w.Recorded("rec"))
	}
	if n := s.Asked(); n != 1 {
		t.Errorf("asked %d times", n)
	}
}

// answered says whether an answer to a request has come.
func answered(s *world.Session, id string) bool {
	return slices.ContainsFunc(s.Messages(), func(m ide.Message) bool { return m.IsAnswer() && string(m.ID) == id })
}

// The reason must let a person see that the client did not answer, and after how long.
func wantNoAnswerReason(t *testing.T, r ide.ToolResult) {
	t.Helper()
	if !r.IsError || !strings.HasPrefix(r.Text, "Access denied: ") || !strings.Contains(r.Text, "roots") {
		t.Errorf("want a denial with the reason, got %s", r.Raw)
	}
	if !strings.Contains(r.Text, "answer") && !strings.Contains(r.Text, "timed out") && !strings.Contains(r.Text, "timeout") {
		t.Errorf("the denial does not say that the client did not answer: %s", r.Text)
	}
}
