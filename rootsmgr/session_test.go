package rootsmgr_test

import (
	"context"
	"reflect"
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

// session is one under test: a Manager that runs, and its client. All
// times are the times of the bubble.
type session struct {
	*Manager
	t      *testing.T
	client *rootstest.Client
	start  time.Time
	stop   func()
}

type setup struct {
	fallback Fallback
	settings Settings
	src      RootsSource // nil: the client
	fsys     guard.FS    // nil: a fake one
}

// bubble runs f with a Manager in a bubble of its own, and has the Manager
// stopped afterwards.
func bubble(t *testing.T, s setup, f func(*testing.T, *session)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d := newSession(t, s)
		f(t, d)
		d.stop()
		if d.client.Overlapped() {
			t.Error("two questions at once")
		}
	})
}

func newSession(t *testing.T, s setup) *session {
	var fsys guard.FS = rootstest.NewFS(t, platform.Linux, []string{"/a/f", "/b/f", "/c/f", "/fb/f", "/a/sub/f"})
	if s.fsys != nil {
		fsys = s.fsys
	}
	if reflect.ValueOf(s.settings).IsZero() {
		s.settings = DefaultSettings()
	}
	d := &session{t: t, client: rootstest.NewClient(), start: time.Now()}
	if s.src == nil {
		s.src = d.client
	}
	d.Manager = NewManager(s.src, s.fallback, s.settings, fsys, zerolog.Nop())
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	d.stop = func() {
		cancel()
		d.stop = func() {}
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
		select {
		case <-d.First():
		default:
			t.Error("First is open after Run")
		}
	}
	return d
}

// call is an Await in a goroutine of its own.
type call struct {
	rootsView RootsView
	err       error
	took      time.Duration
	done      chan struct{}
}

func (d *session) call() *call {
	c := &call{done: make(chan struct{})}
	start := time.Now()
	ready := make(chan struct{})
	go func() {
		defer close(c.done)
		close(ready)
		c.rootsView, c.err = d.Await(d.t.Context())
		c.took = time.Since(start)
	}()
	<-ready
	synctest.Wait()
	return c
}

func (c *call) waits(t *testing.T) {
	t.Helper()
	synctest.Wait()
	select {
	case <-c.done:
		t.Fatalf("the call did not wait: %+v, %v", c.rootsView, c.err)
	default:
	}
}

// judged waits for the call and compares what it was judged by: the case, the
// paths, and "stale".
func (c *call) judged(t *testing.T, want string) *call {
	t.Helper()
	<-c.done
	if c.err != nil {
		t.Fatalf("Await: %v", c.err)
	}
	if got := show(c.rootsView); got != want {
		t.Fatalf("judged by %q, want %q (%v)", got, want, c.rootsView.Err)
	}
	return c
}

func (c *call) after(t *testing.T, want time.Duration) {
	t.Helper()
	if c.took != want {
		t.Errorf("took %v, want %v", c.took, want)
	}
}

func show(v RootsView) string {
	words := append([]string{v.Case.String()}, v.Snapshot.Paths()...)
	if v.Stale {
		words = append(words, "stale")
	}
	if v.Open {
		words = append(words, "open")
	}
	if v.Snapshot.Len() > 0 {
		words = append(words, "by", v.Snapshot.Origin().String())
	}
	return strings.Join(words, " ")
}

func (d *session) question() *rootstest.Question {
	d.t.Helper()
	select {
	case q := <-d.client.Next():
		return q
	case <-time.After(time.Hour):
		d.t.Fatalf("no question within an hour; state %s", d.Word())
		return nil
	}
}

func (d *session) quiet() {
	d.t.Helper()
	synctest.Wait()
	select {
	case <-d.client.Next():
		d.t.Fatal("a question that nobody expected")
	default:
	}
}

// known brings the session to where the client has given these roots.
func (d *session) known(uris ...string) {
	d.t.Helper()
	d.NoteHandshake(true, true)
	d.question().Roots(uris...)
	<-d.First()
}

func (d *session) check(word string) {
	d.t.Helper()
	synctest.Wait()
	if got := d.Word(); got != word {
		d.t.Errorf("state %q, want %q", got, word)
	}
}
