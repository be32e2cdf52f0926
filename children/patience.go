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
	due   time.Time // what timer is set for; zero: not set
	open  map[*silence]struct{}
	calls map[string]*silence // by raw progress token
	over  bool
}

// silence is one call that has not been answered.
type silence struct {
	until  time.Time
	limit  time.Duration
	token  string
	expire func()
}

func newPatience() *patience {
	return &patience{open: map[*silence]struct{}{}, calls: map[string]*silence{}}
}

// begin starts a call's patience: expire is called, once and on a goroutine
// of its own, when the child has been silent for limit. token is the raw
// progress token, "" for none.
func (p *patience) begin(limit time.Duration, token string, expire func()) *silence {
	s := &silence{until: time.Now().Add(limit), limit: limit, token: token, expire: expire}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open[s] = struct{}{}
	if token != "" {
		p.calls[token] = s
	}
	p.set(s.until, limit)
	return s
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
	delete(p.open, s)
	if s.token != "" && p.calls[s.token] == s {
		delete(p.calls, s.token)
	}
}

// progress notes that the child works on the call with this token.
func (p *patience) progress(token []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.calls[string(token)]; s != nil {
		s.until = time.Now().Add(s.limit)
	}
}

// check ends what has been silent for too long and waits for the next.
func (p *patience) check() {
	now := time.Now()
	var expired []*silence
	p.mu.Lock()
	p.due = time.Time{}
	var next time.Time
	for s := range p.open {
		if !s.until.After(now) {
			expired = append(expired, s)
			delete(p.open, s)
		} else if next.IsZero() || s.until.Before(next) {
			next = s.until
		}
	}
	if !next.IsZero() {
		p.set(next, next.Sub(now))
	}
	p.mu.Unlock()
	for _, s := range expired {
		s.expire()
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
