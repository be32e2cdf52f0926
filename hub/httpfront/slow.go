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
	all   chain[Reply]
	timer *time.Timer // nil while it is not set
}

// addReply watches a reply until removeReply.
func (l *slowReplies) addReply(reply *Reply) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all.addNode(&reply.slow, reply)
	if l.timer == nil {
		l.timer = time.AfterFunc(upgradeTime, l.tellDue)
	}
}

func (l *slowReplies) removeReply(reply *Reply) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all.removeNode(&reply.slow)
}

// tellDue tells those whose time has come, and waits for the next one.
func (l *slowReplies) tellDue() {
	l.mu.Lock()
	var late []*Reply
	for l.all.first != nil && time.Since(l.all.first.value.started) >= upgradeTime {
		reply := l.all.first.value
		l.all.removeNode(&reply.slow)
		late = append(late, reply)
	}
	l.timer = nil
	if first := l.all.first; first != nil {
		l.timer = time.AfterFunc(time.Until(first.value.started.Add(upgradeTime)), l.tellDue)
	}
	l.mu.Unlock()
	for _, reply := range late {
		reply.noteLate()
	}
}
