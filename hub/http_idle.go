package hub

import (
	linked "container/list"
	"sync"
	"time"
)

// idleSessions are the sessions over HTTP that have neither a connection nor a
// request, those of each token in the order in which they came to rest. So the
// one that has been idle longest is found without looking at all others.
type idleSessions struct {
	mu sync.Mutex
	of map[string]*linked.List // of idleSession, by owner, the longest idle first
}

// An idleSession is a session and when it came to rest.
type idleSession struct {
	c     *httpClient
	since time.Time
}

// add takes a session in that came to rest. One that has ended is left out: it
// is taken out once, after its context has ended.
func (l *idleSessions) add(c *httpClient, now time.Time) {
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
	c.idle = l.of[c.owner].PushBack(idleSession{c, now})
}

// remove takes a session out that is used again, or has ended.
func (l *idleSessions) remove(c *httpClient) {
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
func (l *idleSessions) longest(owner string, all bool, before time.Time) *httpClient {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found *httpClient
	for name, own := range l.of {
		if !all && name != owner {
			continue
		}
		if first := own.Front().Value.(idleSession); first.since.Before(before) {
			found, before = first.c, first.since
		}
	}
	return found
}
