package run

import (
	"sync"
	"time"
)

// Leases counts who may call a run. It may be used from any goroutine.
type Leases struct {
	mu      sync.Mutex
	held    int
	closing bool
	drained chan struct{} // closed when closing and none is held
	last    time.Time     // when the last one was given back
}

func (l *Leases) tryEnter() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing {
		return false
	}
	l.held++
	return true
}

// Leave gives a lease back.
func (l *Leases) Leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held--; l.held == 0 {
		l.last = time.Now()
	}
	if l.closing && l.held == 0 {
		close(l.drained)
	}
}

// Drained returns a channel that is closed once no lease is given any more and none is held.
func (l *Leases) Drained() <-chan struct{} { return l.drained }

// Close refuses new leases; Drained is closed when the last one has ended.
func (l *Leases) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing {
		return
	}
	l.closing = true
	if l.held == 0 {
		close(l.drained)
	}
}

// IsClosed reports whether no lease is given any more.
func (l *Leases) IsClosed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closing
}

// Unused returns how long no lease has been held, counted from started at the earliest; 0
// while one is held.
func (l *Leases) Unused(now, started time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.held > 0:
		return 0
	case l.last.After(started):
		return now.Sub(l.last)
	}
	return now.Sub(started)
}

// IsFree reports whether no lease is held.
func (l *Leases) IsFree() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held == 0 && !l.closing
}

// CloseUnused works like Close, but only if no lease is held; false: one is held.
func (l *Leases) CloseUnused() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held > 0 || l.closing {
		return false
	}
	l.closing = true
	close(l.drained)
	return true
}
