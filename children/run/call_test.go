package run_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcphub/children/link"
	"mcphub/children/process"
	"mcphub/children/run"
	"mcphub/children/spec"
	"mcphub/e2e/childtest"
	"mcphub/internal/jsonrpc"
)

// What a failed call says depends on what became of the child, and on whom that is told.
func TestWhyACallFailed(t *testing.T) {
	t.Parallel()
	exit := &process.ExitError{Text: "exited with status 7", Code: 7}
	lost := &link.LostError{Host: "example.com", Err: errors.New("no route")}
	refused := &link.StatusError{Code: 500}
	broken := &jsonrpc.BrokenError{Reason: "half a line"}
	gone := &jsonrpc.ClosedError{Reason: errors.New("end of file"), Unsent: true}
	for name, tc := range map[string]struct {
		fails error // of the ChildConnection
		dies  error // so the child ends then
		hung  bool  // it is stopped, since it answers nothing
		holds bool  // it does not end when it is stopped

		same   bool // the call returns the error of the ChildConnection
		reason string
		is     error // that the error holds
		ends   bool
		takes  time.Duration
	}{
		"an answer that cannot be read": {fails: broken, same: true},
		"a status":                      {fails: refused, same: true},
		"the connection broke":          {fails: lost, reason: "no route; the next call connects again", is: lost, ends: true},
		"it does not stop":              {fails: lost, holds: true, reason: "; the next call connects again", is: lost, takes: 2500 * time.Millisecond},
		"it exited":                     {fails: gone, dies: exit, reason: "exited with status 7; the next call starts it again, after a delay if it ends again and again", is: exit, ends: true},
		"it closed its input":           {fails: gone, reason: "was stopped during the call; the next call starts it again", is: gone, ends: true, takes: time.Second},
		"and does not stop":             {fails: gone, holds: true, reason: "end of file", is: gone, takes: 3500 * time.Millisecond},
		"it hung":                       {fails: gone, hung: true, reason: "hung: it answered neither", is: run.ErrHung, ends: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWire()
			w.holds = tc.holds
			bubble(t, options(spec.Spec{}), onWire(w), func(t *testing.T, k *kid) {
				defer close(w.hold)
				fail := func() error {
					if tc.dies != nil {
						w.ended <- tc.dies
					}
					if tc.hung {
						k.StopHung()
					}
					return tc.fails
				}
				w.call = func(context.Context, string, string) (string, error) { return "", fail() }
				w.notify = func(string) error { return fail() }
				start := time.Now()
				_, err := k.Call(t.Context(), "tools/call")
				if took := time.Since(start); took != tc.takes {
					t.Errorf("it took %s", took)
				}
				var down *run.UnavailableError
				switch is := errors.As(err, &down); {
				case tc.same:
					if err != tc.fails {
						t.Errorf("%v", err)
					}
				case !is || down.Child != "kid" || !errors.Is(err, tc.is) || down.Unsent != (tc.fails == gone):
					t.Errorf("%T %+v", err, err)
				default:
					contains(t, "reason", down.Reason, tc.reason)
				}
				if k.HasEnded() != tc.ends || k.Enter() == tc.ends {
					t.Errorf("has ended: %t", k.HasEnded())
				}
				if err := k.Notify(t.Context(), "notifications/x"); tc.same && err != tc.fails || !tc.same && !errors.As(err, new(*run.UnavailableError)) {
					t.Errorf("a notification: %v", err)
				}
				if k.HasEnded() && k.Err() != tc.dies {
					t.Errorf("it ended by %v", k.Err())
				}
				want := "closed its input"
				if tc.dies != nil {
					want = tc.dies.Error()
				}
				if got := k.Reason(); got != want {
					t.Errorf("the reason is %q", got)
				}
			})
		})
	}
}

// A cancelled call returns the reason of its context, also if an answer came first.
func TestCancelledCall(t *testing.T) {
	t.Parallel()
	why := errors.New("the person thought better of it")
	for name, err := range map[string]error{"answered": nil, "closed": &jsonrpc.ClosedError{Reason: errors.New("end of file")}} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			w := newWire()
			w.call = func(context.Context, string, string) (string, error) { cancel(why); return "{}", err }
			bubble(t, options(spec.Spec{}), onWire(w), func(t *testing.T, k *kid) {
				if _, err := k.Call(ctx, "tools/call"); err != why {
					t.Errorf("%v", err)
				}
				if k.HasEnded() {
					t.Error("the run has ended for it")
				}
			})
		})
	}
}

func TestCancelReachesTheChild(t *testing.T) {
	t.Parallel()
	bubble(t, options(spec.Spec{}), openPipe(childtest.Script{}), func(t *testing.T, k *kid) {
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("the person thought better of it")
		done := make(chan error)
		go func() {
			_, err := k.tool(ctx, "sleep", "{}")
			done <- err
		}()
		synctest.Wait()
		cancel(why)
		if err := <-done; !errors.Is(err, why) {
			t.Errorf("error: %v", err)
		}
		synctest.Wait()
		if got, err := k.tool(t.Context(), "noticed", "{}"); err != nil || strings.Count(got, "cancelled") != 1 {
			t.Errorf("the child noticed %q, %v", got, err)
		}
	})
}

func TestBrokenAnswer(t *testing.T) {
	t.Parallel()
	bubble(t, options(spec.Spec{}), openPipe(childtest.Script{}), func(t *testing.T, k *kid) {
		var broken *jsonrpc.BrokenError
		if _, err := k.tool(t.Context(), "broken", "{}"); !errors.As(err, &broken) {
			t.Errorf("error: %v", err)
		}
		if _, err := k.tool(t.Context(), "echo", "{}"); err != nil {
			t.Error(err)
		}
	})
}

// A call ends when the child was silent about it for so long. Each progress notification starts the time again.
func TestCallTimeoutAndProgress(t *testing.T) {
	t.Parallel()
	const limit = 2 * time.Second
	bubble(t, options(spec.Spec{CallTimeout: limit}), openPipe(childtest.Script{}), func(t *testing.T, k *kid) {
		start := time.Now()
		var late *run.TimeoutError
		if _, err := k.tool(t.Context(), "sleep", "{}"); !errors.As(err, &late) || *late != (run.TimeoutError{Child: "kid", Method: "tools/call", After: limit}) || !late.Timeout() {
			t.Errorf("error: %v", err)
		}
		if took := time.Since(start); took != limit {
			t.Errorf("it took %s", took)
		}
		steps := func(token string) []byte {
			return []byte(`{"name":"progress","arguments":{"steps":8,"every":1000000000},"_meta":{"progressToken":` + token + `}}`)
		}
		if _, err := said(k.Call(t.Context(), "tools/call", steps(`"t-1"`)[:30], steps(`"t-1"`)[30:])); err != nil {
			t.Errorf("a call that reports progress ended: %v", err)
		}
		if n := strings.Count(strings.Join(k.noted(), " "), `"progressToken":"t-1"`); n != 8 {
			t.Errorf("%d progress notifications were handed on", n)
		}
		if _, err := said(k.Call(run.WithProgressToken(t.Context(), []byte(`"t-2"`)), "tools/call", steps(`"t-2"`))); err != nil {
			t.Errorf("with a token told: %v", err)
		}
		// The control: progress for another call does not prolong this one.
		if _, err := k.Call(run.WithProgressToken(t.Context(), nil), "tools/call", steps(`"t-3"`)); !errors.As(err, &late) {
			t.Errorf("control: %v", err)
		}
		if _, err := k.Call(t.Context(), "tools/call", []byte(`{"name":"progress","arguments":{"steps":8,"every":1000000000,"progressToken":"t-4"}}`)); !errors.As(err, &late) {
			t.Errorf("a token elsewhere: %v", err)
		}
	})
}

// Some calls have no limit: calls of an entry without one, and calls that wait for something else.
func TestCallsWithoutALimit(t *testing.T) {
	t.Parallel()
	for _, limit := range []time.Duration{-1, time.Second} {
		bubble(t, options(spec.Spec{CallTimeout: limit}), openPipe(childtest.Script{}), func(t *testing.T, k *kid) {
			ctx := t.Context()
			if limit > 0 {
				ctx = run.WithoutTimeout(ctx)
			}
			ctx, cancel := context.WithTimeout(ctx, 100*time.Hour)
			defer cancel()
			if _, err := k.tool(ctx, "sleep", "{}"); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("with a limit of %s: %v", limit, err)
			}
		})
	}
}
