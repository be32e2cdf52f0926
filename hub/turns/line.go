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

	mu         sync.Mutex
	gauges     []*gauge
	sessions   map[Owner]*sessionShare
	principals map[Owner]*principalShare
	running    map[*Turn]struct{}
	waiting    int
	round      uint64 // counts what has begun
	arrivals   uint64 // counts sessions and principals
}

// An Owner is the one whose request it is.
type Owner struct {
	Principal string // "": the session stands for itself
	Session   string
}

// principal returns the key of what an owner shares its turns with.
func (o Owner) principal() Owner {
	if o.Principal == "" {
		return o
	}
	return Owner{Principal: o.Principal}
}

// A share counts the turns that a principal, or a session, has had.
type share struct {
	running int
	served  uint64 // the round in which it was served last; of a new one that before the round in which it came
	number  uint64 // tells two of one round apart
}

// A principalShare has sessions.
type principalShare struct {
	share
	sessions int
	waiting  int // requests
}

// A sessionShare has turns, or waits for some.
type sessionShare struct {
	share
	principal *principalShare
	waiting   []*Turn // the first one first
}

// A Turn is the right of one request to be with its server, or waits to be that. A nil Turn bounds nothing.
type Turn struct {
	line       *Line
	owner      Owner
	name       string
	gauges     []*gauge
	fullGauges []*gauge      // those of gauges that had no room when it came: it waits in their queues
	begun      chan struct{} // closed once it may begin; nil: it could at once
	over       bool          // guarded by the line's mutex
}

func newLine(server string) *Line {
	return &Line{server: server, sessions: map[Owner]*sessionShare{}, principals: map[Owner]*principalShare{}, running: map[*Turn]struct{}{}, round: 1}
}

// TakeTurn takes the turn of a request by the name of its tool, or by its method. waits: it may not begin before AwaitBegin returns. The
// error is an *ExceededError. A session without requests finds a place in any queue: no other session can fill it up.
func (l *Line) TakeTurn(of Owner, name string) (t *Turn, waits bool, err error) {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	t = &Turn{line: l, owner: of, name: name, gauges: l.gaugesOf(name)}
	isNew := l.sessions[of] == nil
	for _, g := range t.gauges {
		if again := g.checkRate(now); again > 0 {
			return nil, false, l.exceededError(g, true, again)
		}
		if g.hasRoom() {
			continue
		}
		if waits = true; g.queued >= g.Queue && (g.Queue == 0 || !isNew) {
			return nil, false, l.exceededError(g, false, retryAfter)
		}
	}
	s := l.enterSession(of)
	if !waits {
		l.beginTurn(t, s, now)
		return t, false, nil
	}
	t.begun = make(chan struct{})
	s.waiting = append(s.waiting, t)
	t.noteFull()
	l.countWaiting(t, 1)
	return t, true, nil
}

// enterSession returns a session, which is a new one if it has no requests.
func (l *Line) enterSession(of Owner) *sessionShare {
	if s := l.sessions[of]; s != nil {
		return s
	}
	p := l.principals[of.principal()]
	if p == nil {
		p = &principalShare{share: l.newShare()}
		l.principals[of.principal()] = p
	}
	p.sessions++
	s := &sessionShare{share: l.newShare(), principal: p}
	l.sessions[of] = s
	return s
}

func (l *Line) newShare() share {
	l.arrivals++
	return share{served: l.round - 1, number: l.arrivals}
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

// noteFull notes in whose queues the request waits.
func (t *Turn) noteFull() {
	t.fullGauges = nil
	for _, g := range t.gauges {
		if !g.hasRoom() {
			t.fullGauges = append(t.fullGauges, g)
		}
	}
}

func (l *Line) countWaiting(t *Turn, n int) {
	l.waiting += n
	l.sessions[t.owner].principal.waiting += n
	for _, g := range t.gauges {
		g.waiting += n
	}
	for _, g := range t.fullGauges {
		g.queued += n
	}
}

// beginTurn expects the caller to hold mu, as all below do.
func (l *Line) beginTurn(t *Turn, s *sessionShare, now time.Time) {
	for _, g := range t.gauges {
		g.countBegun(now)
	}
	l.running[t] = struct{}{}
	l.round++
	for _, share := range []*share{&s.share, &s.principal.share} {
		share.running, share.served = share.running+1, l.round
	}
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
	mine := l.sessions[t.owner]
	if mine == nil {
		return 0, l.waiting
	}
	at := slices.Index(mine.waiting, t)
	if at < 0 {
		return 0, l.waiting
	}
	place = at + 1
	for _, s := range l.sessions {
		if s.principal == mine.principal && s != mine {
			place += countBefore(&s.share, &mine.share, len(s.waiting), at+1)
		}
	}
	own := place
	for _, p := range l.principals {
		if p != mine.principal {
			place += countBefore(&p.share, &mine.principal.share, p.waiting, own)
		}
	}
	return place, l.waiting
}

// countBefore returns how many of the waiting requests of one begin before the request of another one that is the nth of its own.
func countBefore(one, another *share, waiting, nth int) int {
	if !one.goesBefore(another) {
		nth--
	}
	return min(waiting, nth)
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
	s := l.sessions[t.owner]
	if _, runs := l.running[t]; runs {
		delete(l.running, t)
		s.running--
		s.principal.running--
		for _, g := range t.gauges {
			g.running--
		}
	} else {
		s.waiting = slices.DeleteFunc(s.waiting, func(other *Turn) bool { return other == t })
		l.countWaiting(t, -1)
	}
	l.forgetIdle(t.owner)
	l.serveWaiting()
}

func (l *Line) forgetIdle(of Owner) {
	s := l.sessions[of]
	if s.running > 0 || len(s.waiting) > 0 {
		return
	}
	delete(l.sessions, of)
	if s.principal.sessions--; s.principal.sessions == 0 {
		delete(l.principals, of.principal())
	}
}

// goesBefore reports whether a session is served before another one: by their principals, and of one principal by themselves.
func (s *sessionShare) goesBefore(other *sessionShare) bool {
	if s.principal != other.principal {
		return s.principal.share.goesBefore(&other.principal.share)
	}
	return s.share.goesBefore(&other.share)
}

func (s *share) goesBefore(other *share) bool {
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
		var next *sessionShare
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
	for _, p := range l.principals {
		p.waiting = 0
	}
	for _, s := range l.sessions {
		for _, t := range s.waiting {
			t.gauges = l.gaugesOf(t.name)
			t.noteFull()
			l.countWaiting(t, 1)
		}
	}
	l.serveWaiting()
}
