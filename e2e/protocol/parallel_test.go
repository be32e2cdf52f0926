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
