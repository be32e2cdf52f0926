package rootsmgr

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"mcphub/internal/worker"
	"mcphub/rootsmgr/guard"
)

// ErrClosed is returned by a wait on a Manager whose Run has ended.
var ErrClosed = errors.New("the session has ended")

// Settings are the parts of hub.json that a Manager follows. Durations that are
// not positive are replaced by the [DefaultSettings]; the zero When denies.
type Settings struct {
	Timeout  time.Duration // for one answer, and for all waiting of one call
	Debounce time.Duration // quiet after list_changed before asking again
	Stale    time.Duration // how long roots that cannot be refreshed are kept
	When     NoRootsPolicy
	// Ceiling are directories that the session never leaves, wherever its roots
	// come from: absolute paths. nil is no ceiling. A ceiling of which nothing can
	// be used leaves nothing open.
	Ceiling []RootEntry
	// WritableDirs returns the directories, other than roots, that servers may write in
	// now: a sandbox, a policy's, the ones that were granted. If a root is a link in
	// one of them, it is not followed out of it. nil is none.
	WritableDirs func() []string
	Mapping      Mapping // of the client's roots
	AtWorkDir    bool    // the client runs in the directory that the Guess of the Fallback was found from: it is one over stdio
}

func (settings Settings) writableDirs() []string {
	if settings.WritableDirs == nil {
		return nil
	}
	return settings.WritableDirs()
}

// DefaultSettings returns 10 s, 250 ms, 10 min, and NoRootsPolicy{Unsupported: true}.
func DefaultSettings() Settings {
	return Settings{
		Timeout:  10 * time.Second,
		Debounce: 250 * time.Millisecond,
		Stale:    10 * time.Minute,
		When:     NoRootsPolicy{Unsupported: true},
	}
}

func (settings Settings) withDefaults() Settings {
	d := DefaultSettings()
	if settings.Timeout <= 0 {
		settings.Timeout = d.Timeout
	}
	if settings.Debounce <= 0 {
		settings.Debounce = d.Debounce
	}
	if settings.Stale <= 0 {
		settings.Stale = d.Stale
	}
	settings.When.Denied = settings.When.Denied && settings.Ceiling == nil
	return settings
}

// Manager keeps one session's roots current. Its Run
// goroutine is the only writer of what it publishes; every other method sends
// to it or reads what was published, and may be called from any goroutine.
//
// Freshness is counted, not timed. NoteChange adds one to announced. A question
// remembers the count as it was sent, and once it has ended, well or badly,
// what is published is attempted up to that count. A call notes the count when
// it arrives and waits until attempted has reached it. So: list_changed (1),
// call A notes 1; the question under way was sent at 0, its answer publishes
// attempted 0; A goes on waiting; the next question is sent at 1 and A is
// judged by its answer. A call that arrived before the list_changed noted 0 and
// is judged by the first answer.
type Manager struct {
	src   RootsSource
	terms atomic.Pointer[terms] // the ones that hold; Run follows
	fsys  guard.FS
	log   zerolog.Logger

	announced    atomic.Uint64 // notifications, and second questions before a denial
	reconsidered atomic.Int64  // UnixNano of the last second question
	pub          atomic.Pointer[state]
	started      atomic.Bool // Run was called

	generation atomic.Uint64 // last given
	calls      withCalls

	greet   sync.Once
	hello   chan greeting // capacity 2: one of each kind
	kick    chan struct{} // capacity 1: announced was raised
	waiting chan struct{} // capacity 1: a call waits
	amended chan struct{} // capacity 1: terms were changed
	late    chan *relook  // unbuffered
	first   chan struct{} // closed when the first question has ended
}

// greeting is what a client says about itself; withCall: it is never asked.
type greeting struct{ supported, listChanged, withCall bool }

// state is what Run has published. Immutable but for changed, which is closed
// when the next state replaces it.
type state struct {
	terms      *terms // by which view was made
	rootsView  RootsView
	greeting   greeting
	greeted    bool
	settled    bool       // the first question has ended, or there is none to ask
	withCall   *callRoots // the last that came with a call; nil before
	asked      *Snapshot  // the last answer, while it counts
	askedUnder *Snapshot  // the ceiling that it is under, nil for none
	closed     bool       // Run has ended
	asking     bool       // a question is on its way
	attempted  uint64     // announcements that an ended question took account of
	failures   int        // questions failed in a row
	queries    uint64
	askedAt    time.Time
	retryAt    time.Time // end of the back-off after a failure
	keptSince  time.Time // first failure since the roots in view were answered
	changed    chan struct{}
}

// NewManager makes the Manager of one session. It starts nothing: until Run
// and NoteHandshake have been called, calls wait and are then judged as failed.
func NewManager(src RootsSource, fallback Fallback, s Settings, fsys guard.FS, log zerolog.Logger) *Manager {
	m := &Manager{
		src:     src,
		fsys:    fsys,
		log:     log,
		hello:   make(chan greeting, 2),
		calls:   withCalls{roots: make(chan *callRoots, 1)},
		kick:    make(chan struct{}, 1),
		waiting: make(chan struct{}, 1),
		amended: make(chan struct{}, 1),
		late:    make(chan *relook),
		first:   make(chan struct{}),
	}
	m.terms.Store(&terms{fallback, s.withDefaults()})
	m.pub.Store(&state{
		terms:     m.terms.Load(),
		rootsView: RootsView{Snapshot: NewSnapshot(fsys, 0, OriginNone, nil), waiting: true},
		changed:   make(chan struct{}),
	})
	return m
}

// NoteHandshake tells the Manager that the client has finished its handshake, and
// what it declared. It starts the first question. A client that did not declare
// roots is never asked. Only the first call counts.
func (m *Manager) NoteHandshake(supported, listChanged bool) {
	m.greet.Do(func() {
		if m.calls.known.Load() {
			// Configured roots, or roots that came with a call, are no answer to this
			// question: calls from now on wait for one.
			m.announced.Add(1)
		}
		m.hello <- greeting{supported: supported, listChanged: listChanged}
	})
}

// NoteChange tells the Manager that the client announced other roots. It never
// blocks.
func (m *Manager) NoteChange() {
	m.announced.Add(1)
	worker.Signal(m.kick)
}

// RootsView returns what holds now, however old. It never waits.
func (m *Manager) RootsView() RootsView { return m.pub.Load().viewAt(time.Now()) }

// First returns a channel that is closed when the first question has ended,
// well or badly, when there is none to ask, and when Run ends.
func (m *Manager) First() <-chan struct{} { return m.first }

// Updates returns a channel that is closed when something else is published.
// Ask for it before reading RootsView, and again after it was closed; what comes
// between is not lost then.
func (m *Manager) Updates() <-chan struct{} { return m.pub.Load().changed }

// Await returns what a call that arrives now is judged by. It waits for the first
// answer, and for one at least as new as the last NoteChange. It does not wait for
// the debounce, and asks again after a failure unless that was just now. After
// Settings.Timeout it returns what there is: kept roots marked stale, else the
// fallback, else the failed case. The error is the cause of ctx's end, or
// ErrClosed. The RootsView returned with an error denies, or reports how old it is.
func (m *Manager) Await(ctx context.Context) (RootsView, error) { return m.NewWaitBudget().Await(ctx) }

// WaitBudget is the time that a single call may wait for roots: all its waiting together
// takes at most Settings.Timeout. Not for use by several goroutines at once.
type WaitBudget struct {
	m    *Manager
	left time.Duration
}

// NewWaitBudget returns the time of one call. Use it if a call may wait more than once.
func (m *Manager) NewWaitBudget() *WaitBudget {
	return &WaitBudget{m: m, left: m.terms.Load().settings.Timeout}
}

// Overtaken reports whether roots newer than the ones of a RootsView are known or
// announced, and the call may still wait for them.
func (budget *WaitBudget) Overtaken(v RootsView) bool {
	s := budget.m.pub.Load()
	return budget.left > 0 && !s.closed && (s.viewAt(time.Now()).mark != v.mark || s.attempted < budget.m.announced.Load())
}

// Await works like [Manager.Await] within what is left of the time that the call may wait.
func (budget *WaitBudget) Await(ctx context.Context) (RootsView, error) {
	return budget.await(ctx, budget.m.announced.Load())
}

func (budget *WaitBudget) await(ctx context.Context, want uint64) (RootsView, error) {
	m := budget.m
	var timeout <-chan time.Time
	until := time.Now().Add(budget.left)
	defer func() { budget.left = max(0, time.Until(until)) }()
	for {
		s, now := m.pub.Load(), time.Now()
		switch {
		case s.closed:
			return s.viewAt(now), ErrClosed
		case s.terms == m.terms.Load() && s.coversCall(want, now):
			return s.viewAt(now), nil
		case ctx.Err() != nil:
			return s.viewAt(now), context.Cause(ctx)
		case !now.Before(until):
			return m.impatientView(s, now), nil
		}
		if timeout == nil {
			timer := time.NewTimer(time.Until(until))
			defer timer.Stop()
			timeout = timer.C
		}
		worker.Signal(m.waiting)
		select {
		case <-s.changed:
		case <-timeout:
		case <-ctx.Done():
		}
	}
}

// TryAwait works like Await, but never waits; false if Await would wait.
func (m *Manager) TryAwait() (RootsView, bool) {
	s, now := m.pub.Load(), time.Now()
	return s.viewAt(now), !s.closed && s.terms == m.terms.Load() && s.coversCall(m.announced.Load(), now)
}

// impatientView returns what a call is judged by when its time to wait is over.
func (m *Manager) impatientView(s *state, now time.Time) RootsView {
	v := s.viewAt(now)
	if !s.settled {
		v = m.terms.Load().fallbackView(m.fsys, 0, CaseFailed, ErrNoAnswer)
		v.waiting = !s.greeted
		return v
	}
	if v.Err == nil {
		v.Stale, v.Err = true, ErrNoAnswer
	}
	return v
}

// Reconsider asks the client again before a denial. It does so if the client
// answered that nothing usable is open, or does not announce changes, and at most
// every 5 s. The bool reports whether a question was asked that the RootsView takes
// account of. If not, the RootsView is the present one. It waits no longer than the
// call still may.
func (budget *WaitBudget) Reconsider(ctx context.Context) (RootsView, bool, error) {
	m := budget.m
	s, now := m.pub.Load(), time.Now()
	if !s.mayReconsider() {
		return s.viewAt(now), false, nil
	}
	last := m.reconsidered.Load()
	recent := now.Sub(s.askedAt) < reconsiderGap || last != 0 && now.UnixNano()-last < int64(reconsiderGap)
	if !recent && m.reconsidered.CompareAndSwap(last, now.UnixNano()) {
		m.NoteChange()
	}
	want := m.announced.Load()
	if want <= s.attempted {
		return s.viewAt(now), false, nil
	}
	// This call's question, or one that another call asked a moment ago.
	v, err := budget.await(ctx, want)
	return v, true, err
}

// coversCall reports whether a call that noted want need not wait: there was an
// attempt after that, and it is not time for another.
func (s *state) coversCall(want uint64, now time.Time) bool {
	return s.settled && s.attempted >= want && (s.failures == 0 || now.Before(s.retryAt))
}

// mayReconsider reports whether a second question could change a denial.
func (s *state) mayReconsider() bool {
	if s.closed || !s.settled || !s.greeting.supported || s.failures > 0 {
		return false
	}
	return !s.greeting.listChanged || s.rootsView.Case == CaseEmpty || s.rootsView.unusable > 0
}

// viewAt returns the view of a state at a time: kept roots expire by themselves,
// even before Run has noticed.
func (s *state) viewAt(now time.Time) RootsView {
	v, settings := s.rootsView, s.terms.settings
	if !s.keptSince.IsZero() && now.Sub(s.keptSince) >= settings.Stale {
		v = RootsView{Snapshot: v.Snapshot.withoutRoots(), Err: v.Err, Ceiling: v.Ceiling}
		v.judgePaths(settings.When)
		v.Open = v.Open && settings.Ceiling == nil
	}
	return v
}

// never is a count that the number of announcements does not reach.
const never = math.MaxUint64
