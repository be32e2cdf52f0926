package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"mcphub/e2e/ide"
)

// During each of 120 calls the child asks the hub for its roots: a hub that serves calls on its reading loop, or from too few
// workers, locks up here.
func TestManyCallsDuringWhichTheChildAsks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.serve(w.config(obj{"rec": w.recorder("rec")}), ide.Folders(w.project, w.other))
	s.initialize()
	s.awaitTool("rec__ask_roots")
	const many = 120
	var ids []string
	for range many {
		ids = append(ids, s.send("rec__ask_roots", `{}`))
	}
	for _, id := range ids {
		got := string(s.await(id).Structured)
		for _, dir := range []string{w.project, w.other} {
			if !strings.Contains(got, `"`+ide.FileURI(dir)+`"`) {
				t.Fatalf("call %s: the child was told %s, want %s in it", id, got, ide.FileURI(dir))
			}
		}
	}
	if n := calls(w.recorded("rec"), "ask_roots"); n != many {
		t.Errorf("%d calls reached the child, want %d", n, many)
	}
}

// What the child is told is canonical: lower-case scheme, percent-encoded, links resolved, no null names (C2).
func TestTheChildIsToldCanonicalRoots(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write("a b#ü/x.txt", "")
	link := w.path("link-to-project")
	symlink(t, w.project, link)
	s := w.serve(w.config(obj{"rec": w.recorder("rec")}),
		ide.Result(fmt.Sprintf(`{"roots":[{"uri":%q,"name":null},{"uri":%q}]}`, "FILE://localhost"+link+"/", "file://"+w.path("a b#ü"))))
	s.initialize()
	got := string(s.call("rec__ask_roots", `{}`).Structured)
	for _, dir := range []string{w.project, w.path("a b#ü")} {
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
	w := newWorld(t)
	open := make(chan struct{})
	s := w.serve(w.config(obj{"rec": free(w.recorder("rec"))}), ide.After(open, ide.Folders(w.project)))
	s.initialize()
	s.call("rec__echo", `{"text":"the child is up"}`)
	cancelled := s.send("rec__echo", raw(t, obj{"path": w.path("project", "hello.txt"), "text": "cancelled"}))
	kept := s.send("rec__echo", raw(t, obj{"path": w.path("project", "hello.txt"), "text": "kept"}))
	must(t, s.Notify("notifications/cancelled", `{"requestId":`+cancelled+`,"reason":"changed my mind"}`))
	s.request("ping", "") // the hub has read the cancellation
	close(open)
	s.await(kept)
	s.call("rec__echo", `{"text":"the end"}`)
	wantNotRun(t, w, s, cancelled)
}

// Nor does one that is cancelled while its child is still starting.
func TestACancelledCallThatWaitsForItsChildNeverRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.serve(w.config(obj{"rec": w.recorder("rec", "-slow-start", "1500ms")}), ide.Folders(w.project))
	s.initialize()
	cancelled := s.send("rec__echo", `{"text":"cancelled"}`)
	kept := s.send("rec__echo", `{"text":"kept"}`)
	must(t, s.Notify("notifications/cancelled", `{"requestId":`+cancelled+`}`))
	s.await(kept)
	s.call("rec__echo", `{"text":"the end"}`)
	wantNotRun(t, w, s, cancelled)
}

func wantNotRun(t *testing.T, w *world, s *session, cancelled string) {
	t.Helper()
	if seen := w.recorded("rec"); strings.Contains(seen, "cancelled") || !strings.Contains(seen, "kept") {
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
	w := newWorld(t)
	s := w.serve(w.config(obj{"rec": w.recorder("rec")}), ide.Folders(w.project))
	s.initialize()
	s.awaitTool("rec__sleep")
	must(t, s.RequestAs(`"mine"`, "tools/call", ide.ToolParams("rec__sleep", `{"ms":60000}`)))
	if !within(waitLimit, func() bool { return calls(w.recorded("rec"), "sleep") == 1 }) {
		t.Fatal("the call did not reach the child")
	}
	must(t, s.Notify("notifications/cancelled", `{"requestId":"mine","reason":"enough"}`))
	s.call("rec__echo", `{"text":"goes on"}`)
	if !within(5*time.Second, func() bool { return strings.Contains(w.recorded("rec"), `"notifications/cancelled"`) }) {
		t.Errorf("the child was not told:\n%s", w.recorded("rec"))
	}
	if strings.Contains(w.recorded("rec"), `"requestId":"mine"`) {
		t.Errorf("the child was told the client's id:\n%s", w.recorded("rec"))
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
	w := newWorld(t)
	s := w.serve(w.config(obj{"slow": w.recorder("slow"), "quick": w.recorder("quick")}), ide.Folders(w.project))
	s.initialize()
	s.awaitTool("slow__sleep")
	s.awaitTool("quick__echo")
	for range 120 {
		s.send("slow__sleep", `{"ms":60000}`)
	}
	begun := time.Now()
	s.call("quick__echo", `{"text":"quick"}`)
	s.request("ping", "")
	s.getRoots()
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("took %v behind 120 slow calls", took)
	}
	// They are under way, and the end of stdin must end them too.
	s.end(stopBound)
}
