package turns

import (
	"context"
	"slices"
	"sync"
	"time"
)

// A ServerQueue has the requests of one server: the ones that are under way, and the ones that wait.
type ServerQueue struct {
	server string

	mu         sync.Mutex
	gauges     []*gauge
	sessions   map[TurnOwner]*sessionShare
	principals map[TurnOwner]*principalShare
	running    map[*ServerTurn]struct{}
	waiting    int
	round      uint64 // counts what has begun
	arrivals   uint64 // counts sessions and principals
}

// A TurnOwner is the one whose request it is.
type TurnOwner struct {
	Principal string // "": the session stands for itself
	Session   string
}

// principal returns the key of what an owner shares its turns with.
func (o TurnOwner) principal() TurnOwner {
	if o.Principal == "" {
		return o
	}
	return TurnOwner{Principal: o.Principal}
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
	waiting   []*ServerTurn // the first one first
}

// A ServerTurn is the right of one request to be with its server, or waits to be that. A nil ServerTurn bounds nothing.
type ServerTurn struct {
	queue      *ServerQueue
	owner      TurnOwner
	name       string
	gauges     []*gauge
	fullGauges []*gauge      // those of gauges that had no room when it came: it waits in their queues
	begun      chan struct{} // closed once it may begin; nil: it could at once
	over       bool          // guarded by the mutex of the queue
}

func newServerQueue(server string) *ServerQueue {
	return &ServerQueue{server: server, sessions: map[TurnOwner]*sessionShare{}, principals: map[TurnOwner]*principalShare{}, running: map[*ServerTurn]struct{}{}, round: 1}
}

// TakeTurn takes the turn of a request by the name of its tool, or by its method. waits: it may not begin before AwaitBegin returns. The
// error is an *ExceededError. A session without requests finds a place in any queue: no other session can fill it up.
func (q *ServerQueue) TakeTurn(of TurnOwner, name string) (t *ServerTurn, waits bool, err error) {
	now := time.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	t = &ServerTurn{queue: q, owner: of, name: name, gauges: q.gaugesOf(name)}
	isNew := q.sessions[of] == nil
	for _, g := range t.gauges {
		if again := g.checkRate(now); again > 0 {
			return nil, false, q.exceededError(g, true, again)
		}
		if g.hasRoom() {
			continue
		}
		if waits = true; g.queued >= g.Queue && (g.Queue == 0 || !isNew) {
			return nil, false, q.exceededError(g, false, retryAfter)
		}
	}
	s := q.enterSession(of)
	if !waits {
		q.beginTurn(t, s, now)
		return t, false, nil
	}
	t.begun = make(chan struct{})
	s.waiting = append(s.waiting, t)
	t.noteFull()
	q.countWaiting(t, 1)
	return t, true, nil
}

// enterSession returns a session, which is a new one if it has no requests.
func (q *ServerQueue) enterSession(of TurnOwner) *sessionShare {
	if s := q.sessions[of]; s != nil {
		return s
	}
	p := q.principals[of.principal()]
	if p == nil {
		p = &principalShare{share: q.newShare()}
		q.principals[of.principal()] = p
	}
	p.sessions++
	s := &sessionShare{share: q.newShare(), principal: p}
	q.sessions[of] = s
	return s
}

func (q *ServerQueue) newShare() share {
	q.arrivals++
	return share{served: q.round - 1, number: q.arrivals}
}

func (q *ServerQueue) exceededError(g *gauge, ofRate bool, again time.Duration) error {
	return &ExceededError{Server: q.server, Pattern: g.pattern, Bound: g.Bound, OfRate: ofRate, Again: again}
}

func (q *ServerQueue) gaugesOf(name string) (fit []*gauge) {
	for _, g := range q.gauges {
		if g.countsName(name) {
			fit = append(fit, g)
		}
	}
	return fit
}

func (t *ServerTurn) hasRoom() bool {
	return !slices.ContainsFunc(t.gauges, func(g *gauge) bool { return !g.hasRoom() })
}

// noteFull notes in whose queues the request waits.
func (t *ServerTurn) noteFull() {
	t.fullGauges = nil
	for _, g := range t.gauges {
		if !g.hasRoom() {
			t.fullGauges = append(t.fullGauges, g)
		}
	}
}

func (q *ServerQueue) countWaiting(t *ServerTurn, n int) {
	q.waiting += n
	q.sessions[t.owner].principal.waiting += n
	for _, g := range t.gauges {
		g.waiting += n
	}
	for _, g := range t.fullGauges {
		g.queued += n
	}
}

// beginTurn expects the caller to hold mu, as all below do.
func (q *ServerQueue) beginTurn(t *ServerTurn, s *sessionShare, now time.Time) {
	for _, g := range t.gauges {
		g.countBegun(now)
	}
	q.running[t] = struct{}{}
	q.round++
	for _, share := range []*share{&s.share, &s.principal.share} {
		share.running, share.served = share.running+1, q.round
	}
}

// AwaitBegin waits until the request may begin. With an error, which is the cause of the end of ctx, it has left the queue.
func (t *ServerTurn) AwaitBegin(ctx context.Context) error {
	select {
	case <-t.begun:
		return nil
	case <-ctx.Done():
		t.End()
		return context.Cause(ctx)
	}
}

// IsOf reports whether the turn is of a queue, for requests of that name. A nil ServerTurn is of none.
func (t *ServerTurn) IsOf(q *ServerQueue, name string) bool {
	return t != nil && t.queue == q && t.name == name
}

// PlaceInQueue returns how many requests begin before it, itself counted, as far as that is known, of how many that wait. It is 0
// once the request may begin.
func (t *ServerTurn) PlaceInQueue() (place, of int) {
	q := t.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	mine := q.sessions[t.owner]
	if mine == nil {
		return 0, q.waiting
	}
	at := slices.Index(mine.waiting, t)
	if at < 0 {
		return 0, q.waiting
	}
	place = at + 1
	for _, s := range q.sessions {
		if s.principal == mine.principal && s != mine {
			place += countBefore(&s.share, &mine.share, len(s.waiting), at+1)
		}
	}
	own := place
	for _, p := range q.principals {
		if p != mine.principal {
			place += countBefore(&p.share, &mine.principal.share, p.waiting, own)
		}
	}
	return place, q.waiting
}

// countBefore returns how many of the waiting requests of one begin before the request of another one that is the nth of its own.
func countBefore(one, another *share, waiting, nth int) int {
	if !one.goesBefore(another) {
		nth--
	}
	return min(waiting, nth)
}

// End gives the turn back, or leaves the queue. Calling it again does nothing, as with nil.
func (t *ServerTurn) End() {
	if t == nil {
		return
	}
	q := t.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if t.over {
		return
	}
	t.over = true
	s := q.sessions[t.owner]
	if _, runs := q.running[t]; runs {
		delete(q.running, t)
		s.running--
		s.principal.running--
		for _, g := range t.gauges {
			g.running--
		}
	} else {
		s.waiting = slices.DeleteFunc(s.waiting, func(other *ServerTurn) bool { return other == t })
		q.countWaiting(t, -1)
	}
	q.forgetIdle(t.owner)
	q.serveWaiting()
}

func (q *ServerQueue) forgetIdle(of TurnOwner) {
	s := q.sessions[of]
	if s.running > 0 || len(s.waiting) > 0 {
		return
	}
	delete(q.sessions, of)
	if s.principal.sessions--; s.principal.sessions == 0 {
		delete(q.principals, of.principal())
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
func (q *ServerQueue) serveWaiting() {
	for q.waiting > 0 {
		var next *sessionShare
		var turn int
		for _, s := range q.sessions {
			if next != nil && !s.goesBefore(next) {
				continue
			}
			if i := slices.IndexFunc(s.waiting, (*ServerTurn).hasRoom); i >= 0 {
				next, turn = s, i
			}
		}
		if next == nil {
			return
		}
		t := next.waiting[turn]
		next.waiting = slices.Delete(next.waiting, turn, turn+1)
		q.countWaiting(t, -1)
		q.beginTurn(t, next, time.Now())
		close(t.begun)
	}
}

// setLimits puts other limits in force. What is under way and what waits stays, also if it is more than they allow.
func (q *ServerQueue) setLimits(limits Limits) {
	q.mu.Lock()
	defer q.mu.Unlock()
	was := q.gauges
	q.gauges = nil
	add := func(pattern string, b Bound) {
		g := &gauge{Bound: b, pattern: pattern}
		if i := slices.IndexFunc(was, func(g *gauge) bool { return g.pattern == pattern }); i >= 0 && b.Rate.N > 0 {
			g.began = was[i].began
		}
		q.gauges = append(q.gauges, g)
	}
	add("", limits.All)
	for _, b := range limits.Tools {
		add(b.Pattern, b.Bound)
	}
	for t := range q.running {
		t.gauges = q.gaugesOf(t.name)
		for _, g := range t.gauges {
			g.running++
		}
	}
	q.waiting = 0
	for _, p := range q.principals {
		p.waiting = 0
	}
	for _, s := range q.sessions {
		for _, t := range s.waiting {
			t.gauges = q.gaugesOf(t.name)
			t.noteFull()
			q.countWaiting(t, 1)
		}
	}
	q.serveWaiting()
}
