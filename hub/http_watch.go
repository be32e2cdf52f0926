package hub

import (
	"sync"
	"time"
)

// A watch notices requests that take longer than upgradeTime. All wait equally
// long, so they stand in the order in which they came and one timer serves them
// all: a timer for each would have to wake the poller with every call.
type watch struct {
	mu    sync.Mutex
	first *exchange
	last  *exchange
	timer *time.Timer // nil while it is not set
}

// lateness is an exchange's place in a watch; guarded by the watch's mutex.
type lateness struct {
	before, after *exchange
	listed        bool
}

// add watches an exchange until remove.
func (l *watch) add(x *exchange) {
	l.mu.Lock()
	defer l.mu.Unlock()
	x.late = lateness{before: l.last, listed: true}
	if l.last == nil {
		l.first = x
	} else {
		l.last.late.after = x
	}
	l.last = x
	if l.timer == nil {
		l.timer = time.AfterFunc(upgradeTime, l.due)
	}
}

func (l *watch) remove(x *exchange) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unlink(x)
}

// unlink is for callers that hold mu.
func (l *watch) unlink(x *exchange) {
	if !x.late.listed {
		return
	}
	if x.late.before == nil {
		l.first = x.late.after
	} else {
		x.late.before.late.after = x.late.after
	}
	if x.late.after == nil {
		l.last = x.late.before
	} else {
		x.late.after.late.before = x.late.before
	}
	x.late = lateness{}
}

// due tells those whose time has come, and waits for the next one.
func (l *watch) due() {
	l.mu.Lock()
	var late []*exchange
	for l.first != nil && time.Since(l.first.began) >= upgradeTime {
		x := l.first
		l.unlink(x)
		late = append(late, x)
	}
	l.timer = nil
	if l.first != nil {
		l.timer = time.AfterFunc(time.Until(l.first.began.Add(upgradeTime)), l.due)
	}
	l.mu.Unlock()
	for _, x := range late {
		x.tarry()
	}
}
