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
	of map[string]*idleList // by owner, of those who have sessions
}

// An idleList is linked through the places of its sessions: one that calls all the time
// comes and goes without taking memory.
type idleList struct{ longest, latest *Client }

// idlePlace is the place of a session in idleClients, whose mutex guards it.
type idlePlace struct {
	before, after *Client
	since         time.Time // when it came to rest
	listed        bool
}

// add takes a session in that came to rest. One that has ended is left out: it
// is taken out once, after its context has ended.
func (l *idleClients) add(c *Client, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.ctx.Err() != nil || c.idle.listed {
		return
	}
	if l.of == nil {
		l.of = map[string]*idleList{}
	}
	own := l.of[c.owner]
	if own == nil {
		own = &idleList{}
		l.of[c.owner] = own
	}
	c.idle = idlePlace{before: own.latest, since: now, listed: true}
	if own.latest == nil {
		own.longest = c
	} else {
		own.latest.idle.after = c
	}
	own.latest = c
}

// remove takes a session out that is used again, or has ended.
func (l *idleClients) remove(c *Client) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !c.idle.listed {
		return
	}
	own := l.of[c.owner]
	if c.idle.before == nil {
		own.longest = c.idle.after
	} else {
		c.idle.before.idle.after = c.idle.after
	}
	if c.idle.after == nil {
		own.latest = c.idle.before
	} else {
		c.idle.after.idle.before = c.idle.before
	}
	c.idle = idlePlace{}
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
		if !all && name != owner || own.longest == nil {
			continue
		}
		if first := own.longest; first.idle.since.Before(before) {
			found, before = first, first.idle.since
		}
	}
	return found
}
