package httpfront

import (
	"sync"
	"time"
)

// idleClients are the sessions over HTTP that have neither a connection nor a
// request, those of each token in the order in which they came to rest. So the
// one that has been idle longest is found without looking at all others.
type idleClients struct {
	mu sync.Mutex
	of map[string]*chain[Client] // by owner, of those who have sessions
}

// add takes a session in that came to rest. One that has ended is left out: it
// is taken out once, after its context has ended.
func (l *idleClients) add(c *Client, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.ctx.Err() != nil || c.idle.of != nil {
		return
	}
	if l.of == nil {
		l.of = map[string]*chain[Client]{}
	}
	own := l.of[c.owner]
	if own == nil {
		own = &chain[Client]{}
		l.of[c.owner] = own
	}
	own.add(&c.idle, c)
	c.idleSince = now
}

// remove takes a session out that is used again, or has ended.
func (l *idleClients) remove(c *Client) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if own := l.of[c.owner]; own != nil {
		own.remove(&c.idle)
	}
}

// forget takes an owner out who has no session any more.
func (l *idleClients) forget(owner string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.of, owner)
}

// longest returns the session that has been idle longest, of one owner or, with
// all, of anybody; nil where there is none that came to rest before.
func (l *idleClients) longest(owner string, all bool, before time.Time) *Client {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found *Client
	for name, own := range l.of {
		if !all && name != owner || own.first == nil {
			continue
		}
		if first := own.first.of; first.idleSince.Before(before) {
			found, before = first, first.idleSince
		}
	}
	return found
}
