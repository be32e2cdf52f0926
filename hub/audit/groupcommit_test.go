package audit_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"mcphub/hub/audit"
	"mcphub/hub/audit/trail"
)

// A groupHub is a GroupCommit whose file a test can fill up, or hold.
type groupHub struct {
	audit.GroupCommit
	dir   string
	write func(f io.Writer, b []byte) (int, error)
	stop  func()
}

func newGroupHub(t *testing.T, write func(f io.Writer, b []byte) (int, error)) *groupHub {
	t.Helper()
	h := &groupHub{dir: filepath.Join(t.TempDir(), "audit"), write: write}
	r := audit.NewRecorder(audit.Options{Dir: h.dir, Write: func(f io.Writer, b []byte) (int, error) { return h.write(f, b) }}, nil)
	if err := r.Open(); err != nil {
		t.Fatal(err)
	}
	h.stop = runRecorder(t, r)
	h.To = r
	return h
}

// lines returns the file as it is now.
func (h *groupHub) lines(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(h.dir, h.To.State().Log+audit.LogEnding))
	if err != nil {
		t.Error(err)
	}
	return string(b)
}

type memberFunc func(t audit.Ticket, err error)

func (f memberFunc) Recorded(t audit.Ticket, err error) { f(t, err) }

func one(id string) audit.CallRecord {
	return audit.CallRecord{Session: "s", Request: []byte(`"` + id + `"`), Encoded: audit.EncodeDecision(&audit.DecisionFields{Child: "kid", Tool: "echo", Decision: "allow"})}
}

func plainly(f io.Writer, b []byte) (int, error) { return f.Write(b) }

// TestAGroupWritesFirst: by the time that a member is told, its line can be read;
// and what a line was made of may be used for something else before it is written.
func TestAGroupWritesFirst(t *testing.T) {
	t.Parallel()
	h := newGroupHub(t, plainly)
	const callers, times = 16, 20
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			for k := range times {
				line := one(fmt.Sprintf("(%d.%d)", i, k))
				mark := string(line.Request)
				told := make(chan error, 1)
				h.Add(line, memberFunc(func(ticket audit.Ticket, err error) {
					if !strings.Contains(h.lines(t), mark) {
						err = errors.Join(err, errors.New("it was told before it was written"))
					}
					ticket.RecordOutcome(audit.ResultOK)
					told <- err
				}))
				copy(line.Request, "another request that came in the same buffer")
				h.Flush()
				if err := <-told; err != nil {
					t.Error(mark, err)
				}
			}
		})
	}
	all.Wait()
	h.stop()
	whole(t, h.dir)
	decided, err := trail.Decisions(h.dir, trail.Filter{})
	if err != nil || len(decided) != callers*times {
		t.Errorf("%d decisions, %v", len(decided), err)
	}
	for _, d := range decided {
		if d.Outcome == nil || d.Outcome.Result != audit.ResultOK {
			t.Errorf("%s: %+v", d.Request, d.Outcome)
		}
	}
}

// TestAGroupGathers: who comes while a line is being written is in the next one,
// all of them together, and waits for nothing.
func TestAGroupGathers(t *testing.T) {
	t.Parallel()
	writing, free := make(chan struct{}, 100), make(chan struct{})
	h := newGroupHub(t, func(f io.Writer, b []byte) (int, error) {
		if strings.Contains(string(b), "first") {
			writing <- struct{}{}
			<-free
		}
		return f.Write(b)
	})
	together := 0
	h.InBatch = func(tell func()) { tell(); together++ }
	told := make(chan string, 100)
	add := func(id string) {
		h.Add(one(id), memberFunc(func(_ audit.Ticket, err error) { told <- id }))
		h.Flush()
	}
	var leader sync.WaitGroup
	leader.Go(func() { add("first") })
	<-writing
	for i := range 2*audit.MaxTogether + 1 {
		add(fmt.Sprint(i))
	}
	if n := h.Waiting(); n != 2*audit.MaxTogether+1 || len(told) != 0 {
		t.Errorf("%d wait, %d were told", n, len(told))
	}
	close(free)
	for i := range 2*audit.MaxTogether + 2 {
		id := <-told
		if want := fmt.Sprint(i - 1); i > 0 && id != want {
			t.Errorf("%s was told, want %s", id, want)
		}
	}
	leader.Wait()
	if n := strings.Count(h.lines(t), `"kind":"decision"`); n != 4 || together != 4 {
		t.Errorf("%d lines, told together %d times, want 4", n, together)
	}
}

// TestAGroupThatFails: a disk that is full, a member that panics and a record that
// does each leave no one waiting, and the one who comes next is recorded.
func TestAGroupThatFails(t *testing.T) {
	t.Parallel()
	var full atomic.Bool
	h := newGroupHub(t, func(f io.Writer, b []byte) (int, error) {
		if full.Load() {
			return 0, syscall.ENOSPC
		}
		return f.Write(b)
	})
	panics := 0
	h.Panicked = func(any) { panics++ }
	round := func(tell ...func(audit.Ticket, error)) (errs []error) {
		for i := range 3 {
			h.Add(one(fmt.Sprint(i)), memberFunc(func(ticket audit.Ticket, err error) {
				errs = append(errs, err)
				if i < len(tell) && err == nil {
					tell[i](ticket, err)
				}
			}))
		}
		h.Flush()
		return errs
	}
	got := round(func(audit.Ticket, error) {}, func(audit.Ticket, error) { panic("a member") })
	if len(got) != 4 || got[0] != nil || got[1] != nil || got[2] != audit.ErrGroup || got[3] != nil || panics != 1 {
		t.Errorf("a member: %v, %d panics", got, panics)
	}
	h.InBatch = func(func()) { panic("what they have together") }
	if got := round(); len(got) != 3 || got[2] != nil || panics != 2 {
		t.Errorf("together: %v, %d panics", got, panics)
	}
	h.InBatch = nil
	to := h.To
	h.To = nil
	if got := round(); len(got) != 3 || got[0] != audit.ErrGroup || got[2] != audit.ErrGroup || panics != 3 {
		t.Errorf("the record: %v, %d panics", got, panics)
	}
	h.To = to
	if got := round(); len(got) != 3 || got[0] != nil || got[2] != nil {
		t.Errorf("after that: %v", got)
	}
	full.Store(true)
	if got := round(); len(got) != 3 || !errors.Is(got[0], syscall.ENOSPC) || !errors.Is(got[2], syscall.ENOSPC) {
		t.Errorf("full: %v", got)
	}
	full.Store(false)
}

// TestAGroupOfSeveralSessions: calls of several sessions that come together are written
// at once, those of each session in a line of their own, and each gets its own outcome.
func TestAGroupOfSeveralSessions(t *testing.T) {
	t.Parallel()
	writes := 0
	h := newGroupHub(t, func(f io.Writer, b []byte) (int, error) {
		if strings.Contains(string(b), `"kind":"decision"`) {
			writes++
		}
		return f.Write(b)
	})
	result := map[string]string{"a": audit.ResultOK, "b": audit.ResultToolError, "c": audit.ResultTimeout}
	var order []string
	for _, session := range []string{"b", "a", "b", "c", "a", "b"} {
		line := one(fmt.Sprint(session, len(order)))
		line.Session = session
		order = append(order, session)
		h.Add(line, memberFunc(func(ticket audit.Ticket, err error) {
			if err != nil {
				t.Error(err)
			}
			ticket.RecordOutcome(result[session])
		}))
	}
	h.Flush()
	if n := strings.Count(h.lines(t), `"kind":"decision"`); n != 3 || writes != 1 {
		t.Errorf("%d lines in %d writes, want 3 in 1", n, writes)
	}
	h.stop()
	whole(t, h.dir)
	decided, err := trail.Decisions(h.dir, trail.Filter{})
	if err != nil || len(decided) != len(order) {
		t.Fatalf("%d decisions, %v", len(decided), err)
	}
	for _, d := range decided {
		if session := string(d.Request[1:2]); d.Session != session || d.Outcome == nil || d.Outcome.Result != result[session] {
			t.Errorf("%s of %s: %+v", d.Request, d.Session, d.Outcome)
		}
	}
}

// If no log is open there are no tickets, and each member is told why, once.
func TestAGroupWithoutALog(t *testing.T) {
	t.Parallel()
	g := audit.GroupCommit{To: audit.NewRecorder(audit.Options{Dir: t.TempDir()}, nil), Panicked: func(p any) { t.Errorf("it panicked: %v", p) }}
	told := 0
	for range 3 {
		g.Add(one("x"), memberFunc(func(ticket audit.Ticket, err error) {
			if told++; err == nil || errors.Is(err, audit.ErrGroup) || ticket != (audit.Ticket{}) {
				t.Errorf("%v, %v", ticket, err)
			}
		}))
	}
	g.Flush()
	if told != 3 || g.To.State().Unrecorded != 3 {
		t.Errorf("%d were told, %d are counted", told, g.To.State().Unrecorded)
	}
}
