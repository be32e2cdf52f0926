package rootsmgr

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"mcphub/rootsmgr/guard"
	"mcphub/rootsmgr/platform"
)

// neverAsked is the RootsSource of a client that is never asked.
type neverAsked struct{ t *testing.T }

func (n neverAsked) ListRoots(context.Context, string) (Page, error) {
	n.t.Error("the client was asked")
	return Page{}, ErrMalformed
}

// withCallManager runs a Manager of a client that gives its roots with its calls.
func withCallManager(t *testing.T, src RootsSource, f Fallback, s Settings, test func(m *Manager)) {
	synctest.Test(t, func(t *testing.T) {
		m := NewManager(src, f, s, guard.OS{}, zerolog.Nop())
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = m.Run(ctx)
		}()
		m.ExpectCallRoots()
		synctest.Wait()
		test(m)
		cancel()
		<-done
	})
}

func page(dirs ...string) Page {
	var p Page
	for _, d := range dirs {
		p.Entries = append(p.Entries, RootEntry{URI: platform.Host().FormatURI(d)})
	}
	return p
}

func real(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestRootsWithCall(t *testing.T) {
	t.Parallel()
	a, b, own := real(t), real(t), real(t)
	fallback := Fallback{Origin: OriginConfig, Entries: []RootEntry{{URI: own}}}
	withCallManager(t, neverAsked{t}, fallback, DefaultSettings(), func(m *Manager) {
		if v := m.RootsView(); !v.Assumed || v.Snapshot.Paths()[0] != own || m.Word() != "inline" || m.HasCallRoots() {
			t.Errorf("before any came: %+v, state %s", v, m.Word())
		}
		select {
		case <-m.First():
		default:
			t.Error("who waits for the first roots waits in vain")
		}
		one := m.TakeCallRoots(page(a))
		synctest.Wait()
		if one.Case != CaseKnown || one.Snapshot.Origin() != OriginWithCall || one.Snapshot.Paths()[0] != a || m.RootsView().Snapshot != one.Snapshot || m.RootsView().Assumed || !m.HasCallRoots() {
			t.Errorf("the first: %+v, the session goes by %v", one, m.RootsView().Snapshot.Paths())
		}
		news := m.Updates()
		if again := m.TakeCallRoots(page(a)); again.Snapshot != one.Snapshot {
			t.Error("the same roots again are other ones")
		}
		synctest.Wait()
		select {
		case <-news:
			t.Error("the same roots again are news")
		default:
		}
		two := m.TakeCallRoots(page(b))
		synctest.Wait()
		if two.Snapshot.Paths()[0] != b || two.Snapshot.Generation() <= one.Snapshot.Generation() || m.RootsView().Snapshot != two.Snapshot {
			t.Errorf("others: %+v", two)
		}
		if one.Snapshot.Paths()[0] != a {
			t.Error("what a call is judged by has changed under it")
		}
		if v := m.TakeCallRoots(Page{}); v.Case != CaseEmpty || v.Open || v.Snapshot.Len() != 0 {
			t.Errorf("an empty list: %+v", v)
		}
		// None can be used: what was configured counts, as for one that was asked.
		if v := m.TakeCallRoots(Page{Entries: []RootEntry{{URI: "https://example.com"}}}); v.Case != CaseKnown || v.Snapshot.Origin() != OriginConfig {
			t.Errorf("none can be used: %+v", v)
		}
		if v := m.UndeclaredView(); v.Case != CaseKnown || v.Snapshot.Paths()[0] != own {
			t.Errorf("not declared: %+v", v)
		}
		if v := m.ViewOfCallRoots(page(a)); v.Snapshot.Paths()[0] != a {
			t.Errorf("for one call: %+v", v)
		}
		synctest.Wait()
		if m.RootsView().Snapshot.Origin() == OriginWithCall {
			t.Error("what one call brought for itself became the session's")
		}
	})
}

func TestWithCallWithoutFallback(t *testing.T) {
	t.Parallel()
	withCallManager(t, neverAsked{t}, Fallback{}, DefaultSettings(), func(m *Manager) {
		if v := m.UndeclaredView(); v.Case != CaseUnsupported || !v.Open {
			t.Errorf("a client that cannot give roots: %+v", v)
		}
		// One that can and has not yet is another thing: nothing is open.
		for _, v := range []RootsView{m.RootsView(), m.StandInView()} {
			if v.Case != CaseFailed || v.Open {
				t.Errorf("a client that can: %+v", v)
			}
		}
	})
}

func TestWithCallUnderACeiling(t *testing.T) {
	t.Parallel()
	top := real(t)
	in, out := filepath.Join(top, "in"), real(t)
	if err := os.Mkdir(in, 0o700); err != nil {
		t.Fatal(err)
	}
	s := DefaultSettings()
	s.Ceiling = []RootEntry{{URI: top}}
	withCallManager(t, neverAsked{t}, Fallback{}, s, func(m *Manager) {
		v := m.TakeCallRoots(page(in, out))
		if paths := v.Snapshot.Paths(); len(paths) != 1 || paths[0] != in || v.Ceiling == nil {
			t.Errorf("%v", paths)
		}
		if v := m.TakeCallRoots(page(filepath.Dir(top))); len(v.Snapshot.Paths()) != 1 || v.Snapshot.Paths()[0] != top {
			t.Errorf("above it: %v", v.Snapshot.Paths())
		}
		if v := m.UndeclaredView(); v.Open || v.Snapshot.Origin() != OriginCeiling {
			t.Errorf("not declared: %+v", v)
		}
	})
}

// A handshake after modern requests: its calls wait for its own answer.
func TestHandshakeAfterRootsWithCall(t *testing.T) {
	t.Parallel()
	a, b := real(t), real(t)
	src := sourceFunc(func(ctx context.Context) (Page, error) {
		time.Sleep(time.Second)
		return page(b), nil
	})
	withCallManager(t, src, Fallback{}, DefaultSettings(), func(m *Manager) {
		m.TakeCallRoots(page(a))
		synctest.Wait()
		m.NoteHandshake(true, true)
		v, err := m.Await(context.Background())
		if err != nil || v.Snapshot.Origin() != OriginAsked || v.Snapshot.Paths()[0] != b {
			t.Errorf("%v %v: %v", v.Snapshot.Origin(), v.Snapshot.Paths(), err)
		}
		if v := m.TakeCallRoots(page(a)); v.Snapshot.Paths()[0] != a {
			t.Errorf("a modern call after that: %v", v.Snapshot.Paths())
		}
	})
}

type sourceFunc func(ctx context.Context) (Page, error)

func (f sourceFunc) ListRoots(ctx context.Context, _ string) (Page, error) { return f(ctx) }

// What stands in for roots that come with a call can be made after them and be known
// before: the one who waits until they are served must not take it for them.
func TestMarksFollowWhatIsKnown(t *testing.T) {
	t.Parallel()
	m := NewManager(neverAsked{t}, Fallback{}, DefaultSettings(), guard.OS{}, zerolog.Nop())
	given := m.TakeCallRoots(page(real(t))) // by the goroutine of a call, before Run hears anything
	run := &loop{m: m, state: *m.pub.Load()}
	run.greetClient(greeting{withCall: true})
	standIn := m.RootsView()
	if standIn.Snapshot.Generation() < given.Snapshot.Generation() {
		t.Fatal("nothing was overtaken: the test shows nothing")
	}
	if standIn.Mark().Covers(given) || !standIn.Mark().Covers(standIn) {
		t.Error("a stand-in counts as the roots that came")
	}
	run.heardWithCall(<-m.calls.roots)
	if now := m.RootsView(); now.Snapshot != given.Snapshot || !now.Mark().Covers(given) || !now.Mark().Covers(standIn) || standIn.Mark().Covers(now) {
		t.Errorf("%+v", now)
	}
}
