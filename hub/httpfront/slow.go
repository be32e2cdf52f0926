package httpfront

import (
	"sync"
	"time"
)

// upgradeTime is how long a request takes before it is answered as a stream, which
// shows life.
const upgradeTime = 5 * time.Second

// slowReplies notices requests that take longer than upgradeTime. All wait equally
// long, so they stand in the order in which they came and one timer serves them
// all: a timer for each would have to wake the poller with every call.
type slowReplies struct {
	mu    sync.Mutex
	first *Reply
	last  *Reply
	timer *time.Timer // nil while it is not set
}

// slowPlace is the place of a reply in slowReplies, whose mutex guards it.
type slowPlace struct {
	before, after *Reply
	listed        bool
}

// add watches a reply until remove.
func (l *slowReplies) add(x *Reply) {
	l.mu.Lock()
	defer l.mu.Unlock()
	x.slow = slowPlace{before: l.last, listed: true}
	if l.last == nil {
		l.first = x
	} else {
		l.last.slow.after = x
	}
	l.last = x
	if l.timer == nil {
		l.timer = time.AfterFunc(upgradeTime, l.due)
	}
}

func (l *slowReplies) remove(x *Reply) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unlink(x)
}

// unlink is for callers that hold mu.
func (l *slowReplies) unlink(x *Reply) {
	if !x.slow.listed {
		return
	}
	if x.slow.before == nil {
		l.first = x.slow.after
	} else {
		x.slow.before.slow.after = x.slow.after
	}
	if x.slow.after == nil {
		l.last = x.slow.before
	} else {
		x.slow.after.slow.before = x.slow.before
	}
	x.slow = slowPlace{}
}

// due tells those whose time has come, and waits for the next one.
func (l *slowReplies) due() {
	l.mu.Lock()
	var late []*Reply
	for l.first != nil && time.Since(l.first.started) >= upgradeTime {
		x := l.first
		l.unlink(x)
		late = append(late, x)
	}
	l.timer = nil
	if l.first != nil {
		l.timer = time.AfterFunc(time.Until(l.first.started.Add(upgradeTime)), l.due)
	}
	l.mu.Unlock()
	for _, x := range late {
		x.late()
	}
}
