package health

import (
	"sync"
	"time"

	"mcphub/internal/worker"
)

// An IdleTimeout ends calls for which nothing was heard of the child for too long. All calls of a run
// share one timer, which is set for the earliest end and not touched while
// calls come and go within it: a timer of its own for each call would cost
// more than the rest of the call.
type IdleTimeout struct {
	mu    sync.Mutex
	timer *time.Timer
	due   time.Time               // what timer is set for; zero: not set
	open  WaitingCall             // the ring of those that wait begins and ends here
	calls map[string]*WaitingCall // by raw progress token
	held  int                     // how many hold the clock
	since time.Time               // when the first of them did
	ended bool                    // a call has ended by its time since the last look
	over  bool

	every time.Duration // after which, and how often, a child is looked at that leaves calls waiting
	slow  chan struct{} // holds a token when it is time for that, or a call has waited in vain
}

// A WaitingCall is one call that has not been answered.
type WaitingCall struct {
	next, prev *WaitingCall // nil: it does not wait
	started    time.Time
	until      time.Time
	limit      time.Duration // 0: none
	token      string
	call       Expirer
}

// An Expirer is told, on a goroutine of its own, that its time is over.
type Expirer interface{ Expired() }

// An ExpireFunc is an Expirer that is a function.
type ExpireFunc func()

// Expired calls f.
func (f ExpireFunc) Expired() { f() }

// NewIdleTimeout returns one that has Slow deliver so often while calls wait.
func NewIdleTimeout(look time.Duration) *IdleTimeout {
	p := &IdleTimeout{every: look, calls: map[string]*WaitingCall{}, slow: make(chan struct{}, 1)}
	p.open.next, p.open.prev = &p.open, &p.open
	return p
}

// Start starts a call's idle timeout: it is told once, unless it has ended before,
// when nothing was heard of it for limit, where that is not 0. token is the raw progress token,
// "" for none.
func (p *IdleTimeout) Start(s *WaitingCall, limit time.Duration, token string, call Expirer) {
	now := time.Now()
	s.started, s.until, s.limit, s.token, s.call = now, now.Add(limit), limit, token, call
	p.mu.Lock()
	defer p.mu.Unlock()
	s.next, s.prev = &p.open, p.open.prev
	s.next.prev, s.prev.next = s, s
	if token != "" {
		p.calls[token] = s
	}
	next := p.every
	if limit > 0 {
		next = min(next, limit)
	}
	p.set(now.Add(next), next)
}

// Waited returns how long the child has left the call waiting that came first, 0
// where none waits or the child itself waits for somebody; and whether one has
// ended by its time since this was asked last.
func (p *IdleTimeout) Waited(now time.Time) (longest time.Duration, inVain bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	inVain, p.ended = p.ended, false
	if first := p.open.next; first != &p.open && p.held == 0 {
		longest = now.Sub(first.started)
	}
	return longest, inVain
}

// unlink takes a call out of the ring. It is called with mu held.
func (s *WaitingCall) unlink() {
	if s.next != nil {
		s.next.prev, s.prev.next = s.prev, s.next
		s.next, s.prev = nil, nil
	}
}

// set sees to it that the timer fires at until, which is in d. It is called
// with mu held.
func (p *IdleTimeout) set(until time.Time, d time.Duration) {
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

// End forgets a call.
func (p *IdleTimeout) End(s *WaitingCall) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s.unlink()
	if s.token != "" && p.calls[s.token] == s {
		delete(p.calls, s.token)
	}
}

// Progress notes that the child works on the call with this token.
func (p *IdleTimeout) Progress(token []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.calls[string(token)]; s != nil {
		s.started = time.Now()
		s.until = s.started.Add(s.limit)
	}
}

// Hold stops the clock of all calls until release: the child waits for somebody
// else, and which of its calls for that cannot always be told.
func (p *IdleTimeout) Hold() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held++; p.held == 1 {
		p.since = time.Now()
	}
}

// Release lets the clock run again, where nobody else holds it. No call has
// used up any of the time in between.
func (p *IdleTimeout) Release() {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held--; p.held > 0 {
		return
	}
	for s := p.open.next; s != &p.open; s = s.next {
		s.started = now // heard of
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
		p.set(now.Add(p.every), p.every)
	}
}

// check ends what nothing was heard of for too long and waits for the next.
func (p *IdleTimeout) check() {
	now := time.Now()
	var expired []*WaitingCall
	p.mu.Lock()
	p.due = time.Time{}
	if p.held > 0 {
		p.mu.Unlock()
		return // release sets the timer
	}
	var next time.Time
	long := false
	for s, behind := p.open.next, (*WaitingCall)(nil); s != &p.open; s = behind {
		behind = s.next
		long = long || now.Sub(s.started) >= p.every
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
	if again := now.Add(p.every); p.open.next != &p.open && (next.IsZero() || next.After(again)) {
		next = again
	}
	if !next.IsZero() {
		p.set(next, next.Sub(now))
	}
	p.ended = p.ended || len(expired) > 0
	p.mu.Unlock()
	if long || len(expired) > 0 {
		p.LookNow()
	}
	for _, s := range expired {
		s.call.Expired()
	}
}

// Stop ends the timer for good.
func (p *IdleTimeout) Stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	if p.timer != nil {
		p.timer.Stop()
	}
}

// Slow delivers when it is time to look at the child, or a call has waited in vain.
func (p *IdleTimeout) Slow() <-chan struct{} { return p.slow }

// LookNow has Slow deliver.
func (p *IdleTimeout) LookNow() { worker.Signal(p.slow) }
