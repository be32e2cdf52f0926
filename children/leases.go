package children

import (
	"sync"
	"time"
)

// leases counts who may call a run.
type leases struct {
	mu      sync.Mutex
	held    int
	closing bool
	idle    chan struct{} // closed when closing and none is held
	last    time.Time     // when the last one was given back
}

func (l *leases) enter() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing {
		return false
	}
	l.held++
	return true
}

func (l *leases) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held--; l.held == 0 {
		l.last = time.Now()
	}
	if l.closing && l.held == 0 {
		close(l.idle)
	}
}

// close refuses new leases; idle is closed when the last one has ended.
func (l *leases) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing {
		return
	}
	l.closing = true
	if l.held == 0 {
		close(l.idle)
	}
}

func (l *leases) closed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closing
}

// unused returns how long none has been held, since started at the most; 0
// while one is.
func (l *leases) unused(now, started time.Time) time.Duration {
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

// free reports whether no lease is held.
func (l *leases) free() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held == 0 && !l.closing
}

// closeUnused closes where no lease is held; false where one is.
func (l *leases) closeUnused() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held > 0 || l.closing {
		return false
	}
	l.closing = true
	close(l.idle)
	return true
}
