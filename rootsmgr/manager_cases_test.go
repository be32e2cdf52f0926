package rootsmgr_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"mcphub/e2e/rootstest"
	. "mcphub/rootsmgr"
	"mcphub/rootsmgr/guard"
	"mcphub/rootsmgr/platform"
)

// TestUnsupported: a client that does not declare roots is never asked. The operator says whether its calls pass.
func TestUnsupported(t *testing.T) {
	t.Parallel()
	bubble(t, setup{}, func(t *testing.T, d *session) {
		c := d.call()
		d.NoteHandshake(false, true)
		c.judged(t, "unsupported open").after(t, 0)
		<-d.First()
		d.NoteChange()
		d.call().judged(t, "unsupported open").after(t, 0)
		if _, asked, _ := d.NewWaitBudget().Reconsider(t.Context()); asked {
			t.Error("asked")
		}
		time.Sleep(time.Hour)
		if d.client.Asked() != 0 {
			t.Error("a client without roots was asked")
		}
		d.check("unsupported")
	})
	bubble(t, setup{settings: Settings{Timeout: time.Second}}, func(t *testing.T, d *session) {
		d.NoteHandshake(false, false)
		c := d.call().judged(t, "unsupported")
		if !strings.Contains(c.rootsView.Why(), "roots.when.unsupported") {
			t.Error(c.rootsView.Why())
		}
	})
}

// TestEmptyAndUnusable: an empty answer is an answer, behind which no fallback stands. One with nothing that can be used
// has failed.
func TestEmptyAndUnusable(t *testing.T) {
	t.Parallel()
	fallback := Fallback{Origin: OriginEnvironment, Entries: []RootEntry{{URI: "/fb"}}}
	bubble(t, setup{fallback: fallback}, func(t *testing.T, d *session) {
		d.known() // [] is an answer: no fallback
		c := d.call().judged(t, "empty")
		if !strings.Contains(c.rootsView.Why(), "roots.when.empty") {
			t.Error(c.rootsView.Why())
		}
		d.check("empty")
		d.NoteChange()
		c = d.call()
		d.question().Roots("vscode-remote://x/y", "file:///gone")
		c.judged(t, "known /fb by environment")
		if n := len(c.rootsView.Snapshot.Skipped()); n != 2 {
			t.Errorf("%d skipped", n)
		}
		d.check("fallback")
	})
	bubble(t, setup{}, func(t *testing.T, d *session) {
		d.known("file:///a")
		d.NoteChange()
		c := d.call()
		d.question().Roots("file:///gone")
		c.judged(t, "failed")
		if !strings.Contains(c.rootsView.Why(), "none of which can be used") {
			t.Error(c.rootsView.Why())
		}
	})
	s := DefaultSettings()
	s.When = NoRootsPolicy{Empty: true}
	bubble(t, setup{settings: s}, func(t *testing.T, d *session) {
		d.known()
		d.call().judged(t, "empty open")
		d.NoteChange()
		c := d.call()
		d.question().Roots("file:///gone")
		c.judged(t, "failed")
	})
}

// TestFallbackLevels: configured roots stand in for a client that cannot give roots, or fails to without having given any.
func TestFallbackLevels(t *testing.T) {
	t.Parallel()
	for _, origin := range []Origin{OriginFlag, OriginEnvironment, OriginConfig, OriginProject} {
		set := setup{fallback: Fallback{Origin: origin, Entries: []RootEntry{{URI: "/fb", Name: "x"}}}}
		want := "known /fb by " + origin.String()
		bubble(t, set, func(t *testing.T, d *session) {
			d.NoteHandshake(false, false)
			c := d.call().judged(t, want)
			if !strings.Contains(c.rootsView.Why(), "gives no roots") {
				t.Error(c.rootsView.Why())
			}
		})
		bubble(t, set, func(t *testing.T, d *session) { // its query failed without a former snapshot
			d.NoteHandshake(true, true)
			c := d.call()
			d.question().Fail(errors.New("no"))
			c.judged(t, want)
			if c.rootsView.Err == nil || c.rootsView.Stale {
				t.Errorf("%+v", c.rootsView)
			}
			time.Sleep(time.Second)
			c = d.call()
			d.question().Roots("file:///a")
			c.judged(t, "known /a by asked")
			d.NoteChange()
			c = d.call()
			d.question().Fail(errors.New("no")) // with one: kept, no fallback
			c.judged(t, "known /a stale by asked")
		})
		bubble(t, set, func(t *testing.T, d *session) { d.call().judged(t, want).after(t, 10*time.Second) })
	}
	// Configured, but nothing in it can be used: never as if it were not there.
	bubble(t, setup{fallback: Fallback{Origin: OriginConfig, Entries: []RootEntry{{URI: "/gone"}}}}, func(t *testing.T, d *session) {
		d.NoteHandshake(false, false)
		c := d.call().judged(t, "failed")
		if !strings.Contains(c.rootsView.Why(), "roots.fallback") {
			t.Error(c.rootsView.Why())
		}
	})
}

// TestReconsider: a call that would be denied asks again where the answer may be old, at most every 5 s.
func TestReconsider(t *testing.T) {
	t.Parallel()
	bubble(t, setup{}, func(t *testing.T, d *session) {
		d.client.Always()
		d.NoteHandshake(true, true)
		d.call().judged(t, "empty")
		if _, asked, _ := d.NewWaitBudget().Reconsider(t.Context()); asked {
			t.Error("asked twice within 5 s")
		}
		time.Sleep(5 * time.Second)
		d.client.Always("file:///a") // a folder was opened since
		v, asked, err := d.NewWaitBudget().Reconsider(t.Context())
		if show(v) != "known /a by asked" || !asked || err != nil {
			t.Errorf("%q, %v, %v", show(v), asked, err)
		}
		time.Sleep(time.Hour)
		if _, asked, _ := d.NewWaitBudget().Reconsider(t.Context()); asked {
			t.Error("asked a client that has roots and announces changes")
		}
	})
	bubble(t, setup{}, func(t *testing.T, d *session) { // before the first answer, and after the end
		for _, step := range []func(){func() {}, func() { d.NoteHandshake(true, false); d.question() }, d.stop} {
			step()
			time.Sleep(5 * time.Second)
			start := time.Now()
			if _, asked, err := d.NewWaitBudget().Reconsider(t.Context()); asked || err != nil || time.Since(start) != 0 {
				t.Errorf("%s: asked %t, %v, after %s", d.Word(), asked, err, time.Since(start))
			}
		}
	})
	bubble(t, setup{}, func(t *testing.T, d *session) { // no listChanged: the answer may be old
		d.client.Always("file:///a")
		d.NoteHandshake(true, false)
		d.call().judged(t, "known /a by asked")
		time.Sleep(5 * time.Second)
		d.client.Script(nil)
		results := make(chan string, 10)
		for range 10 { // together they ask once
			go func() {
				v, asked, err := d.NewWaitBudget().Reconsider(t.Context())
				results <- fmt.Sprint(show(v), asked, err)
			}()
		}
		synctest.Wait()
		time.Sleep(time.Second)
		d.question().Roots("file:///b")
		counts := map[string]int{}
		for range 10 {
			counts[<-results]++
		}
		if n := counts["known /b by askedtrue <nil>"]; n != 10 {
			t.Errorf("%v", counts)
		}
		d.quiet()
		d.client.Script(func(string) (Page, error) { return Page{}, errors.New("no") })
		time.Sleep(3 * time.Second) // 4 s after it was asked
		if _, asked, _ := d.NewWaitBudget().Reconsider(t.Context()); asked {
			t.Error("asked again after 4 s")
		}
		time.Sleep(time.Second)
		v, asked, _ := d.NewWaitBudget().Reconsider(t.Context())
		if show(v) != "known /b stale by asked" || !asked {
			t.Errorf("%q, %v", show(v), asked)
		}
		before := d.client.Asked()
		if _, asked, _ := d.NewWaitBudget().Reconsider(t.Context()); asked || d.client.Asked() != before {
			t.Error("asked within the back-off")
		}
		for range 4 { // up to a back-off of 16 s
			time.Sleep(time.Until(d.Asked().RetryAt))
			d.call().judged(t, "known /b stale by asked")
		}
		time.Sleep(6 * time.Second)
		before = d.client.Asked()
		if _, asked, _ := d.NewWaitBudget().Reconsider(t.Context()); asked || d.client.Asked() != before {
			t.Error("asked within the back-off, 6 s after the last question")
		}
	})
}

// TestPages: all pages of an answer count, within bounds. A cursor that loops, or is refused twice, ends it.
func TestPages(t *testing.T) {
	t.Parallel()
	pages := func(next map[string]string) func(string) (Page, error) {
		return func(cursor string) (Page, error) {
			p := rootstest.Page("file:///" + map[string]string{"": "a", "1": "b", "2": "c"}[cursor])
			p.NextCursor = next[cursor]
			return p, nil
		}
	}
	restarted := false
	endless := 0
	for name, tt := range map[string]struct {
		script func(string) (Page, error)
		want   string
	}{
		"three":      {pages(map[string]string{"": "1", "1": "2"}), "known /a /b /c by asked"},
		"to itself":  {pages(map[string]string{"": "1", "1": "1"}), "failed"},
		"to another": {pages(map[string]string{"": "1", "1": "2", "2": "1"}), "failed"},
		"restarts": {func(c string) (Page, error) {
			if c == "1" && !restarted {
				restarted = true
				return Page{}, fmt.Errorf("%w: -32602", ErrBadCursor)
			}
			return pages(map[string]string{"": "1"})(c)
		}, "known /a /b by asked"},
		"rejects all": {func(c string) (Page, error) {
			if c != "" {
				return Page{}, ErrBadCursor
			}
			return pages(map[string]string{"": "1"})(c)
		}, "failed"},
		"rejects the first": {func(string) (Page, error) { return Page{}, ErrBadCursor }, "failed"},
		"endless": {func(string) (Page, error) {
			endless++
			return Page{NextCursor: strconv.Itoa(endless)}, nil
		}, "failed"},
		"huge": {func(c string) (Page, error) {
			p := Page{NextCursor: c + "x", Entries: make([]RootEntry, 70_000)}
			p.Entries[0].URI = "file:///a"
			return p, nil
		}, "known /a by asked"},
	} {
		bubble(t, setup{}, func(t *testing.T, d *session) {
			d.client.Script(tt.script)
			d.NoteHandshake(true, true)
			c := d.call()
			<-c.done
			if got := show(c.rootsView); got != tt.want {
				t.Errorf("%s: %q, want %q (%v)", name, got, tt.want, c.rootsView.Err)
			}
			if name == "rejects the first" && d.client.Asked() != 1 {
				t.Errorf("%s: asked %d times", name, d.client.Asked())
			}
			if strings.HasPrefix(name, "to ") && (!errors.Is(c.rootsView.Err, ErrMalformed) || d.client.Asked() > 3) {
				t.Errorf("%s: %v after %d pages", name, c.rootsView.Err, d.client.Asked())
			}
		})
	}
}

// ready is a client that cannot be asked until its stream is open.
type ready struct {
	*rootstest.Client
	open chan struct{}
}

func (r ready) AwaitReady(ctx context.Context) error {
	select {
	case <-r.open:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// TestTimerStartsWhenSent: the time for an answer starts when the question can be sent.
func TestTimerStartsWhenSent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src := ready{rootstest.NewClient(), make(chan struct{})}
		d := newSession(t, setup{src: src})
		d.client = src.Client
		d.NoteHandshake(true, true)
		time.Sleep(time.Hour)
		if src.Asked() != 0 || d.Word() != "asking" {
			t.Errorf("asked %d, %s", src.Asked(), d.Word())
		}
		d.NoteChange() // before it was sent: part of the answer
		c := d.call()
		close(src.open)
		q := d.question()
		time.Sleep(9 * time.Second)
		q.Roots("file:///a")
		c.judged(t, "known /a by asked").after(t, 9*time.Second)
		time.Sleep(time.Minute)
		d.quiet()
		d.stop()
	})
}

// TestEndOfSession: after the end, and where Run never ran, every call is denied, whatever the operator lets pass.
func TestEndOfSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newSession(t, setup{settings: Settings{When: NoRootsPolicy{Unsupported: true, Empty: true, Failed: true}}})
		d.known("file:///a")
		d.NoteChange()
		c := d.call()
		updates := d.Updates()
		d.stop() // with a question on its way
		<-updates
		<-c.done
		if !errors.Is(c.err, ErrClosed) || show(c.rootsView) != "failed" {
			t.Errorf("%q, %v", show(c.rootsView), c.err)
		}
		if _, err := d.Await(t.Context()); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
		if got := show(d.RootsView()); got != "failed" || d.Word() != "closed" {
			t.Errorf("%q", got)
		}
		if err := d.Run(t.Context()); err == nil {
			t.Error("Run ran twice")
		}
	})
	bubble(t, setup{}, func(t *testing.T, d *session) { // a call that is cancelled
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("cancelled by the client")
		time.AfterFunc(time.Second, func() { cancel(why) })
		v, err := d.Await(ctx)
		if !errors.Is(err, why) || v.Case != CaseFailed || v.Open {
			t.Errorf("%+v, %v", v, err)
		}
	})
	// Without Run nothing is judged by nothing.
	synctest.Test(t, func(t *testing.T) {
		m := NewManager(rootstest.NewClient(), Fallback{}, Settings{}, guard.OS{}, zerolog.Nop())
		m.NoteHandshake(true, true)
		m.NoteChange()
		if v, err := m.Await(t.Context()); show(v) != "failed" || err != nil {
			t.Errorf("%q, %v", show(v), err)
		}
	})
}

// TestUpdates: Updates is closed when there is another RootsView, and not before.
func TestUpdates(t *testing.T) {
	t.Parallel()
	bubble(t, setup{}, func(t *testing.T, d *session) {
		updates := d.Updates()
		d.NoteHandshake(true, true)
		synctest.Wait()
		<-updates
		q := d.question()
		updates = d.Updates()
		q.Roots("file:///a")
		<-updates
		if d.RootsView().Snapshot.Len() != 1 {
			t.Error("closed before the view changed")
		}
		select {
		case <-d.Updates():
			t.Error("closed without news")
		default:
		}
	})
}

// TestSessionsDoNotMix: what one client gives or announces changes nothing for another.
func TestSessionsDoNotMix(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		one, two := newSession(t, setup{}), newSession(t, setup{})
		one.known("file:///a")
		two.known("file:///b")
		one.call().judged(t, "known /a by asked")
		two.call().judged(t, "known /b by asked")
		one.NoteChange()
		two.call().judged(t, "known /b by asked").after(t, 0)
		c := one.call()
		one.question().Roots("file:///c")
		c.judged(t, "known /c by asked")
		if got := two.RootsView().Snapshot.Paths(); !slices.Equal(got, []string{"/b"}) {
			t.Errorf("%q", got)
		}
		one.stop()
		two.stop()
	})
}

// TestViewWithCall: the RootsView of roots that come with a call is like the RootsView of an answer.
func TestViewWithCall(t *testing.T) {
	t.Parallel()
	f := rootstest.NewFS(t, platform.Linux, []string{"/a/"})
	for want, entries := range map[string][]RootEntry{
		"known /a by inline": {{URI: "file:///a"}, {URI: "x:y"}}, "empty": nil, "failed": {{URI: "file:///gone"}},
	} {
		if got := show(AnsweredView(NewSnapshot(f, 1, OriginWithCall, entries), NoRootsPolicy{Unsupported: true})); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if v := AnsweredView(nil, NoRootsPolicy{}); v.Open || !v.Snapshot.Guard().IsEmpty() || v.Case != CaseFailed || v.Why() == "" {
		t.Errorf("%+v", v)
	}
}
