package children_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"mcphub/children"
	"mcphub/children/spec"
	"mcphub/e2e/childtest"
	"mcphub/rootsmgr/guard"
)

// Every line of stderr is handed on as plain text with its process, also the
// ones that are too many for the log, and a run that failed is remembered
// after the next has started.
func TestStderrIsHandedOn(t *testing.T) {
	t.Parallel()
	const lines = 500
	var mu sync.Mutex
	var said []string
	pids := map[int]bool{}
	began := time.Now()
	w := newWatcher()
	s := start(t, w, children.SupervisorOptions{
		Specs: []spec.Spec{childtest.Spec("kid", childtest.Script{FloodStderr: lines})},
		OnStderr: func(k spec.Key, pid int, line string) {
			mu.Lock()
			defer mu.Unlock()
			if k != one {
				t.Errorf("said by %v", k)
			}
			said = append(said, line)
			pids[pid] = true
		},
	})
	s.Ensure(one, []guard.Root{})
	l := acquire(t, s, one)
	pid := statusOf(t, s, "kid").PID
	if _, err := callErr(t.Context(), l, "exit", `{"code":7}`); err == nil {
		t.Fatal("control: it did not die")
	}
	l.Release()
	w.until(t, "it backs off", func() bool {
		return len(w.states[one.String()]) > 0 && last(w.states[one.String()]) == children.BackingOff
	})
	mu.Lock()
	if len(said) < lines || !strings.HasPrefix(said[0], "line 0 of a flood") || strings.ContainsAny(strings.Join(said, ""), "\x1b\x07\n") {
		t.Errorf("%d lines, the first %q", len(said), said[:min(1, len(said))])
	}
	if !pids[pid] || len(pids) != 1 {
		t.Errorf("of processes %v, not of %d", pids, pid)
	}
	mu.Unlock()
	acquire(t, s, one)
	st := statusOf(t, s, "kid")
	if st.State != children.Ready || st.Err != "" || !strings.Contains(st.LastFailure, "exited with status 7") || st.FailedAt.Before(began) {
		t.Errorf("after it was started again: %+v, last failure %q at %s", st, st.LastFailure, st.FailedAt)
	}
}

func last(all []children.State) children.State { return all[len(all)-1] }
