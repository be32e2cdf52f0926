package children

import (
	"sync"
	"time"
)

// patience ends calls that have been silent for too long. All calls of a run
// share one timer, which is set for the earliest end and not touched while
// calls come and go within it: a timer of its own for each call would cost
// more than the rest of the call.
type patience struct {
	mu    sync.Mutex
	timer *time.Timer
	due   time.Time           // what timer is set for; zero: not set
	open  silence             // the ring of those that wait begins and ends here
	calls map[string]*silence // by raw progress token
	held  int                 // how many hold the clock
	since time.Time           // when the first of them began to
	ended bool                // a call has ended by its time since the last look
	over  bool

	look time.Duration // after which, and how often, a child is looked at that leaves calls waiting
	slow chan struct{} // holds a token when it is time for that, or a call has waited in vain
}

// silence is one call that has not been answered.
type silence struct {
	next, prev *silence // nil: it does not wait
	begun      time.Time
	until      time.Time
	limit      time.Duration // 0: none
	token      string
	call       expirer
}

// An expirer is told, on a goroutine of its own, that its time is over.
type expirer interface{ expired() }

type expireFunc func()

func (f expireFunc) expired() { f() }

func newPatience(look time.Duration) *patience {
	p := &patience{look: look, calls: map[string]*silence{}, slow: make(chan struct{}, 1)}
	p.open.next, p.open.prev = &p.open, &p.open
	return p
}

// begin starts a call's patience: it is told once, unless it has ended before,
// when the child has been silent for limit, where that is not 0. token is the raw progress token,
// "" for none.
func (p *patience) begin(s *silence, limit time.Duration, token string, call expirer) {
	now := time.Now()
	s.begun, s.until, s.limit, s.token, s.call = now, now.Add(limit), limit, token, call
	p.mu.Lock()
	defer p.mu.Unlock()
	s.next, s.prev = &p.open, p.open.prev
	s.next.prev, s.prev.next = s, s
	if token != "" {
		p.calls[token] = s
	}
	next := p.look
	if limit > 0 {
		next = min(next, limit)
	}
	p.set(now.Add(next), next)
}

// waited returns how long the child has left the call waiting that came first, 0
// where none waits or the child itself waits for somebody; and whether one has
// ended by its time since this was asked last.
func (p *patience) waited(now time.Time) (longest time.Duration, inVain bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	inVain, p.ended = p.ended, false
	if first := p.open.next; first != &p.open && p.held == 0 {
		longest = now.Sub(first.begun)
	}
	return longest, inVain
}

// unlink takes a call out of the ring. It is called with mu held.
func (s *silence) unlink() {
	if s.next != nil {
		s.next.prev, s.prev.next = s.prev, s.next
		s.next, s.prev = nil, nil
	}
}

// set sees to it that the timer fires at until, which is in d. It is called
// with mu held.
func (p *patience) set(until time.Time, d time.Duration) {
	if p.over || !p.due.IsZero() && !until.Before(p.due) {
		return
	}
	p.due = until
	if p.timer == nil {
		p.timer = time.AfterFunc(d, p.check)
		return
	}
	p.timer.Reset(d)
}

// end forgets a call.
func (p *patience) end(s *silence) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s.unlink()
	if s.token != "" && p.calls[s.token] == s {
		delete(p.calls, s.token)
	}
}

// progress notes that the child works on the call with this token.
func (p *patience) progress(token []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.calls[string(token)]; s != nil {
		s.begun = time.Now()
		s.until = s.begun.Add(s.limit)
	}
}

// hold stops the clock of all calls until release: the child waits for somebody
// else, and which of its calls for that cannot always be told.
func (p *patience) hold() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held++; p.held == 1 {
		p.since = time.Now()
	}
}

// release lets the clock run again, where nobody else holds it. No call has
// used up any of the time in between.
func (p *patience) release() {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held--; p.held > 0 {
		return
	}
	for s := p.open.next; s != &p.open; s = s.next {
		s.begun = now // heard of
		if s.limit == 0 {
			continue
		}
		from := p.since
		if heard := s.until.Add(-s.limit); heard.After(from) {
			from = heard
		}
		s.until = s.until.Add(now.Sub(from))
		p.set(s.until, s.until.Sub(now))
	}
	if p.open.next != &p.open {
		p.set(now.Add(p.look), p.look)
	}
}

// check ends what has been silent for too long and waits for the next.
func (p *patience) check() {
	now := time.Now()
	var expired []*silence
	p.mu.Lock()
	p.due = time.Time{}
	if p.held > 0 {
		p.mu.Unlock()
		return // release sets the timer
	}
	var next time.Time
	long := false
	for s, behind := p.open.next, (*silence)(nil); s != &p.open; s = behind {
		behind = s.next
		long = long || now.Sub(s.begun) >= p.look
		if s.limit == 0 {
			continue
		}
		if !s.until.After(now) {
			expired = append(expired, s)
			s.unlink()
		} else if next.IsZero() || s.until.Before(next) {
			next = s.until
		}
	}
	if again := now.Add(p.look); p.open.next != &p.open && (next.IsZero() || next.After(again)) {
		next = again
	}
	if !next.IsZero() {
		p.set(next, next.Sub(now))
	}
	p.ended = p.ended || len(expired) > 0
	p.mu.Unlock()
	if long || len(expired) > 0 {
		poke(p.slow)
	}
	for _, s := range expired {
		s.call.expired()
	}
}

// stop ends the timer for good.
func (p *patience) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	if p.timer != nil {
		p.timer.Stop()
	}
}
