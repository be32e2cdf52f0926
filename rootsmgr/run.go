package rootsmgr

import (
	"context"
	"errors"
	"time"

	"github.com/rs/zerolog"
)

// Run keeps the roots current until ctx ends. It returns nil when the question
// under way, if any, has ended too, so a RootsSource that ignores its context delays
// it. A second call is an error.
func (m *Manager) Run(ctx context.Context) error {
	if !m.started.CompareAndSwap(false, true) {
		return errors.New("rootsmgr: Run was called twice")
	}
	l := &loop{m: m, state: *m.pub.Load()}
	l.debounce = newDebounce(l.terms.settings.Debounce)
	l.runLoop(ctx)
	return nil
}

// loop is the machine behind Run: everything in it belongs to that goroutine.
type loop struct {
	m *Manager
	state
	debounce debounce
	query    *query
	asOf     uint64    // of the last question sent
	mark     RootsMark // of what was made known last
	marked   *Snapshot // that it counts
	inVain   time.Time // when roots were last looked at again and nothing had changed
}

func (l *loop) runLoop(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		l.stepTime(ctx, time.Now())
		if due := l.dueAt(); due.IsZero() {
			timer.Stop()
		} else {
			timer.Reset(time.Until(due))
		}
		select {
		case <-ctx.Done():
			l.endLoop()
			return
		case g := <-l.m.hello:
			l.greetClient(g)
		case in := <-l.m.calls.roots:
			l.heardWithCall(in)
		case <-l.m.amended:
			l.amendView()
		case r := <-l.m.late:
			l.lookAgain(r, time.Now())
		case <-l.m.kick:
			l.debounce.noteTime(time.Now())
		case <-l.m.waiting:
			l.hurryUp(ctx, time.Now())
		case e := <-l.queryEvents():
			l.hearEvent(e)
		case <-timer.C:
		}
	}
}

func (l *loop) queryEvents() <-chan event {
	if l.query == nil {
		return nil
	}
	return l.query.events
}

// dueAt returns the time when the loop must act by itself; zero if it need not.
func (l *loop) dueAt() time.Time {
	var due time.Time
	if f := l.query; f == nil {
		due = l.debounce.dueAt()
	} else if !f.sent.IsZero() && !f.late {
		due = f.sent.Add(l.terms.settings.Timeout)
	}
	if !l.keptSince.IsZero() {
		due = earlierOf(due, l.keptSince.Add(l.terms.settings.Stale))
	}
	return due
}

// stepTime does what time alone makes due.
func (l *loop) stepTime(ctx context.Context, now time.Time) {
	if f := l.query; f != nil && !f.late && !f.sent.IsZero() && !now.Before(f.sent.Add(l.terms.settings.Timeout)) {
		// The RootsSource should have returned by now. No caller waits for it any
		// longer, and an answer that still comes is dropped.
		f.late = true
		f.cancel()
		l.noteFailure(now, f.asOf, ErrNoAnswer)
	}
	if !l.keptSince.IsZero() && now.Sub(l.keptSince) >= l.terms.settings.Stale {
		l.expireKept()
	}
	if !l.greeted || !l.greeting.supported {
		l.debounce.clearTime()
		return
	}
	if l.query != nil {
		return
	}
	if !l.isPending() {
		l.debounce.clearTime()
		return
	}
	due := l.debounce.dueAt()
	if l.queries == 0 || !due.IsZero() && !now.Before(due) {
		l.askClient(ctx)
	}
}

// isPending reports that the first question was not asked yet, or an announcement
// that no question took account of.
func (l *loop) isPending() bool { return l.queries == 0 || l.m.announced.Load() > l.asOf }

// hurryUp serves a call that waits: it cuts the debounce short, and asks again
// after a failure once the back-off is over. While a question is under way there
// is nothing to do; the call looks again when that has ended.
func (l *loop) hurryUp(ctx context.Context, now time.Time) {
	if l.query != nil || !l.greeted || !l.greeting.supported {
		return
	}
	if l.isPending() || l.failures > 0 && !now.Before(l.retryAt) {
		l.askClient(ctx)
	}
}

func (l *loop) greetClient(g greeting) {
	if g.withCall {
		l.greetWithCalls()
		return
	}
	l.greeted, l.greeting = true, g
	if g.supported {
		l.publishState() // step asks at once
		return
	}
	l.attempted = never
	l.publishUnsupported()
	l.settled = true
	l.publishState()
}

// publishUnsupported is the view for a client that cannot give roots.
func (l *loop) publishUnsupported() {
	l.rootsView = l.terms.fallbackView(l.m.fsys, l.m.generation.Add(1), CaseUnsupported, nil)
	if l.rootsView.Open {
		l.m.log.Warn().Msg("the client gives no roots, no fallback is configured, and no project is known: no boundary is enforced (roots.when.unsupported)")
	}
}

// askClient starts a question. There is none under way.
func (l *loop) askClient(ctx context.Context) {
	l.debounce.clearTime()
	l.queries++
	ctx, cancel := context.WithCancel(ctx)
	f := &query{generation: l.m.generation.Add(1), cancel: cancel, events: make(chan event, 2)}
	l.query = f
	l.asking = true
	l.refreshWord()
	go l.m.runQuery(ctx, f)
}

// hearEvent takes what the query reports.
func (l *loop) hearEvent(e event) {
	f := l.query
	if !e.ended {
		f.sent, f.asOf = e.at, e.asOf
		l.asOf, l.askedAt = e.asOf, e.at
		if !l.isPending() {
			l.debounce.clearTime()
		}
		l.refreshWord()
		return
	}
	f.cancel()
	l.query = nil
	l.asking = false
	switch {
	case f.late:
		l.m.log.Debug().Uint64("generation", f.generation).Msg("late answer of the client dropped")
		l.publishState() // calls that wait for the next question could not start it
	case e.err != nil:
		l.asOf = e.asOf
		l.noteFailure(e.at, e.asOf, e.err)
	default:
		l.takeAnswer(e)
	}
}

// takeAnswer replaces what was known.
func (l *loop) takeAnswer(e event) {
	l.asked, l.askedUnder = e.snapshot, e.top
	l.attempted, l.failures = e.asOf, 0
	l.retryAt, l.keptSince = time.Time{}, time.Time{}
	l.reckonView()
	l.settled = true
	l.publishState()
}

// reckonView makes the view of the last answer.
func (l *loop) reckonView() {
	unusable := 0
	l.rootsView, unusable = l.terms.reckonView(l.m.fsys, l.asked, l.askedUnder, func() uint64 { return l.m.generation.Add(1) })
	if unusable > 0 {
		l.m.log.Warn().Int("entries", unusable).Msg("none of the client's roots can be used")
	}
}

var errUnusable = errors.New("none of its roots can be used")

// noteFailure keeps what was known and marks it, or falls back.
func (l *loop) noteFailure(now time.Time, asOf uint64, err error) {
	l.failures++
	l.attempted = max(l.attempted, asOf)
	l.retryAt = now.Add(backoffAfter(l.failures))
	level := zerolog.DebugLevel
	if l.failures == 1 {
		level = zerolog.WarnLevel
	}
	l.m.log.WithLevel(level).Err(err).Bool("kept", l.asked != nil).Msg("the client did not give its roots")
	if l.asked != nil {
		l.rootsView.Stale, l.rootsView.Err = true, err
		if l.keptSince.IsZero() {
			l.keptSince = now
		}
	} else {
		l.fallBack(err)
	}
	l.settled = true
	l.publishState()
}

// expireKept ends the time for which roots are kept that cannot be refreshed.
func (l *loop) expireKept() {
	l.m.log.Warn().Err(l.rootsView.Err).Msg("roots that could not be refreshed for too long are dropped")
	l.asked = nil
	l.keptSince = time.Time{}
	l.fallBack(l.rootsView.Err)
	l.publishState()
}

func (l *loop) fallBack(err error) {
	l.rootsView = l.terms.fallbackView(l.m.fsys, l.m.generation.Add(1), CaseFailed, err)
}

// publishState replaces the state that readers see, and wakes those who wait for it.
func (l *loop) publishState() {
	if l.rootsView.Snapshot != l.marked {
		l.marked = l.rootsView.Snapshot
		l.mark.number++
	}
	if l.withCall != nil {
		l.mark.withCall = l.withCall.snapshot.generation
	}
	l.rootsView.mark = l.mark
	s := l.state
	s.changed = make(chan struct{})
	l.state.changed = s.changed
	old := l.m.pub.Swap(&s)
	close(old.changed)
	if s.settled && !old.settled {
		close(l.m.first) // the answer is published already
	}
}

// refreshWord replaces what Word tells, and wakes no one.
func (l *loop) refreshWord() {
	s := l.state
	l.m.pub.Store(&s)
}

// endLoop waits for the question under way and leaves a state that denies.
func (l *loop) endLoop() {
	if f := l.query; f != nil {
		f.cancel()
		for e := range f.events {
			if e.ended {
				break
			}
		}
	}
	l.query, l.asking, l.closed = nil, false, true
	l.keptSince = time.Time{}
	l.rootsView = RootsView{Snapshot: l.rootsView.Snapshot.withoutRoots(), Err: ErrClosed}
	l.settled = true
	l.publishState()
}
