package e2e

import (
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"mcphub/e2e/ide"
)

// The end of stdin ends the hub and everything below it, whatever the children think of that. What was left would be found by
// the mark in its environment: see TestLeftOverProcessesAreFound.
func TestTheEndOfStdinEndsEverything(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.serve(w.config(obj{
		"plain":  w.recorder("plain"),
		"deaf":   w.recorder("deaf", "-ignore-term"),
		"linger": w.recorder("linger", "-linger"),
		"parent": w.recorder("parent", "-grandchild"),
		"worst":  w.recorder("worst", "-ignore-term", "-grandchild"),
	}), ide.Folders(w.project))
	s.initialize()
	for _, child := range []string{"plain", "deaf", "linger", "parent", "worst"} {
		s.pid(child)
	}
	before := marked(t, s.mark)
	if runtime.GOOS == "linux" && len(before) < 1+5+2 {
		t.Errorf("found %v, want the hub, five children and two grandchildren", before)
	}
	soon := s.send("plain__sleep", `{"ms":500}`)
	never := s.send("plain__sleep", `{"ms":60000}`)
	read := s.send("plain__echo", `{"text":"read before the end"}`)
	closed := time.Now()
	must(t, s.CloseInput())
	// Calls that were read get up to a second to answer.
	if r := s.await(soon); r.Text != "slept" {
		t.Errorf("a call under way: %s", r.Raw)
	}
	if r := s.await(read); !strings.Contains(r.Text, "read before the end") {
		t.Errorf("a call just read: %s", r.Raw)
	}
	s.end(stopBound)
	if took := time.Since(closed); took > stopBound {
		t.Errorf("all in all the end took %v", took)
	}
	for _, m := range s.Messages() {
		if m.IsAnswer() && string(m.ID) == never && m.Result != nil && strings.Contains(string(m.Result), "slept") {
			t.Errorf("a call of a minute was answered: %s", m.Raw)
		}
	}
}

// The whole bound counts from the end of stdin, with a call that takes its second and a child that takes its ladder.
func TestTheWholeEndIsBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.serve(w.config(obj{"worst": w.recorder("worst", "-ignore-term", "-grandchild")}), ide.Folders(w.project))
	s.initialize()
	s.pid("worst")
	s.send("worst__sleep", `{"ms":60000}`)
	s.request("ping", "")
	t.Logf("ended after %v", s.end(stopBound).Took)
}

// With nothing to wait for it ends at once: clients kill a server that lingers.
func TestAnIdleHubEndsAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.serve(w.config(obj{"rec": w.recorder("rec")}), ide.Folders(w.project))
	s.initialize()
	s.pid("rec")
	if e := s.end(stopBound); e.Took > 1500*time.Millisecond {
		t.Errorf("an idle hub took %v to end", e.Took)
	}
}

func TestStdinThatEndsAtOnceEndsTheHub(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.serve(w.config(obj{"rec": w.recorder("rec", "-slow-start", "30s")}), ide.Folders(w.project))
	s.end(stopBound)
}

// It ends too when the client has gone in the middle of a child's start.
func TestTheEndDuringAStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.serve(w.config(obj{"rec": w.recorder("rec", "-slow-start", "60s", "-ignore-term")}), ide.Folders(w.project))
	s.initialize()
	s.send("rec__echo", `{}`)
	if !within(waitLimit, func() bool { return len(w.starts("rec")) == 1 }) {
		t.Fatal("the child did not start")
	}
	s.end(stopBound)
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
			w := newWorld(t)
			s := w.serve(w.config(obj{"worst": w.recorder("worst", "-ignore-term", "-grandchild")}), ide.Folders(w.project))
			s.initialize()
			s.pid("worst")
			p, err := os.FindProcess(s.PID())
			must(t, err)
			must(t, p.Signal(sig))
			if !within(stopBound, func() bool {
				select {
				case <-s.Exited():
					return true
				default:
					return false
				}
			}) {
				t.Errorf("still running %v after %v", stopBound, sig)
			}
			// Ending for a signal is no failure; 128 plus its number is what shells make of it.
			e := s.Close(stopBound)
			if !slices.Contains([]int{0, 130, 143}, e.Code) {
				t.Errorf("exit status %d", e.Code)
			}
			s.exitStatus = e.Code
		})
	}
}

// Even a hub that is killed outright takes its children with it, those too that care neither for the end of stdin nor for TERM
// (C6). What such a child has started itself is not proved here: nobody is left to signal the group.
func TestAKilledHubLeavesNothing(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux says whose environment holds what")
	}
	w := newWorld(t)
	s := w.serve(w.config(obj{"plain": w.recorder("plain"), "worst": w.recorder("worst", "-ignore-term")}), ide.Folders(w.project))
	s.exitStatus = -1
	s.initialize()
	s.pid("plain")
	s.pid("worst")
	p, err := os.FindProcess(s.PID())
	must(t, err)
	must(t, p.Kill())
	if !within(stopBound, func() bool { return len(marked(t, s.mark)) == 0 }) {
		t.Errorf("left behind by a killed hub: %v", marked(t, s.mark))
	}
}
