package protocol

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"mcphub/e2e/ide"
	"mcphub/e2e/world"
	"mcphub/internal/bounds"
)

// During each of 120 calls the child asks the hub for its roots: a hub that serves calls on its reading loop, or from too few
// workers, locks up here.
func TestManyCallsDuringWhichTheChildAsks(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	s := w.Serve(w.Config(obj{"rec": w.Recorder("rec")}), ide.Folders(w.Project, w.Other))
	s.Handshake()
	s.AwaitTool("rec__ask_roots")
	const many = 120
	var ids []string
	for range many {
		ids = append(ids, s.SendCall("rec__ask_roots", `{}`))
	}
	for _, id := range ids {
		got := string(s.AwaitCall(id).Structured)
		for _, dir := range []string{w.Project, w.Other} {
			if !strings.Contains(got, `"`+ide.FileURI(dir)+`"`) {
				t.Fatalf("call %s: the child was told %s, want %s in it", id, got, ide.FileURI(dir))
			}
		}
	}
	if n := world.Calls(w.Recorded("rec"), "ask_roots"); n != many {
		t.Errorf("%d calls reached the child, want %d", n, many)
	}
}

// What the child is told is canonical: lower-case scheme, percent-encoded, links resolved, no null names (C2).
func TestTheChildIsToldCanonicalRoots(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.Write("a b#ü/x.txt", "")
	link := w.Path("link-to-project")
	world.Symlink(t, w.Project, link)
	s := w.Serve(w.Config(obj{"rec": w.Recorder("rec")}),
		ide.Result(fmt.Sprintf(`{"roots":[{"uri":%q,"name":null},{"uri":%q}]}`, "FILE://localhost"+link+"/", "file://"+w.Path("a b#ü"))))
	s.Handshake()
	got := string(s.MustCall("rec__ask_roots", `{}`).Structured)
	for _, dir := range []string{w.Project, w.Path("a b#ü")} {
		if !strings.Contains(got, `"`+ide.FileURI(dir)+`"`) {
			t.Errorf("the child was told %s, want %s in it", got, ide.FileURI(dir))
		}
	}
	if strings.Contains(got, "null") {
		t.Errorf("a name is null: %s", got)
	}
}

// A call that is cancelled while it waits for the roots never runs.
func TestACancelledCallThatWaitsForRootsNeverRuns(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	open := make(chan struct{})
	s := w.Serve(w.Config(obj{"rec": world.Free(w.Recorder("rec"))}), ide.After(open, ide.Folders(w.Project)))
	s.Handshake()
	s.MustCall("rec__echo", `{"text":"the child is up"}`)
	cancelled := s.SendCall("rec__echo", world.Raw(t, obj{"path": w.Path("project", "hello.txt"), "text": "cancelled"}))
	kept := s.SendCall("rec__echo", world.Raw(t, obj{"path": w.Path("project", "hello.txt"), "text": "kept"}))
	world.Must(t, s.Notify("notifications/cancelled", `{"requestId":`+cancelled+`,"reason":"changed my mind"}`))
	s.MustRequest("ping", "") // the hub has read the cancellation
	close(open)
	s.AwaitCall(kept)
	s.MustCall("rec__echo", `{"text":"the end"}`)
	wantNotRun(t, w, s, cancelled)
}

// Nor does one that is cancelled while its child is still starting.
func TestACancelledCallThatWaitsForItsChildNeverRuns(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	s := w.Serve(w.Config(obj{"rec": w.Recorder("rec", "-slow-start", "1500ms")}), ide.Folders(w.Project))
	s.Handshake()
	cancelled := s.SendCall("rec__echo", `{"text":"cancelled"}`)
	kept := s.SendCall("rec__echo", `{"text":"kept"}`)
	world.Must(t, s.Notify("notifications/cancelled", `{"requestId":`+cancelled+`}`))
	s.AwaitCall(kept)
	s.MustCall("rec__echo", `{"text":"the end"}`)
	wantNotRun(t, w, s, cancelled)
}

func wantNotRun(t *testing.T, w *world.World, s *world.Session, cancelled string) {
	t.Helper()
	if seen := w.Recorded("rec"); strings.Contains(seen, "cancelled") || !strings.Contains(seen, "kept") {
		t.Errorf("want the call that was kept and not the one that was cancelled:\n%s", seen)
	}
	for _, m := range s.Messages() {
		if m.IsAnswer() && string(m.ID) == cancelled {
			t.Errorf("a cancelled call was answered: %s", m.Raw)
		}
	}
}

// A running call's cancellation reaches the child, under the id that the child knows.
func TestACancelledCallIsCancelledAtTheChild(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	s := w.Serve(w.Config(obj{"rec": w.Recorder("rec")}), ide.Folders(w.Project))
	s.Handshake()
	s.AwaitTool("rec__sleep")
	world.Must(t, s.RequestAs(`"mine"`, "tools/call", ide.ToolParams("rec__sleep", `{"ms":60000}`)))
	if !world.Within(world.WaitLimit, func() bool { return world.Calls(w.Recorded("rec"), "sleep") == 1 }) {
		t.Fatal("the call did not reach the child")
	}
	world.Must(t, s.Notify("notifications/cancelled", `{"requestId":"mine","reason":"enough"}`))
	s.MustCall("rec__echo", `{"text":"goes on"}`)
	if !world.Within(world.WaitLimit, func() bool { return strings.Contains(w.Recorded("rec"), `"notifications/cancelled"`) }) {
		t.Errorf("the child was not told:\n%s", w.Recorded("rec"))
	}
	if strings.Contains(w.Recorded("rec"), `"requestId":"mine"`) {
		t.Errorf("the child was told the client's id:\n%s", w.Recorded("rec"))
	}
	for _, m := range s.Messages() {
		if m.IsAnswer() && string(m.ID) == `"mine"` {
			t.Errorf("a cancelled call was answered: %s", m.Raw)
		}
	}
}

// Many calls to a slow child do not stand in the way of another child, nor of the hub itself.
func TestASlowChildDelaysNobody(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	s := w.Serve(w.Config(obj{"slow": w.Recorder("slow"), "quick": w.Recorder("quick")}), ide.Folders(w.Project))
	s.Handshake()
	s.AwaitTool("slow__sleep")
	s.AwaitTool("quick__echo")
	for range 120 {
		s.SendCall("slow__sleep", `{"ms":60000}`)
	}
	begun := time.Now()
	s.MustCall("quick__echo", `{"text":"quick"}`)
	s.MustRequest("ping", "")
	getRoots(s)
	if took := time.Since(begun); took > bounds.Of(time.Second) {
		t.Errorf("took %v behind 120 slow calls", took)
	}
	// They are under way, and the end of stdin must end them too.
	s.End(world.StopBound)
}
