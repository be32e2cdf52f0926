package rootsmgr

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"mcphub/rootsmgr/guard"
)

// This file is about clients that are never asked: they give their roots with
// their calls, or not at all (protocol version 2026-07-28).

// errWithCalls is why nothing is known of such a client before its first roots.
var errWithCalls = errors.New("the client gives its roots with its calls, and has given none yet")

// ExpectCallRoots tells the Manager that the client gives its roots with its calls.
// Until it does, the configured roots hold. If there are none, nothing is known,
// which is the failed case. A client that says initialized afterwards is asked
// nevertheless. Only the first call counts.
func (m *Manager) ExpectCallRoots() {
	m.calls.declared.Do(func() {
		m.calls.known.Store(true)
		m.hello <- greeting{withCall: true}
	})
}

// withCalls is what a Manager has for clients that give roots with their calls.
type withCalls struct {
	declared sync.Once
	known    atomic.Bool
	roots    chan *callRoots // capacity 1: the newest that came
	stands   atomic.Pointer[standIns]
}

// callRoots are roots that came with a call, or that the client answered with.
type callRoots struct {
	snapshot, top *Snapshot
	rootsView     RootsView
}

// TakeCallRoots takes the roots that came with a call and returns what that call is
// judged by. They also become the roots of the session, unless newer ones have
// come. It waits for the filesystem only.
func (m *Manager) TakeCallRoots(p Page) RootsView {
	t := m.terms.Load()
	in := m.readPage(t, p, m.generation.Add(1), OriginWithCall)
	now := m.pub.Load()
	if last := now.withCall; last != nil && in.top == nil && now.terms == t && now.rootsView.Snapshot == last.rootsView.Snapshot && last.snapshot.sameAs(in.snapshot) {
		return last.rootsView // nothing has changed: no news for anybody
	}
	m.makeView(t, in)
	m.handToRun(in)
	return in.rootsView
}

// ViewOfCallRoots works like TakeCallRoots for roots that hold for one call only. The
// roots of the session do not change.
func (m *Manager) ViewOfCallRoots(p Page) RootsView {
	t := m.terms.Load()
	in := m.readPage(t, p, m.generation.Add(1), OriginWithCall)
	m.makeView(t, in)
	return in.rootsView
}

// Suppose returns the RootsView that a session would have with these roots. The roots of the session do not change, and no call
// is judged by the RootsView.
func (m *Manager) Suppose(p Page) RootsView {
	t := m.terms.Load()
	in := m.readPage(t, p, 0, OriginWithCall)
	v, _ := t.reckonView(m.fsys, in.snapshot, in.top, func() uint64 { return 0 })
	return v
}

// readPage makes the roots of a client canonical.
func (m *Manager) readPage(t *terms, p Page, generation uint64, origin Origin) *callRoots {
	top := t.settings.ceilingSnapshot(m.fsys, generation)
	bp := blueprint{entries: p.Entries, skipped: p.Skipped, top: top, places: t.settings.writableDirs(), mapping: t.settings.Mapping}
	return &callRoots{snapshot: bp.snapshot(m.fsys, generation, origin), top: top}
}

func (m *Manager) makeView(t *terms, in *callRoots) {
	in.rootsView, _ = t.reckonView(m.fsys, in.snapshot, in.top, func() uint64 { return m.generation.Add(1) })
}

// handToRun gives roots to Run. If several wait for it, the newest count.
func (m *Manager) handToRun(incoming *callRoots) {
	for {
		select {
		case m.calls.roots <- incoming:
			return
		default:
		}
		select {
		case old := <-m.calls.roots:
			if old.snapshot.generation > incoming.snapshot.generation {
				incoming = old
			}
		default:
		}
	}
}

// HasCallRoots reports whether roots have come with a call.
func (m *Manager) HasCallRoots() bool { return m.pub.Load().withCall != nil || len(m.calls.roots) > 0 }

// UndeclaredView returns the RootsView for a call whose client does not declare roots.
func (m *Manager) UndeclaredView() RootsView { return m.standIn().undeclared }

// StandInView returns the RootsView for a request that can neither bring roots nor ask for them.
func (m *Manager) StandInView() RootsView { return m.standIn().waiting }

// standIns are RootsViews that need no client. They are made once for each set of terms.
type standIns struct {
	terms               *terms
	undeclared, waiting RootsView
}

func (m *Manager) standIn() *standIns {
	t := m.terms.Load()
	if s := m.calls.stands.Load(); s != nil && s.terms == t {
		return s
	}
	s := &standIns{
		terms:      t,
		undeclared: t.fallbackView(m.fsys, m.generation.Add(1), CaseUnsupported, nil),
		waiting:    t.fallbackView(m.fsys, m.generation.Add(1), CaseFailed, errWithCalls),
	}
	s.waiting.Assumed = true
	m.calls.stands.Store(s)
	return s
}

// greetWithCalls works like greetClient for a client that gives its roots with its calls.
func (l *loop) greetWithCalls() {
	if l.greeted {
		return // the handshake came first: the client is asked
	}
	l.greeted, l.greeting = true, greeting{withCall: true}
	if l.withCall == nil {
		l.rootsView = l.m.standIn().waiting
	}
	l.settled = true
	l.publishState()
}

// heardWithCall takes in roots that came with a call.
func (l *loop) heardWithCall(incoming *callRoots) {
	if l.withCall != nil && incoming.snapshot.generation < l.withCall.snapshot.generation {
		return
	}
	l.withCall = incoming
	l.asked, l.askedUnder = incoming.snapshot, incoming.top
	l.keptSince = time.Time{}
	l.rootsView = incoming.rootsView
	l.settled = true
	l.publishState()
}

// reckonView makes the RootsView of an answer. If none of its roots can be used, the
// configured ones count, and unusable is how many the answer had.
func (t *terms) reckonView(fsys guard.FS, s, top *Snapshot, next func() uint64) (v RootsView, unusable int) {
	v = AnsweredView(s, t.settings.When).underCeiling(top)
	if unusable = v.unusable; unusable > 0 && !t.fallback.IsEmpty() {
		v = t.fallbackView(fsys, next(), CaseFailed, errUnusable, s.Skipped()...)
		v.Snapshot.behind = append(v.Snapshot.behind, s)
		v.unusable = unusable
	}
	return v, unusable
}

// sameAs reports whether two Snapshots are equal, except for when they were made.
func (s *Snapshot) sameAs(o *Snapshot) bool {
	return s != nil && o != nil && s.origin == o.origin && s.entries == o.entries && slices.Equal(s.roots, o.roots) && slices.Equal(s.skipped, o.skipped) && slices.Equal(s.others, o.others)
}
