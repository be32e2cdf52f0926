package e2e

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mcphub/e2e/ide"
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

func (s *session) getRoots() rootsView {
	s.t.Helper()
	r := s.call("get-roots", `{}`)
	body := []byte(r.Structured)
	if body == nil {
		body = []byte(r.Text)
	}
	var v rootsView
	if err := json.Unmarshal(body, &v); err != nil {
		s.t.Fatalf("get-roots: %v: %s", err, r.Raw)
	}
	return v
}

// pathArgs gives arguments with one path.
func pathArgs(t testing.TB, path string) string { return raw(t, obj{"path": path}) }

func TestTheSecondCallIsJudgedByTheNewRoots(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.serve(w.config(obj{"rec": w.recorder("rec")}), ide.Folders(w.project))
	s.initialize()
	first, second := pathArgs(t, w.path("project", "hello.txt")), pathArgs(t, w.path("other", "other.txt"))
	s.call("rec__echo", first)
	s.denied("rec__echo", second, w.path("other", "other.txt"), w.project)
	before := s.getRoots().Generation

	s.SetRoots(ide.Folders(w.other))
	must(t, s.RootsChanged())
	s.call("rec__echo", second) // at once: the call itself waits for the new roots (R5)
	s.denied("rec__echo", first, w.path("project", "hello.txt"), w.other)
	if v := s.getRoots(); v.RootsCount != 1 || len(v.FilePaths) != 1 || v.FilePaths[0] != w.other || v.Generation <= before {
		t.Errorf("get-roots after the change: %+v (generation before: %d)", v, before)
	}

	s.SetRoots(ide.Folders(w.other, w.project))
	must(t, s.RootsChanged())
	s.call("rec__echo", first)
	s.denied("rec__echo", `{"path":"/etc/passwd"}`, "/etc/passwd", w.other, w.project)
	// Narrowed to nothing, every later path is out.
	s.SetRoots(ide.Folders())
	must(t, s.RootsChanged())
	if r := s.await(s.send("rec__echo", first)); !r.IsError {
		t.Errorf("allowed under no roots at all: %s", r.Raw)
	}
	if seen := w.recorded("rec"); calls(seen, "echo") != 3 || strings.Contains(seen, "passwd") {
		t.Errorf("want the three allowed calls and no other:\n%s", seen)
	}
}

// A real server that keeps the roots itself must have taken the new ones before the next call reaches it.
func TestARealServerHasTheNewRoots(t *testing.T) {
	t.Parallel()
	n := requireNode(t)
	w := newWorld(t)
	program := []string{n.program, n.script("mcp-server-filesystem")}
	s := w.serve(w.config(obj{"fs": free(w.wrapped("fs", "mcp-server-filesystem", program, nil))}), ide.Folders(w.project))
	s.initialize()
	first, second := pathArgs(t, w.path("project", "hello.txt")), pathArgs(t, w.path("other", "other.txt"))
	s.call("fs__read_text_file", first)
	for range 5 {
		s.SetRoots(ide.Folders(w.project, w.other))
		must(t, s.RootsChanged())
		s.call("fs__read_text_file", second)
		s.call("fs__read_text_file", first)
		s.SetRoots(ide.Folders(w.project))
		must(t, s.RootsChanged())
		s.denied("fs__read_text_file", second, w.path("other", "other.txt"), w.project)
		s.call("fs__read_text_file", first)
	}
	if st := w.starts("fs"); len(st) != 1 {
		t.Errorf("%d starts: a server that honours list_changed was restarted", len(st))
	}
	// The root it works in is gone: now it may be started afresh (C4), and the call waits for that too.
	s.SetRoots(ide.Folders(w.other))
	must(t, s.RootsChanged())
	s.call("fs__read_text_file", second)
	s.denied("fs__read_text_file", first, w.path("project", "hello.txt"), w.other)
}

// Directory arguments become the roots: flags stay, directories are replaced, or appended where there were none (C3).
func TestDirectoryArgumentsBecomeTheRoots(t *testing.T) {
	t.Parallel()
	n := requireNode(t)
	program := []string{n.program, n.script("mcp-server-filesystem")}
	for name, c := range map[string]struct {
		args  func(w *world) []string
		roots func(w *world) ide.Roots
		want  func(w *world) []string
	}{
		"replaced": {func(w *world) []string { return []string{w.outside} }, func(w *world) ide.Roots { return ide.Folders(w.project, w.other) },
			func(w *world) []string { return []string{w.project, w.other} }},
		"appended": {func(w *world) []string { return nil }, func(w *world) ide.Roots { return ide.Folders(w.project) },
			func(w *world) []string { return []string{w.project} }},
		"kept without roots": {func(w *world) []string { return []string{w.other} }, func(*world) ide.Roots { return nil },
			func(w *world) []string { return []string{w.other} }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			o := ide.Options{Command: mcphub(t), Roots: c.roots(w),
				Args: []string{"serve", "--config", w.config(obj{"fs": w.wrapped("fs", "mcp-server-filesystem", program, c.args(w))})}}
			if o.Roots == nil {
				o.Capabilities = `{}`
			}
			s := w.start(o)
			s.initialize()
			s.call("fs__list_allowed_directories", `{}`)
			st := w.starts("fs")
			if got, want := fmt.Sprint(st[len(st)-1].Args), fmt.Sprint(c.want(w)); got != want {
				t.Errorf("started with %s, want %s", got, want)
			}
		})
	}
	t.Run("flags stay", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		// The recorder alone, called as such a server is: what matters is how it is started.
		entry := w.wrapped("fs", "filesystem-server", []string{bin.recorder, "-pages", "1"}, []string{"-linger=false", w.outside})
		s := w.serve(w.config(obj{"fs": entry}), ide.Folders(w.project, w.other))
		s.initialize()
		s.awaitTool("fs__echo")
		st := w.starts("fs")
		if got, want := fmt.Sprint(st[0].Args), fmt.Sprint([]string{"-linger=false", w.project, w.other}); got != want {
			t.Errorf("started with %s, want %s", got, want)
		}
	})
}

func TestAClientThatNeverAnswers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const timeout = 3 * time.Second
	s := w.serve(w.config(obj{"rec": free(w.recorder("rec"))}, obj{"roots": obj{"timeout": "3s"}}), ide.Never())
	begun := time.Now()
	s.initialize()
	path := s.send("rec__echo", pathArgs(t, w.path("project", "hello.txt")))
	// Calls without paths, and all else, are answered meanwhile.
	s.request("ping", "")
	s.getRoots()
	s.call("rec__echo", `{"text":"no path here"}`)
	s.call("rec__sleep", `{"ms":1}`)
	if took := time.Since(begun); took > timeout-500*time.Millisecond {
		t.Errorf("calls without paths took %v: they waited for the roots", took)
	}
	r := s.await(path)
	if took := time.Since(begun); took < timeout-100*time.Millisecond || took > timeout+2*time.Second {
		t.Errorf("the call with a path was answered after %v, want about %v", took, timeout)
	}
	wantNoAnswerReason(t, r)
	if strings.Contains(w.recorded("rec"), "hello.txt") {
		t.Errorf("it reached the child:\n%s", w.recorded("rec"))
	}
	if n := s.Asked(); n != 1 {
		t.Errorf("asked %d times", n)
	}
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

func TestTheDefaultTimeoutIsTenSeconds(t *testing.T) {
	if !long {
		t.Skip("set MCPHUB_E2E_LONG=1: it waits for ten seconds")
	}
	t.Parallel()
	w := newWorld(t)
	s := w.serve(w.config(obj{"rec": w.recorder("rec")}), ide.Never())
	s.initialize()
	begun := time.Now()
	path := s.send("rec__echo", pathArgs(t, w.path("project", "hello.txt")))
	s.call("rec__echo", `{"text":"no path here"}`)
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("a call without a path took %v", took)
	}
	r := s.await(path)
	if took := time.Since(begun); took < 9500*time.Millisecond || took > 12*time.Second {
		t.Errorf("denied after %v, want 10 s", took)
	}
	wantNoAnswerReason(t, r)
}

// The three cases without a boundary (R11), and answers that are good, bad and half bad.
func TestWhatTheClientAnswers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		capabilities string
		roots        func(w *world) ide.Roots
		inside       bool // is a file in the project allowed?
		outside      bool // is /etc/passwd?
		asked        bool
	}{
		"an error":         {"", func(*world) ide.Roots { return ide.Refuse(-32603, "no folders today") }, false, false, true},
		"method not found": {"", func(*world) ide.Roots { return nil }, false, false, true},
		"no root at all":   {"", func(*world) ide.Roots { return ide.Folders() }, false, false, true},
		"no list":          {"", func(*world) ide.Roots { return ide.Result(`{"roots":"x"}`) }, false, false, true},
		"nothing":          {"", func(*world) ide.Roots { return ide.Result(`{}`) }, false, false, true},
		"only other schemes": {"", func(*world) ide.Roots {
			return ide.Result(`{"roots":[{"uri":"vscode-remote://wsl/home"},{"uri":"https://example.com/"}]}`)
		}, false, false, true},
		"only a missing one": {"", func(w *world) ide.Roots { return ide.Folders(w.path("missing")) }, false, false, true},
		"one bad among good": {"", func(w *world) ide.Roots {
			return ide.Result(fmt.Sprintf(`{"roots":[{"uri":"vscode-remote://wsl/x"},{"uri":7},null,{"uri":%q,"name":null},{"uri":%q,"x":{}}]}`,
				ide.FileURI(w.path("missing")), strings.Replace(ide.FileURI(w.project), "file:", "FILE:", 1)))
		}, true, false, true},
		"localhost and a slash at the end": {"", func(w *world) ide.Roots {
			return ide.Result(fmt.Sprintf(`{"roots":[{"uri":%q}]}`, strings.Replace(ide.FileURI(w.project), "file://", "file://localhost", 1)+"/"))
		}, true, false, true},
		"the root of all":         {"", func(*world) ide.Roots { return ide.Result(`{"roots":[{"uri":"file:///"}]}`) }, true, true, true},
		"undeclared":              {`{}`, func(*world) ide.Roots { return ide.Never() }, true, true, false},
		"declared as no object":   {`{"roots":true}`, func(*world) ide.Roots { return ide.Never() }, true, true, false},
		"without listChanged":     {`{"roots":{}}`, func(w *world) ide.Roots { return ide.Folders(w.project) }, true, false, true},
		"a root with odd letters": {"", func(w *world) ide.Roots { return ide.Folders(filepath.Dir(w.write("a b#c%41ü/x.txt", "")), w.project) }, true, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			s := w.start(ide.Options{Command: mcphub(t), Args: []string{"serve", "--config", w.config(obj{"rec": w.recorder("rec")})},
				Capabilities: c.capabilities, Roots: c.roots(w)})
			s.initialize()
			for path, want := range map[string]bool{w.path("project", "hello.txt"): c.inside, "/etc/passwd": c.outside} {
				r := s.await(s.send("rec__echo", pathArgs(t, path)))
				if r.IsError == want {
					t.Errorf("%s: allowed %v, want %v: %s", path, !r.IsError, want, r.Text)
				}
				if !want && !strings.HasPrefix(r.Text, "Access denied: ") {
					t.Errorf("%s: the refusal reads %s", path, r.Text)
				}
				if strings.Contains(w.recorded("rec"), path) != want {
					t.Errorf("%s: in the child's record %v, want %v", path, !want, want)
				}
			}
			if got := s.Asked() > 0; got != c.asked {
				t.Errorf("asked for the roots: %v, want %v", got, c.asked)
			}
		})
	}
}

// Everything in one write, before any answer: nothing is judged against "nothing yet" (R4), and nothing deadlocks (R2).
func TestCallsSentBeforeTheRootsAreKnown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	open := make(chan struct{})
	s := w.serve(w.config(obj{"rec": w.recorder("rec")}), ide.After(open, ide.Folders(w.project)))
	inside := raw(t, obj{"path": w.path("project", "hello.txt")})
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
	must(t, s.SendBytes([]byte(strings.Join(lines, "\n")+"\n")))
	for _, id := range []string{`"i"`, `"p"`} {
		_, err := s.Answer(s.ctx(), id)
		must(t, err)
	}
	must(t, s.AwaitAsked(s.ctx(), 1))
	for _, m := range s.Messages() {
		if id := string(m.ID); m.IsAnswer() && id != `"i"` && id != `"p"` {
			t.Errorf("answered before the roots were known: %s", m.Raw)
		}
	}
	close(open)
	for _, id := range []string{`"early"`, `"in"`} {
		if r := s.await(id); r.IsError {
			t.Errorf("%s: %s", id, r.Text)
		}
	}
	s.wantDenied(s.await(`"out"`), "/etc/passwd", w.project)
}

// Answers that nobody asked for, and roots inside a notification, change nothing (R7).
func TestRootsThatNobodyAskedForAreIgnored(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.serve(w.config(obj{"rec": w.recorder("rec")}), ide.Folders(w.project))
	s.initialize()
	s.call("rec__echo", pathArgs(t, w.path("project", "hello.txt")))
	for _, id := range []string{"1", "2", `"1"`, "null", "99999"} {
		must(t, s.Send(`{"jsonrpc":"2.0","id":`+id+`,"result":{"roots":[{"uri":"file:///"}]}}`))
	}
	must(t, s.Notify("notifications/roots/list_changed", `{"roots":[{"uri":"file:///"}]}`))
	s.denied("rec__echo", `{"path":"/etc/passwd"}`, "/etc/passwd", w.project)
}
