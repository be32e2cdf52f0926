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

// Directory arguments become the roots: flags stay, directories are replaced, or appended where there were none (C3).
func TestDirectoryArgumentsBecomeTheRoots(t *testing.T) {
	t.Parallel()
	n := world.RequireNode(t)
	program := []string{n.Program, n.Script("mcp-server-filesystem")}
	for name, c := range map[string]struct {
		args  func(w *world.World) []string
		roots func(w *world.World) ide.Roots
		want  func(w *world.World) []string
	}{
		"replaced": {func(w *world.World) []string { return []string{w.Outside} }, func(w *world.World) ide.Roots { return ide.Folders(w.Project, w.Other) },
			func(w *world.World) []string { return []string{w.Project, w.Other} }},
		"appended": {func(w *world.World) []string { return nil }, func(w *world.World) ide.Roots { return ide.Folders(w.Project) },
			func(w *world.World) []string { return []string{w.Project} }},
		"kept without roots": {func(w *world.World) []string { return []string{w.Other} }, func(*world.World) ide.Roots { return nil },
			func(w *world.World) []string { return []string{w.Other} }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := world.New(t)
			o := ide.Options{Command: world.Hub(t), Roots: c.roots(w),
				Args: []string{"serve", "--config", w.Config(obj{"fs": w.Wrapped("fs", "mcp-server-filesystem", program, c.args(w))})}}
			if o.Roots == nil {
				o.Capabilities = `{}`
			}
			s := w.Start(o)
			s.Handshake()
			s.MustCall("fs__list_allowed_directories", `{}`)
			st := w.Starts("fs")
			if got, want := fmt.Sprint(st[len(st)-1].Args), fmt.Sprint(c.want(w)); got != want {
				t.Errorf("started with %s, want %s", got, want)
			}
		})
	}
	t.Run("flags stay", func(t *testing.T) {
		t.Parallel()
		w := world.New(t)
		// The recorder alone, called as such a server is: what matters is how it is started.
		entry := w.Wrapped("fs", "filesystem-server", []string{world.Bin.Recorder, "-pages", "1"}, []string{"-linger=false", w.Outside})
		s := w.Serve(w.Config(obj{"fs": entry}), ide.Folders(w.Project, w.Other))
		s.Handshake()
		s.AwaitTool("fs__echo")
		st := w.Starts("fs")
		if got, want := fmt.Sprint(st[0].Args), fmt.Sprint([]string{"-linger=false", w.Project, w.Other}); got != want {
			t.Errorf("started with %s, want %s", got, want)
		}
	})
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

// Everything in one write, before any answer: nothing is judged against "nothing yet" (R4), and nothing deadlocks (R2).
func TestCallsSentBeforeTheRootsAreKnown(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	open := make(chan struct{})
	s := w.Serve(w.Config(obj{"rec": w.Recorder("rec")}), ide.After(open, ide.Folders(w.Project)))
	inside := world.Raw(t, obj{"path": w.Path("project", "hello.txt")})
	lines := []string{
		`{"jsonrpc":"2.0","id":"i","method":"initialize","params":` + s.InitializeParams() + `}`,
		`{"jsonrpc":"2.0","id":"early","method":"tools/call","params":` + ide.ToolParams("rec__echo", inside) + `}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":"in","method":"tools/call","params":` + ide.ToolParams("rec__echo", inside) + `}`,
		`{"jsonrpc":"2.0","id":"out","method":"tools/call","params":` + ide.ToolParams("rec__echo", `{"path":"/etc/passwd"}`) + `}`,
		`{"jsonrpc":"2.0","id":"p","method":"ping"}`,
	}
	for _, id := range []string{`"i"`, `"early"`, `"in"`, `"out"`, `"p"`} {
		s.Expect(id)
	}
	world.Must(t, s.SendBytes([]byte(strings.Join(lines, "\n")+"\n")))
	for _, id := range []string{`"i"`, `"p"`} {
		_, err := s.Answer(s.Context(), id)
		world.Must(t, err)
	}
	world.Must(t, s.AwaitAsked(s.Context(), 1))
	for _, m := range s.Messages() {
		if id := string(m.ID); m.IsAnswer() && id != `"i"` && id != `"p"` {
			t.Errorf("answered before the roots were known: %s", m.Raw)
		}
	}
	close(open)
	for _, id := range []string{`"early"`, `"in"`} {
		if r := s.AwaitCall(id); r.IsError {
			t.Errorf("%s: %s", id, r.Text)
		}
	}
	s.WantDenied(s.AwaitCall(`"out"`), "/etc/passwd", w.Project)
}
