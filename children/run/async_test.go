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
	"mcphub/internal/jsonrpc/lines"
)

// told is a ResponseHandler that notes what it is told.
type told chan outcome

type outcome struct {
	result string
	err    error
}

func (c told) OnResponse(res *jsonrpc.Response, err error) {
	if err != nil {
		c <- outcome{err: err}
		return
	}
	c <- outcome{result: string(res.Result)}
}

// starts starts a call of a tool, and fails the test if it is not started.
func (k *kid) starts(c *run.AsyncCall, tool, args, token string) told {
	k.t.Helper()
	to := make(told, 2)
	var raw []byte
	if token != "" {
		raw = []byte(token)
	}
	if !k.StartCall(c, to, nil, "tools/call", raw, []byte(`{"name":"`+tool+`","arguments":`+args+`,"_meta":{"progressToken":`), []byte(`"t-1"}}`)) {
		k.t.Error("it was not started")
	}
	return to
}

func TestStartCall(t *testing.T) {
	t.Parallel()
	const limit = 2 * time.Second
	bubble(t, options(spec.Spec{CallTimeout: limit}), openPipe(childtest.Script{}), func(t *testing.T, k *kid) {
		if !k.CanStart() {
			t.Fatal("this transport has it")
		}
		if got := <-k.starts(&run.AsyncCall{}, "echo", `{"n":1}`, ""); !strings.Contains(got.result, `{"n":1}`) {
			t.Errorf("%+v", got)
		}
		var batch lines.Batch
		to := make(told, 2)
		batch.Do(func(b *lines.Batch) {
			for range 2 {
				if !k.StartCall(&run.AsyncCall{}, to, b, "tools/call", nil, []byte(`{"name":"echo","arguments":{}}`)) {
					t.Error("in a batch it was not started")
				}
			}
		})
		for range 2 {
			if got := <-to; got.err != nil {
				t.Errorf("in a batch: %v", got.err)
			}
		}
		if got := <-k.starts(&run.AsyncCall{}, "broken", `{}`, ""); !errors.As(got.err, new(*jsonrpc.BrokenError)) {
			t.Errorf("broken: %+v", got)
		}

		start := time.Now()
		var late *run.TimeoutError
		if got := <-k.starts(&run.AsyncCall{}, "sleep", `{}`, ""); !errors.As(got.err, &late) || *late != (run.TimeoutError{Child: "kid", Method: "tools/call", After: limit}) || time.Since(start) != limit {
			t.Errorf("after %s: %+v", time.Since(start), got)
		}
		if got := <-k.starts(&run.AsyncCall{}, "progress", `{"steps":8,"every":1000000000}`, `"t-1"`); got.err != nil {
			t.Errorf("a call that reports progress ended: %+v", got)
		}
		if got := <-k.starts(&run.AsyncCall{}, "progress", `{"steps":8,"every":1000000000}`, ""); !errors.As(got.err, &late) {
			t.Errorf("control: %+v", got)
		}

		why := errors.New("the person thought better of it")
		c := &run.AsyncCall{}
		to = k.starts(c, "sleep", `{}`, "")
		synctest.Wait()
		c.Abandon(why)
		if got := <-to; got.err != why {
			t.Errorf("abandoned: %+v", got)
		}
		synctest.Wait()
		if got, err := k.tool(t.Context(), "noticed", "{}"); err != nil || strings.Count(got, "cancelled") != 3 { // two ended by their time
			t.Errorf("the child noticed %q, %v", got, err)
		}
		if waited, _ := k.Timers.Waited(time.Now().Add(time.Hour)); waited != 0 || len(to) != 0 {
			t.Errorf("one has not ended, and waits for %s; %d were told twice", waited, len(to))
		}
	})
}

// A call that is started without a limit goes on until it is given up.
func TestStartCallWithoutALimit(t *testing.T) {
	t.Parallel()
	bubble(t, options(spec.Spec{CallTimeout: -1}), openPipe(childtest.Script{}), func(t *testing.T, k *kid) {
		c := &run.AsyncCall{}
		to := k.starts(c, "sleep", `{}`, "")
		time.Sleep(100 * time.Hour)
		if len(to) != 0 {
			t.Errorf("it ended: %+v", <-to)
		}
		c.Abandon(errStopped)
		if got := <-to; got.err != errStopped {
			t.Errorf("%+v", got)
		}
	})
}

// If the child ends, the call gets the reason. What cannot be sent is not started, and nothing waits for it.
func TestStartCallOfAChildThatEnds(t *testing.T) {
	t.Parallel()
	var child *pipe
	open := func(h jsonrpc.Handler) (link.ChildConnection, error) {
		l, err := openPipe(childtest.Script{})(h)
		child = l.(*pipe)
		return l, err
	}
	bubble(t, options(spec.Spec{}), open, func(t *testing.T, k *kid) {
		to := k.starts(&run.AsyncCall{}, "sleep", `{}`, "")
		synctest.Wait()
		child.end()
		got := <-to
		var down *run.UnavailableError
		var exit *process.ExitError
		if !errors.As(got.err, &down) || !errors.As(got.err, &exit) || !strings.HasPrefix(down.Reason, "exited with status 7") {
			t.Errorf("%+v", got)
		}
		if k.StartCall(&run.AsyncCall{}, to, nil, "tools/call", nil, []byte(`{}`)) {
			t.Error("it was started after the end")
		}
		synctest.Wait()
		if waited, _ := k.Timers.Waited(time.Now().Add(time.Hour)); waited != 0 || len(to) != 0 {
			t.Errorf("one waits for %s, %d were told", waited, len(to))
		}
	})
}

// Not every transport can send a call without waiting.
func TestCallsThatCannotBeStarted(t *testing.T) {
	t.Parallel()
	bubble(t, options(spec.Spec{}), onWire(newWire()), func(t *testing.T, k *kid) {
		if k.CanStart() || k.StartCall(&run.AsyncCall{}, make(told), nil, "tools/call", nil) {
			t.Error("it was started")
		}
	})
}

// A child without a handshake is told with each call for whom it is, and its results are held against its version.
func TestStartCallWithoutAHandshake(t *testing.T) {
	t.Parallel()
	bubble(t, options(spec.Spec{Era: spec.EraModern}), openPipe(childtest.Script{Era: "modern"}), func(t *testing.T, k *kid) {
		k.profile.Capabilities = []byte(`{"sampling":{}}`)
		if _, err := k.Connect(t.Context(), run.Try{ModernFirst: true}, func() {}); err != nil || !k.IsModern() || !k.CanStart() {
			t.Fatalf("%v, without a handshake: %t", err, k.IsModern())
		}
		if got := <-k.starts(&run.AsyncCall{}, "meta", `{}`, ""); !strings.Contains(got.result, `"sampling":{}`) {
			t.Errorf("%+v", got)
		}
		c := &run.AsyncCall{}
		c.SetClient(link.ClientProfile{Capabilities: []byte(`{"elicitation":{}}`)})
		if got := <-k.starts(c, "meta", `{}`, ""); !strings.Contains(got.result, `"elicitation":{}`) || strings.Contains(got.result, `"sampling"`) {
			t.Errorf("of another client: %+v", got)
		}
		if got := <-k.starts(&run.AsyncCall{}, "kind", `{"type":"\"strange\""}`, ""); !errors.As(got.err, new(*jsonrpc.BrokenError)) {
			t.Errorf("a result of another version: %+v", got)
		}
		c = &run.AsyncCall{}
		to := k.starts(c, "sleep", `{}`, "")
		synctest.Wait()
		c.Abandon(errStopped)
		if got := <-to; got.err != errStopped {
			t.Errorf("abandoned: %+v", got)
		}
		to = make(told, 1)
		if k.StartCall(&run.AsyncCall{}, to, nil, "tools/call", nil, []byte(`[]`)) {
			t.Error("params that are no object have no place for that, and were sent")
		}
		if waited, _ := k.Timers.Waited(time.Now().Add(time.Hour)); waited != 0 || len(to) != 0 {
			t.Errorf("one waits for %s, %d were told", waited, len(to))
		}
		if _, ok := k.WatchTask(t.Context(), "quiet"); ok {
			t.Error("it tells nothing of that task")
		}
	})
}

// A child without a handshake is told that it may ask for roots, unless it is given none.
func TestRootsWithoutAHandshake(t *testing.T) {
	t.Parallel()
	for mode, told := range map[spec.RootsMode]bool{spec.RootsAuto: true, spec.RootsNone: false} {
		bubble(t, options(spec.Spec{Era: spec.EraModern, Roots: mode}), openPipe(childtest.Script{Era: "modern"}), func(t *testing.T, k *kid) {
			if _, err := k.Connect(t.Context(), run.Try{ModernFirst: true}, func() {}); err != nil {
				t.Fatal(err)
			}
			if got := <-k.starts(&run.AsyncCall{}, "meta", `{}`, ""); got.err != nil || strings.Contains(got.result, `"roots":{}`) != told {
				t.Errorf("%q: %+v", mode, got)
			}
		})
	}
}

// Only a child without a handshake reports the state of its tasks.
func TestWatchTask(t *testing.T) {
	t.Parallel()
	bubble(t, options(spec.Spec{}), onWire(newWire()), func(t *testing.T, k *kid) {
		if _, ok := k.WatchTask(context.Background(), "t"); ok || k.IsModern() {
			t.Error("a child with a handshake")
		}
	})
	bubble(t, options(spec.Spec{Era: spec.EraModern}), openPipe(childtest.Script{Era: "modern", Tasks: true}), func(t *testing.T, k *kid) {
		k.profile.Capabilities = []byte(`{"extensions":{"io.modelcontextprotocol/tasks":{}}}`)
		if _, err := k.Connect(t.Context(), run.Try{ModernFirst: true}, func() {}); err != nil {
			t.Fatal(err)
		}
		end, ok := k.WatchTask(t.Context(), "t")
		if !ok {
			t.Fatal("it is not told of")
		}
		for range 2 {
			if _, err := k.tool(t.Context(), "news", `{"taskId":"t","status":"working"}`); err != nil {
				t.Error(err)
			}
			synctest.Wait()
			if end != nil {
				end()
				end = nil
			}
		}
		if got := strings.Join(k.noted(), " "); strings.Count(got, `"taskId":"t"`) != 1 {
			t.Errorf("told %q", got)
		}
	})
}
