package httpfront

import (
	"sync"
	"time"
)

// upgradeTime is how long a request takes before it is answered as a stream, which
// shows life.
const upgradeTime = 5 * time.Second

// slowExchanges notices requests that take longer than upgradeTime. All wait equally
// long, so they stand in the order in which they came and one timer serves them
// all: a timer for each would have to wake the poller with every call.
type slowExchanges struct {
	mu    sync.Mutex
	all   chain[PostExchange]
	timer *time.Timer // nil while it is not set
}

// addExchange watches an exchange until removeExchange.
func (l *slowExchanges) addExchange(exchange *PostExchange) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all.addNode(&exchange.slow, exchange)
	if l.timer == nil {
		l.timer = time.AfterFunc(upgradeTime, l.tellDue)
	}
}

func (l *slowExchanges) removeExchange(exchange *PostExchange) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all.removeNode(&exchange.slow)
}

// tellDue tells those whose time has come, and waits for the next one.
func (l *slowExchanges) tellDue() {
	l.mu.Lock()
	var late []*PostExchange
	for l.all.first != nil && time.Since(l.all.first.value.started) >= upgradeTime {
		exchange := l.all.first.value
		l.all.removeNode(&exchange.slow)
		late = append(late, exchange)
	}
	l.timer = nil
	if first := l.all.first; first != nil {
		l.timer = time.AfterFunc(time.Until(first.value.started.Add(upgradeTime)), l.tellDue)
	}
	l.mu.Unlock()
	for _, exchange := range late {
		exchange.showLate()
	}
}
