package protocol

import (
	"strings"
	"testing"
	"time"

	"mcphub/e2e/bounds"
	"mcphub/e2e/ide"
	"mcphub/e2e/world"
)

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
