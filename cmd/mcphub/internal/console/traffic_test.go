package console

import (
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"mcphub/hub/audit"
	"mcphub/hub/audit/trail"
)

func TestTraffic(t *testing.T) {
	t.Parallel()
	var tr traffic
	now := time.Date(2026, 5, 5, 12, 0, 2, 0, time.UTC)
	last := now.Add(-slotTime)
	decide := func(at time.Time, decision string) {
		e := trail.Event{Entry: audit.Entry{Kind: audit.KindDecision, Time: at}}
		e.Decision = decision
		tr.noteLine(e)
	}
	for range 40 {
		decide(last, "allow")
	}
	for range 10 {
		decide(last, "deny")
	}
	for i := range 2000 { // more than are kept
		tr.noteLine(trail.Event{Entry: audit.Entry{Kind: audit.KindOutcome, Time: last}, Result: audit.ResultOK, Outcomes: []audit.Outcome{{Micros: int64(1000 + i%3*1000)}}})
	}
	decide(last.Add(-100*slotTime), "allow")
	decide(last.Add(-slotCount*slotTime), "allow") // the slot of now was its own once, and is kept
	curves, _, _ := tr.drawCurves(now)
	if c := curves[0]; c.Last != "10" || c.Most != "10" || len(strings.Fields(c.Points)) != slotCount || !strings.HasSuffix(c.Points, "360,1") {
		t.Errorf("calls: %+v", c)
	}
	if c := curves[1]; c.Last != "2" {
		t.Errorf("refused: %+v", c)
	}
	if c := curves[2]; c.Last != "2" {
		t.Errorf("p50: %+v", c)
	}
	if n := len(tr.slots[(last.UnixNano()/int64(slotTime))%slotCount].took); n != maxTook {
		t.Errorf("%d times are kept", n)
	}
	curves, _, _ = tr.drawCurves(now.Add(time.Hour))
	if curves[0].Most != "0" || curves[2].Most != "0" {
		t.Errorf("an hour later: %+v", curves)
	}
}

// What is written to the record while the console runs is counted.
func TestTrafficFollows(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l, err := audit.Open(audit.Options{Dir: dir, Program: "test"})
	if err != nil {
		t.Fatal(err)
	}
	var tr traffic
	counted := make(chan time.Time, 1)
	started := make(chan struct{})
	done := make(chan error, 1)
	go func() {
		done <- trail.Follow(t.Context(), dir, func() { close(started) }, func(e trail.Event) {
			tr.noteLine(e)
			if e.Kind == audit.KindDecision {
				counted <- e.Time
			}
		})
	}()
	<-started
	if _, err := l.Put(audit.KindDecision, &audit.Record{Session: "s", DecisionFields: audit.DecisionFields{Child: "c", Tool: "t", Decision: "deny"}}, nil, time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := l.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	var at time.Time // the line's: a slot may have ended since
	select {
	case at = <-counted:
	case err := <-done:
		t.Fatal(err)
	}
	curves, _, _ := tr.drawCurves(at.Add(slotTime))
	if curves[0].Last != "0.2" || curves[1].Last != "0.2" {
		t.Errorf("%+v", curves)
	}
	if err := ended(l); err != nil {
		t.Fatal(err)
	}
}

func TestMemory(t *testing.T) {
	t.Parallel()
	got := memoryOf([]int{os.Getpid(), -1})
	if own := got[os.Getpid()]; (own > 1<<20) != (runtime.GOOS == "linux") || got[-1] != 0 {
		t.Errorf("%v", got)
	}
}
