package health

import (
	"sync"
	"time"

	"mcphub/internal/worker"
)

// CallTimers end calls for which nothing was heard of the child for too long. All calls of
// a run share one timer, which is set for the earliest end and not touched while
// calls come and go within it: a timer of its own for each call would cost
// more than the rest of the call.
type CallTimers struct {
	mu      sync.Mutex
	timer   *time.Timer
	due     time.Time               // what timer is set for; zero: not set
	ring    WaitingCall             // the head of the ring of calls that wait: next is the oldest call, prev the newest
	calls   map[string]*WaitingCall // by raw progress token
	holders int                     // how many hold the clock
	since   time.Time               // when the first of them did
	ended   bool                    // a call has ended by its time since the last look
	stopped bool

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

// An Expirer is told that its time is over. All are told by the goroutine of the timer, one after the other, so Expired must not
// wait.
type Expirer interface{ Expired() }

// An ExpireFunc is an Expirer that is a function.
type ExpireFunc func()

// Expired calls f.
func (f ExpireFunc) Expired() { f() }

// NewCallTimers returns CallTimers whose Slow delivers at this interval while calls wait.
func NewCallTimers(look time.Duration) *CallTimers {
	t := &CallTimers{every: look, calls: map[string]*WaitingCall{}, slow: make(chan struct{}, 1)}
	t.ring.next, t.ring.prev = &t.ring, &t.ring
	return t
}

// Start starts the idle timeout of a call. If nothing is heard of the call for limit, call.Expired is called, once. It is not called after
// End, nor if limit is 0. token is the raw progress token of the call, "" for none.
func (t *CallTimers) Start(w *WaitingCall, limit time.Duration, token string, call Expirer) {
	now := time.Now()
	w.started, w.until, w.limit, w.token, w.call = now, now.Add(limit), limit, token, call
	t.mu.Lock()
	defer t.mu.Unlock()
	w.next, w.prev = &t.ring, t.ring.prev
	w.next.prev, w.prev.next = w, w
	if token != "" {
		t.calls[token] = w
	}
	next := t.every
	if limit > 0 {
		next = min(next, limit)
	}
	t.setTimer(now.Add(next), next)
}

// Waited returns how long the oldest call has waited for the child, 0 where none does
// or the child itself waits for someone; and whether the time of one has run out since
// Waited was called last.
func (t *CallTimers) Waited(now time.Time) (longest time.Duration, inVain bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	inVain, t.ended = t.ended, false
	if first := t.ring.next; first != &t.ring && t.holders == 0 {
		longest = now.Sub(first.started)
	}
	return longest, inVain
}

// unlinkCall takes a call out of the ring. It is called with mu held.
func (s *WaitingCall) unlinkCall() {
	if s.next != nil {
		s.next.prev, s.prev.next = s.prev, s.next
		s.next, s.prev = nil, nil
	}
}

// setTimer sees to it that the timer fires at until, which is in d. It is called
// with mu held.
func (t *CallTimers) setTimer(until time.Time, d time.Duration) {
	if t.stopped || !t.due.IsZero() && !until.Before(t.due) {
		return
	}
	t.due = until
	if t.timer == nil {
		t.timer = time.AfterFunc(d, t.checkCalls)
		return
	}
	t.timer.Reset(d)
}

// End forgets a call.
func (t *CallTimers) End(w *WaitingCall) {
	t.mu.Lock()
	defer t.mu.Unlock()
	w.unlinkCall()
	if w.token != "" && t.calls[w.token] == w {
		delete(t.calls, w.token)
	}
}

// Progress remembers that the child works on the call with this token.
func (t *CallTimers) Progress(token []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.calls[string(token)]; s != nil {
		s.started = time.Now()
		s.until = s.started.Add(s.limit)
	}
}

// Hold stops the clock of all calls until Release: the child waits for someone
// else, and which of its calls for that cannot always be told.
func (t *CallTimers) Hold() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.holders++; t.holders == 1 {
		t.since = time.Now()
	}
}

// Release lets the clock run again, if no one else holds it. No call has
// used up any of the time in between.
func (t *CallTimers) Release() {
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.holders--; t.holders > 0 {
		return
	}
	for s := t.ring.next; s != &t.ring; s = s.next {
		s.started = now // heard of
		if s.limit == 0 {
			continue
		}
		from := t.since
		if heard := s.until.Add(-s.limit); heard.After(from) {
			from = heard
		}
		s.until = s.until.Add(now.Sub(from))
		t.setTimer(s.until, s.until.Sub(now))
	}
	if t.ring.next != &t.ring {
		t.setTimer(now.Add(t.every), t.every)
	}
}

// checkCalls ends what nothing was heard of for too long and waits for the next.
func (t *CallTimers) checkCalls() {
	now := time.Now()
	var expired []*WaitingCall
	t.mu.Lock()
	t.due = time.Time{}
	if t.holders > 0 {
		t.mu.Unlock()
		return // Release sets the timer
	}
	var next time.Time
	long := false
	for s, behind := t.ring.next, (*WaitingCall)(nil); s != &t.ring; s = behind {
		behind = s.next
		long = long || now.Sub(s.started) >= t.every
		if s.limit == 0 {
			continue
		}
		if !s.until.After(now) {
			expired = append(expired, s)
			s.unlinkCall()
		} else if next.IsZero() || s.until.Before(next) {
			next = s.until
		}
	}
	if again := now.Add(t.every); t.ring.next != &t.ring && (next.IsZero() || next.After(again)) {
		next = again
	}
	if !next.IsZero() {
		t.setTimer(next, next.Sub(now))
	}
	t.ended = t.ended || len(expired) > 0
	t.mu.Unlock()
	if long || len(expired) > 0 {
		t.LookNow()
	}
	for _, s := range expired {
		s.call.Expired()
	}
}

// Stop ends the timer for good.
func (t *CallTimers) Stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopped = true
	if t.timer != nil {
		t.timer.Stop()
	}
}

// Slow delivers when it is time to look at the child, or a call has waited in vain.
func (t *CallTimers) Slow() <-chan struct{} { return t.slow }

// LookNow has Slow deliver.
func (t *CallTimers) LookNow() { worker.Signal(t.slow) }
