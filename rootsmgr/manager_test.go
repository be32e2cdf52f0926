package rootsmgr_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcphub/e2e/rootstest"
	. "mcphub/rootsmgr"
)

// TestFirstAnswer: a call waits until the client has answered, also one that came before initialized, and is judged by the
// roots that can be used. Later calls wait for nothing.
func TestFirstAnswer(t *testing.T) {
	t.Parallel()
	bubble(t, setup{}, func(t *testing.T, d *session) {
		before := d.call() // a call sent before initialized
		before.waits(t)
		d.check("waiting")
		d.NoteHandshake(true, true)
		q := d.question()
		d.check("asking")
		during := d.call()
		during.waits(t)
		if v := d.RootsView(); v.Case != CaseFailed || v.Open || v.Snapshot == nil {
			t.Errorf("before the answer: %+v", v)
		}
		time.Sleep(3 * time.Second)
		during.waits(t)
		q.Roots("file:///a", "file:///gone", "file:///a/sub")
		before.judged(t, "known /a /a/sub by asked").after(t, 3*time.Second)
		during.judged(t, "known /a /a/sub by asked")
		d.call().judged(t, "known /a /a/sub by asked").after(t, 0)
		d.check("known")
		if s, v := d.Asked(), d.RootsView(); s.Queries != 1 || !s.Supported || !s.ListChanged || v.Snapshot.Generation() != 1 || v.Snapshot.Origin() != OriginAsked {
			t.Errorf("%+v, %+v", s, v)
		}
		d.NoteHandshake(false, false) // once is enough
		d.call().judged(t, "known /a /a/sub by asked")
	})
}

// TestNeverInitialized: a client that never says initialized is never asked, and a call waits no longer than roots.timeout.
func TestNeverInitialized(t *testing.T) {
	t.Parallel()
	bubble(t, setup{}, func(t *testing.T, d *session) {
		c := d.call().judged(t, "failed")
		c.after(t, 10*time.Second)
		if !strings.Contains(c.rootsView.Why(), "not said yet") {
			t.Error(c.rootsView.Why())
		}
		if d.client.Asked() != 0 {
			t.Error("asked before initialized")
		}
	})
}

// TestPatienceIsOneBudget: all waiting of one call for roots together is at most roots.timeout.
func TestPatienceIsOneBudget(t *testing.T) {
	t.Parallel()
	bubble(t, setup{}, func(t *testing.T, d *session) {
		c := d.call()
		time.Sleep(6 * time.Second)
		d.NoteHandshake(true, false)
		q := d.question()
		c.judged(t, "failed").after(t, 10*time.Second) // not 16
		q.Roots("file:///a")
		<-d.First()
		time.Sleep(5 * time.Second)
		w := d.NewWaitBudget()
		time.Sleep(time.Hour) // for something else, which does not count
		d.NoteChange()
		short, cancel := context.WithTimeout(t.Context(), 7*time.Second)
		defer cancel()
		if _, err := w.Await(short); err == nil {
			t.Error("it did not wait")
		}
		start := time.Now()
		v, asked, err := w.Reconsider(t.Context())
		if took := time.Since(start); took != 3*time.Second || !asked || err != nil || show(v) != "known /a stale by asked" {
			t.Errorf("after %v: %q, %v, %v", took, show(v), asked, err)
		}
	})
}

// TestOvertaken: a RootsView is overtaken if another is known or announced, as long as the call may wait for that.
func TestOvertaken(t *testing.T) {
	t.Parallel()
	bubble(t, setup{}, func(t *testing.T, d *session) {
		d.known("file:///a")
		w, spent, v := d.NewWaitBudget(), d.NewWaitBudget(), d.RootsView()
		is := func(what string, v RootsView, want bool) {
			t.Helper()
			if w.Overtaken(v) != want || spent.Overtaken(v) {
				t.Errorf("%s: %t, and with no time left %t", what, w.Overtaken(v), spent.Overtaken(v))
			}
		}
		d.NoteChange()
		if late, err := spent.Await(t.Context()); err != nil || !late.Stale {
			t.Fatalf("%+v, %v", late, err)
		}
		d.question()
		time.Sleep(time.Minute)
		is("after a failure", d.RootsView(), false)
		c := d.call()
		q := d.question()
		is("asked again", d.RootsView(), false)
		d.NoteChange()
		is("announced", d.RootsView(), true)
		q.Roots("file:///a")
		d.question().Roots("file:///b")
		c.judged(t, "known /a by asked")
		synctest.Wait()
		is("another is known", v, true)
		is("it is the one that is known", d.RootsView(), false)
		d.stop()
		if is("after the end", v, false); d.Word() != "closed" {
			t.Error(d.Word())
		}
	})
}

// TestErrorKeepsRoots: a refresh that fails keeps the roots that there were, marked stale, until one succeeds.
func TestErrorKeepsRoots(t *testing.T) {
	t.Parallel()
	for _, failure := range []error{errors.New("-32603"), fmt.Errorf("%w: roots is a string", ErrMalformed), context.DeadlineExceeded} {
		bubble(t, setup{}, func(t *testing.T, d *session) {
			d.known("file:///a")
			d.NoteChange()
			c := d.call()
			d.question().Fail(failure)
			c.judged(t, "known /a stale by asked")
			if !errors.Is(c.rootsView.Err, failure) || !strings.Contains(c.rootsView.Why(), "did not answer") {
				t.Error(c.rootsView.Err, c.rootsView.Why())
			}
			d.check("stale")
			d.call().judged(t, "known /a stale by asked").after(t, 0)
			time.Sleep(time.Second)
			c = d.call()
			d.question().Roots("file:///b")
			c.judged(t, "known /b by asked")
			d.check("known")
			if s, v := d.Asked(), d.RootsView(); s.Failures != 0 || !s.KeptSince.IsZero() || v.Stale || v.Err != nil {
				t.Errorf("%+v, %+v", s, v)
			}
		})
	}
}

// Retries follow calls only, at 1, 2, 4 ... 60 s.
func TestBackoff(t *testing.T) {
	t.Parallel()
	bubble(t, setup{}, func(t *testing.T, d *session) {
		d.client.Script(func(string) (Page, error) { return Page{}, errors.New("no") })
		d.NoteHandshake(true, true)
		<-d.First()
		for i, seconds := range []int{1, 2, 4, 8, 16, 32, 60, 60} {
			pause := time.Duration(seconds) * time.Second
			if got := time.Until(d.Asked().RetryAt); got != pause {
				t.Fatalf("pause %d is %v, want %v", i, got, pause)
			}
			time.Sleep(pause - 1)
			d.call().judged(t, "failed").after(t, 0)
			if d.client.Asked() != i+1 {
				t.Fatalf("asked %d times within the back-off", d.client.Asked())
			}
			time.Sleep(1 * time.Nanosecond)
			synctest.Wait()
			if d.client.Asked() != i+1 {
				t.Fatal("asked without a call")
			}
			d.call().judged(t, "failed")
			if d.client.Asked() != i+2 {
				t.Fatalf("asked %d times, want %d", d.client.Asked(), i+2)
			}
		}
		// News of the client ends the pause.
		d.client.Always("file:///a")
		d.NoteChange()
		d.call().judged(t, "known /a by asked").after(t, 0)
	})
}

// TestStaleRootsExpire: roots that could not be refreshed for roots.stale have failed, to the nanosecond.
func TestStaleRootsExpire(t *testing.T) {
	t.Parallel()
	for _, fallback := range []Fallback{{}, {Origin: OriginConfig, Entries: []RootEntry{{URI: "/fb"}}}} {
		bubble(t, setup{fallback: fallback}, func(t *testing.T, d *session) {
			d.known("file:///a")
			time.Sleep(time.Hour) // roots that no one refreshed are not stale
			d.call().judged(t, "known /a by asked")
			d.client.Script(func(string) (Page, error) { return Page{}, errors.New("no") })
			d.NoteChange()
			d.call().judged(t, "known /a stale by asked")
			time.Sleep(5 * time.Minute)
			asked := d.client.Asked()
			d.call().judged(t, "known /a stale by asked") // fails again, which wins no time
			if d.client.Asked() != asked+1 {
				t.Error("not asked again")
			}
			time.Sleep(5*time.Minute - 1)
			if got := show(d.RootsView()); got != "known /a stale by asked" {
				t.Error(got)
			}
			updates := d.Updates()
			time.Sleep(1 * time.Nanosecond)
			synctest.Wait()
			select {
			case <-updates:
			default:
				t.Error("kept for longer")
			}
			want := "failed"
			if !fallback.IsEmpty() {
				want = "known /fb by config"
			}
			if got := show(d.RootsView()); got != want {
				t.Errorf("%q, want %q", got, want)
			}
			if _, err := d.RootsView().Snapshot.Guard().Check("/a/f"); err == nil {
				t.Error("expired roots still open")
			}
			d.call().judged(t, want)
			d.client.Always("file:///b")
			time.Sleep(time.Minute)
			d.call().judged(t, "known /b by asked")
		})
	}
}

// TestBurst: many announcements cause few questions, and at least one, whatever comes between them.
func TestBurst(t *testing.T) {
	t.Parallel()
	for _, gap := range []time.Duration{0, time.Millisecond, 30 * time.Millisecond, 100 * time.Millisecond, 240 * time.Millisecond} {
		bubble(t, setup{}, func(t *testing.T, d *session) {
			d.known("file:///a")
			d.client.Always("file:///b")
			before := d.client.Asked()
			for range 50 {
				d.NoteChange()
				time.Sleep(gap)
			}
			time.Sleep(time.Minute)
			n := d.client.Asked() - before
			if most := 2 + int(50*gap/(5*time.Second)); n < 1 || n > most {
				t.Errorf("gap %v: %d queries, want at most %d", gap, n, most)
			}
			if got := show(d.RootsView()); got != "known /b by asked" {
				t.Error(got)
			}
		})
	}
	// A client that never falls silent is asked all the same.
	bubble(t, setup{}, func(t *testing.T, d *session) {
		d.known("file:///a")
		d.client.Always("file:///b")
		for range 26 {
			d.NoteChange()
			time.Sleep(200 * time.Millisecond)
		}
		synctest.Wait()
		if n := d.client.Asked(); n != 2 {
			t.Errorf("asked %d times in 5.2 s, want the first and one more", n)
		}
	})
	// During a question: exactly one more.
	bubble(t, setup{}, func(t *testing.T, d *session) {
		d.NoteHandshake(true, true)
		q := d.question()
		for range 50 {
			d.NoteChange()
			time.Sleep(time.Millisecond)
		}
		q.Roots("file:///a")
		d.question().Roots("file:///b")
		time.Sleep(time.Minute)
		d.quiet()
		if d.client.Asked() != 2 {
			t.Errorf("asked %d times", d.client.Asked())
		}
	})
}

// TestDebounce: a question comes 250 ms after the last announcement, or at once if a call waits.
func TestDebounce(t *testing.T) {
	t.Parallel()
	bubble(t, setup{}, func(t *testing.T, d *session) {
		d.known("file:///a")
		start := time.Now()
		d.NoteChange()
		time.Sleep(100 * time.Millisecond)
		d.NoteChange()
		d.question().Roots("file:///b")
		if took := time.Since(start); took != 350*time.Millisecond {
			t.Errorf("asked after %v", took)
		}
		synctest.Wait()
		// A call cuts it short.
		d.NoteChange()
		start = time.Now()
		c := d.call()
		d.question().Roots("file:///c")
		c.judged(t, "known /c by asked")
		if took := time.Since(start); took != 0 {
			t.Errorf("the call waited %v", took)
		}
		time.Sleep(time.Minute)
		d.quiet()
	})
}

// Narrowing takes effect for every call that comes after it, also while an
// older question is on its way.
func TestNarrowing(t *testing.T) {
	t.Parallel()
	bubble(t, setup{}, func(t *testing.T, d *session) {
		d.known("file:///a", "file:///b")
		d.NoteChange()
		old := d.call()
		q := d.question()
		d.check("refreshing")
		d.NoteChange() // narrowed while q is on its way
		late := d.call()
		q.Roots("file:///a", "file:///b") // from before
		old.judged(t, "known /a /b by asked")
		late.waits(t)
		start := time.Now()
		q = d.question() // at once, since a call waits
		if took := time.Since(start); took != 0 {
			t.Errorf("asked again after %v", took)
		}
		late.waits(t)
		q.Roots("file:///a")
		late.judged(t, "known /a by asked")
		if _, err := d.RootsView().Snapshot.Guard().Check("/b/f"); err == nil {
			t.Error("/b is still open")
		}
	})
}

// stubborn ignores its context, and answers when it pleases.
type stubborn struct{ release chan Page }

func (s stubborn) ListRoots(context.Context, string) (Page, error) { return <-s.release, nil }

// TestLateAnswerIsDropped: the answer to a question that was given up is never applied, and a question that never returns
// holds up no call beyond its time.
func TestLateAnswerIsDropped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src := stubborn{make(chan Page)}
		d := newSession(t, setup{src: src})
		d.NoteHandshake(true, true)
		first := d.call().judged(t, "failed")
		if first.after(t, 10*time.Second); !errors.Is(first.rootsView.Err, ErrNoAnswer) {
			t.Error(first.rootsView.Err)
		}
		src.release <- rootstest.Page("file:///b") // of the first question, too late
		synctest.Wait()
		if v := d.RootsView(); show(v) != "failed" || !errors.Is(v.Err, ErrNoAnswer) {
			t.Errorf("a late answer was applied: %q, %v", show(v), v.Err)
		}
		time.Sleep(time.Second)
		d.call().judged(t, "failed").after(t, 10*time.Second) // not answered either
		time.Sleep(2 * time.Second)
		c := d.call() // waits for the RootsSource to come back, then asks
		src.release <- rootstest.Page("file:///b")
		c.waits(t)
		src.release <- rootstest.Page("file:///a")
		c.judged(t, "known /a by asked").after(t, 0)

		// A question that never returns holds up the next ones, not the calls.
		d.NoteChange()
		d.call().judged(t, "known /a stale by asked").after(t, 10*time.Second)
		d.NoteChange()
		c = d.call()
		time.Sleep(5 * time.Second)
		src.release <- rootstest.Page("file:///b") // late
		c.waits(t)
		src.release <- rootstest.Page("file:///c") // of the question for this call
		c.judged(t, "known /c by asked")
		d.stop()
	})
}
