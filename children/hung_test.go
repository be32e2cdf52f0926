package children_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mcphub/children"
	"mcphub/children/run"
	"mcphub/children/spec"
	"mcphub/e2e/childtest"
)

// A child that answers neither calls nor whether it is there is shown as hung and
// started again; all its calls end with that, and the next one is answered.
func TestHungChildIsStartedAgain(t *testing.T) {
	t.Parallel()
	for _, era := range []string{"", "modern"} {
		for how, args := range map[string]string{"it answers nothing": `{}`, "it reads nothing": `{"deaf":true}`} {
			t.Run(how+" "+era, func(t *testing.T) {
				w := newWatcher()
				bubble(t, w.watches(children.SupervisorOptions{Specs: []spec.Spec{childtest.Spec("kid", childtest.Script{Era: era})}}), func(t *testing.T, s *children.Supervisor, c *counter) {
					w.changed = make(chan struct{})
					s.Ensure(one, nil)
					l := acquire(t, s, one)
					defer l.Release()
					time.Sleep(time.Hour) // nothing waits: no one asks
					start := time.Now()
					ends := make(chan time.Duration, 3)
					var wg sync.WaitGroup
					call := func(tool, args string) {
						wg.Go(func() {
							_, err := callErr(t.Context(), l, tool, args)
							var gone *run.UnavailableError
							if !errors.As(err, &gone) || !strings.Contains(gone.Reason, "hung") {
								t.Errorf("%s: %v", tool, err)
							}
							ends <- time.Since(start)
						})
					}
					call("hang", args)
					time.Sleep(time.Minute)
					call("echo", `{}`)
					time.Sleep(time.Minute)
					call("echo", strings.Repeat(" ", 1<<20)+`{}`)
					if st := statusOf(t, s, "kid"); st.State != children.Hung || !strings.Contains(st.Err, "started again in") {
						t.Errorf("before it is over: %+v", st)
					}
					wg.Wait()
					for range 3 {
						if took := <-ends; took < 2*time.Minute || took > 4*time.Minute {
							t.Errorf("a call ended after %s", took)
						}
					}
					again := acquire(t, s, one)
					defer again.Release()
					if _, err := callErr(t.Context(), again, "echo", ""); err != nil {
						t.Errorf("after that: %v", err)
					}
					synctest.Wait() // the watcher is told beside the lease
					w.mu.Lock()
					defer w.mu.Unlock()
					if got := states(w.states[one.String()]); !strings.HasSuffix(got, "ready hung backing off starting ready") {
						t.Errorf("%s", got)
					}
				})
			})
		}
	}
}

func states(all []children.State) string {
	var out []string
	for _, st := range all {
		out = append(out, st.String())
	}
	return strings.Join(out, " ")
}

// Slow is not hung: a child that says that it is there keeps its calls, for as long
// as they may take.
func TestSlowChildIsLeftAlone(t *testing.T) {
	t.Parallel()
	for _, era := range []string{"", "modern"} {
		for _, limit := range []time.Duration{time.Hour, -1} {
			child := childtest.Spec("kid", childtest.Script{Era: era})
			child.CallTimeout = limit
			bubble(t, children.SupervisorOptions{Specs: []spec.Spec{child}}, func(t *testing.T, s *children.Supervisor, c *counter) {
				s.Ensure(one, nil)
				l := acquire(t, s, one)
				defer l.Release()
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error)
				go func() {
					_, err := callErr(ctx, l, "sleep", "")
					done <- err
				}()
				time.Sleep(50 * time.Minute)
				if st := statusOf(t, s, "kid"); st.State != children.Ready || st.Err != "" {
					t.Errorf("%+v", st)
				}
				cancel()
				if err := <-done; !errors.Is(err, context.Canceled) {
					t.Errorf("%v", err)
				}
				if _, _, total := c.counts(); total != 1 {
					t.Errorf("it was started %d times", total)
				}
			})
		}
	}
}

// A child that is busy with a call, and answers nothing meanwhile, is shown as hung
// and left alone while there is time.
func TestBusyChildIsShownAndLeftAlone(t *testing.T) {
	t.Parallel()
	w := newWatcher()
	bubble(t, w.watches(children.SupervisorOptions{Specs: []spec.Spec{childtest.Spec("kid", childtest.Script{})}}), func(t *testing.T, s *children.Supervisor, c *counter) {
		w.changed = make(chan struct{})
		s.Ensure(one, nil)
		l := acquire(t, s, one)
		defer l.Release()
		if got, err := callErr(t.Context(), l, "echo", `{"busy":"2m"}`); err != nil || !strings.Contains(got, "busy") {
			t.Errorf("%s, %v", got, err)
		}
		synctest.Wait()
		w.mu.Lock()
		defer w.mu.Unlock()
		if got := states(w.states[one.String()]); got != "starting ready hung ready" {
			t.Errorf("%s", got)
		}
		if st := statusOf(t, s, "kid"); st.Err != "" || st.Restarts != 0 {
			t.Errorf("%+v", st)
		}
	})
}

// Calls that are shorter than all that: the child is asked when one has ended in
// vain, and its later calls do not each wait for their time.
func TestHungChildWithShortCalls(t *testing.T) {
	t.Parallel()
	child := childtest.Spec("kid", childtest.Script{})
	child.CallTimeout = 5 * time.Second
	bubble(t, children.SupervisorOptions{Specs: []spec.Spec{child}}, func(t *testing.T, s *children.Supervisor, c *counter) {
		s.Ensure(one, nil)
		failed := 0
		for i := range 20 {
			l := acquire(t, s, one)
			tool := "echo"
			if i == 0 {
				tool = "hang"
			}
			if _, err := callErr(t.Context(), l, tool, ""); err != nil {
				failed++
			}
			l.Release()
		}
		if failed > 5 {
			t.Errorf("%d of 20 calls failed", failed)
		}
		if _, _, total := c.counts(); total != 2 {
			t.Errorf("it was started %d times", total)
		}
		synctest.Wait()
	})
}
