package turns

import (
	"context"
	"slices"
	"sync"
	"time"
)

// A Line has the requests of one server: the ones that are under way, and the ones that wait.
type Line struct {
	server string

	mu       sync.Mutex
	gauges   []*gauge
	sessions map[string]*session
	running  map[*Turn]struct{}
	waiting  int
	round    uint64 // counts what has begun
	came     uint64 // counts sessions
}

// A session has turns, or waits for some.
type session struct {
	running int
	served  uint64  // the round in which it was served last; of a new one that before the round in which it came
	number  uint64  // tells two of one round apart
	waiting []*Turn // the first one first
}

// A Turn is the right of one request to be with its server, or waits to be that. A nil Turn bounds nothing.
type Turn struct {
	line          *Line
	session, name string
	gauges        []*gauge
	begun         chan struct{} // closed once it may begin; nil: it could at once
	over          bool          // guarded by the line's mutex
}

func newLine(server string) *Line {
	return &Line{server: server, sessions: map[string]*session{}, running: map[*Turn]struct{}{}, round: 1}
}

// TakeTurn takes the turn of a request of a session by the name of its tool, or by its method. waits: it may not begin before
// AwaitBegin returns. The error is an *ExceededError.
func (l *Line) TakeTurn(of, name string) (t *Turn, waits bool, err error) {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	t = &Turn{line: l, session: of, name: name, gauges: l.gaugesOf(name)}
	waits = !t.hasRoom()
	for _, g := range t.gauges {
		if again := g.checkRate(now); again > 0 {
			return nil, false, l.exceededError(g, true, again)
		}
		if waits && g.Calls > 0 && g.waiting >= g.Queue {
			return nil, false, l.exceededError(g, false, retryAfter)
		}
	}
	s := l.sessions[of]
	if s == nil {
		l.came++
		s = &session{served: l.round - 1, number: l.came}
		l.sessions[of] = s
	}
	if !waits {
		l.beginTurn(t, s, now)
		return t, false, nil
	}
	t.begun = make(chan struct{})
	s.waiting = append(s.waiting, t)
	l.countWaiting(t, 1)
	return t, true, nil
}

func (l *Line) exceededError(g *gauge, ofRate bool, again time.Duration) error {
	return &ExceededError{Server: l.server, Pattern: g.pattern, Bound: g.Bound, OfRate: ofRate, Again: again}
}

func (l *Line) gaugesOf(name string) (fit []*gauge) {
	for _, g := range l.gauges {
		if g.countsName(name) {
			fit = append(fit, g)
		}
	}
	return fit
}

func (t *Turn) hasRoom() bool {
	return !slices.ContainsFunc(t.gauges, func(g *gauge) bool { return !g.hasRoom() })
}

func (l *Line) countWaiting(t *Turn, n int) {
	l.waiting += n
	for _, g := range t.gauges {
		g.waiting += n
	}
}

// beginTurn expects the caller to hold mu, as all below do.
func (l *Line) beginTurn(t *Turn, s *session, now time.Time) {
	for _, g := range t.gauges {
		g.countBegun(now)
	}
	l.running[t] = struct{}{}
	l.round++
	s.running, s.served = s.running+1, l.round
}

// AwaitBegin waits until the request may begin. With an error, which is the cause of the end of ctx, it has left the line.
func (t *Turn) AwaitBegin(ctx context.Context) error {
	select {
	case <-t.begun:
		return nil
	case <-ctx.Done():
		t.End()
		return context.Cause(ctx)
	}
}

// IsOf reports whether the turn is of a line, for requests of that name. A nil Turn is of none.
func (t *Turn) IsOf(l *Line, name string) bool { return t != nil && t.line == l && t.name == name }

// PlaceInLine returns how many requests begin before it, itself counted, as far as that is known, of how many that wait. It is 0
// once the request may begin.
func (t *Turn) PlaceInLine() (place, of int) {
	l := t.line
	l.mu.Lock()
	defer l.mu.Unlock()
	mine := l.sessions[t.session]
	if mine == nil {
		return 0, l.waiting
	}
	at := slices.Index(mine.waiting, t)
	if at < 0 {
		return 0, l.waiting
	}
	place = at + 1
	for name, s := range l.sessions {
		switch {
		case name == t.session:
		case s.goesBefore(mine):
			place += min(len(s.waiting), at+1)
		default:
			place += min(len(s.waiting), at)
		}
	}
	return place, l.waiting
}

// End gives the turn back, or leaves the line. Calling it again does nothing, as with nil.
func (t *Turn) End() {
	if t == nil {
		return
	}
	l := t.line
	l.mu.Lock()
	defer l.mu.Unlock()
	if t.over {
		return
	}
	t.over = true
	s := l.sessions[t.session]
	if _, runs := l.running[t]; runs {
		delete(l.running, t)
		s.running--
		for _, g := range t.gauges {
			g.running--
		}
	} else {
		s.waiting = slices.DeleteFunc(s.waiting, func(other *Turn) bool { return other == t })
		l.countWaiting(t, -1)
	}
	l.forgetIdle(t.session)
	l.serveWaiting()
}

func (l *Line) forgetIdle(name string) {
	if s := l.sessions[name]; s.running == 0 && len(s.waiting) == 0 {
		delete(l.sessions, name)
	}
}

// goesBefore reports whether a session is served before another one.
func (s *session) goesBefore(other *session) bool {
	if s.running != other.running {
		return s.running < other.running
	}
	if s.served != other.served {
		return s.served < other.served
	}
	return s.number < other.number
}

// serveWaiting has all begin for which there is room.
func (l *Line) serveWaiting() {
	for l.waiting > 0 {
		var next *session
		var turn int
		for _, s := range l.sessions {
			if next != nil && !s.goesBefore(next) {
				continue
			}
			if i := slices.IndexFunc(s.waiting, (*Turn).hasRoom); i >= 0 {
				next, turn = s, i
			}
		}
		if next == nil {
			return
		}
		t := next.waiting[turn]
		next.waiting = slices.Delete(next.waiting, turn, turn+1)
		l.countWaiting(t, -1)
		l.beginTurn(t, next, time.Now())
		close(t.begun)
	}
}

// setLimits puts other limits in force. What is under way and what waits stays, also if it is more than they allow.
func (l *Line) setLimits(limits Limits) {
	l.mu.Lock()
	defer l.mu.Unlock()
	was := l.gauges
	l.gauges = nil
	add := func(pattern string, b Bound) {
		g := &gauge{Bound: b, pattern: pattern}
		if i := slices.IndexFunc(was, func(g *gauge) bool { return g.pattern == pattern }); i >= 0 && b.Rate.N > 0 {
			g.began = was[i].began
		}
		l.gauges = append(l.gauges, g)
	}
	add("", limits.All)
	for _, b := range limits.Tools {
		add(b.Pattern, b.Bound)
	}
	for t := range l.running {
		t.gauges = l.gaugesOf(t.name)
		for _, g := range t.gauges {
			g.running++
		}
	}
	l.waiting = 0
	for _, s := range l.sessions {
		for _, t := range s.waiting {
			t.gauges = l.gaugesOf(t.name)
			l.countWaiting(t, 1)
		}
	}
	l.serveWaiting()
}
