package httpfront

import (
	linked "container/list"
	"sync"
	"time"
)

// idleClients are the sessions over HTTP that have neither a connection nor a
// request, those of each token in the order in which they came to rest. So the
// one that has been idle longest is found without looking at all others.
type idleClients struct {
	mu sync.Mutex
	of map[string]*linked.List // of idleClient, by owner, the longest idle first
}

// An idleClient is a session and when it came to rest.
type idleClient struct {
	c     *Client
	since time.Time
}

// add takes a session in that came to rest. One that has ended is left out: it
// is taken out once, after its context has ended.
func (l *idleClients) add(c *Client, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.ctx.Err() != nil || c.idle != nil {
		return
	}
	if l.of == nil {
		l.of = map[string]*linked.List{}
	}
	if l.of[c.owner] == nil {
		l.of[c.owner] = linked.New()
	}
	c.idle = l.of[c.owner].PushBack(idleClient{c, now})
}

// remove takes a session out that is used again, or has ended.
func (l *idleClients) remove(c *Client) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.idle == nil {
		return
	}
	own := l.of[c.owner]
	own.Remove(c.idle)
	c.idle = nil
	if own.Len() == 0 {
		delete(l.of, c.owner)
	}
}

// longest returns the session that has been idle longest, of one owner or, with
// all, of anybody; nil where there is none that came to rest before.
func (l *idleClients) longest(owner string, all bool, before time.Time) *Client {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found *Client
	for name, own := range l.of {
		if !all && name != owner {
			continue
		}
		if first := own.Front().Value.(idleClient); first.since.Before(before) {
			found, before = first.c, first.since
		}
	}
	return found
}
