package operation

import (
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"mcphub/e2e/bounds"
	"mcphub/e2e/ide"
	"mcphub/e2e/world"
)

// The end of stdin ends the hub and everything below it, whatever the children think of that. What was left would be found by
// the mark in its environment: see TestLeftOverProcessesAreFound.
func TestTheEndOfStdinEndsEverything(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	children := obj{
		"plain":  w.Recorder("plain"),
		"deaf":   w.Recorder("deaf", "-ignore-term"),
		"linger": w.Recorder("linger", "-linger"),
		"parent": w.Recorder("parent", "-grandchild"),
		"worst":  w.Recorder("worst", "-ignore-term", "-grandchild"),
	}
	if runtime.GOOS == "linux" {
		children["rogue"] = w.Recorder("rogue", "-rogue")
	}
	s := w.Serve(w.Config(children), ide.Folders(w.Project))
	s.Handshake()
	for _, child := range world.Names(children) {
		s.PIDOf(child)
	}
	before := world.Marked(t, s.Mark)
	if runtime.GOOS == "linux" && len(before) < 1+5+2 {
		t.Errorf("found %v, want the hub, five children and two grandchildren", before)
	}
	soon := s.SendCall("plain__sleep", `{"ms":100}`)
	never := s.SendCall("plain__sleep", `{"ms":60000}`)
	read := s.SendCall("plain__echo", `{"text":"read before the end"}`)
	closed := time.Now()
	world.Must(t, s.CloseInput())
	// Calls that were read get up to a second to answer.
	if r := s.AwaitCall(soon); r.Text != "slept" {
		t.Errorf("a call under way: %s", r.Raw)
	}
	if r := s.AwaitCall(read); !strings.Contains(r.Text, "read before the end") {
		t.Errorf("a call just read: %s", r.Raw)
	}
	s.End(world.StopBound)
	if took := time.Since(closed); took > world.StopBound {
		t.Errorf("all in all the end took %v", took)
	}
	for _, m := range s.Messages() {
		if m.IsAnswer() && string(m.ID) == never && m.Result != nil && strings.Contains(string(m.Result), "slept") {
			t.Errorf("a call of a minute was answered: %s", m.Raw)
		}
	}
}

// With nothing to wait for it ends at once: clients kill a server that lingers.
func TestAnIdleHubEndsAtOnce(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	s := w.Serve(w.Config(obj{"rec": w.Recorder("rec")}), ide.Folders(w.Project))
	s.Handshake()
	s.PIDOf("rec")
	if e := s.End(world.StopBound); e.Took > bounds.Of(1500*time.Millisecond) {
		t.Errorf("an idle hub took %v to end", e.Took)
	}
}

// It ends too when the client has gone in the middle of a child's start.
func TestTheEndDuringAStart(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	s := w.Serve(w.Config(obj{"rec": w.Recorder("rec", "-slow-start", "60s", "-ignore-term")}), ide.Folders(w.Project))
	s.Handshake()
	s.SendCall("rec__echo", `{}`)
	if !world.Within(world.WaitLimit, func() bool { return len(w.Starts("rec")) == 1 }) {
		t.Fatal("the child did not start")
	}
	s.End(world.StopBound)
}

// A signal ends it as the end of stdin does.
func TestASignalEndsEverything(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("no signals here")
	}
	for _, sig := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			w := world.New(t)
			s := w.Serve(w.Config(obj{"worst": w.Recorder("worst", "-ignore-term", "-grandchild")}), ide.Folders(w.Project))
			s.Handshake()
			s.PIDOf("worst")
			p, err := os.FindProcess(s.PID())
			world.Must(t, err)
			world.Must(t, p.Signal(sig))
			if !world.Within(world.StopBound, func() bool {
				select {
				case <-s.Exited():
					return true
				default:
					return false
				}
			}) {
				t.Errorf("still running %v after %v", world.StopBound, sig)
			}
			// Ending for a signal is no failure; 128 plus its number is what shells make of it.
			e := s.Close(world.StopBound)
			if !slices.Contains([]int{0, 130, 143}, e.Code) {
				t.Errorf("exit status %d", e.Code)
			}
			s.ExitStatus = e.Code
		})
	}
}
