package httpfront

import (
	"context"
	"maps"
	"slices"
	"time"
)

// run runs the session of a client until that is cancelled. The caller is one of
// f.running, so nobody has waited for them yet.
func (f *Front) run(c *Peer) {
	var session interface{ Run(context.Context) } = c.modernSession
	if c.modernSession == nil {
		session = c.session
	}
	f.running.Go(func() {
		session.Run(c.ctx)
		f.forget(c)
		c.awaitPosts(answerTime)
		c.close()
	})
}

// enter takes a session in, where there is room: of one token, if there are
// several, for three quarters of all. The one that has been idle longest makes
// room, if nobody has used it for a minute.
func (f *Front) enter(c *Peer) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stage() >= draining || !f.now.Load().admission.Stands(c.who) {
		return false
	}
	now := time.Now()
	greedy := f.now.Load().several() && f.owned[c.owner] >= max(f.o.Sessions*3/4, 1)
	if greedy || len(f.sessions) >= f.o.Sessions {
		oldest := f.idle.longest(c.owner, !greedy, now.Add(-time.Minute))
		if oldest == nil {
			return false
		}
		f.end(oldest)
	}
	f.sessions[c.id] = c
	f.owned[c.owner]++
	c.idlers = &f.idle
	f.idle.add(c, now)
	return true
}

// end ends a session and makes its place free. The caller holds mu.
func (f *Front) end(c *Peer) {
	c.cancel(errSessionOver)
	f.idle.remove(c)
	if f.sessions[c.id] != c {
		return
	}
	delete(f.sessions, c.id)
	if f.owned[c.owner]--; f.owned[c.owner] == 0 {
		delete(f.owned, c.owner)
		f.idle.forget(c.owner)
	}
}

func (f *Front) forget(c *Peer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.end(c)
	if f.modernPeers[c.owner] == c {
		delete(f.modernPeers, c.owner)
	}
}

// sweep ends sessions that nobody uses.
func (f *Front) sweep() {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := time.Now().Add(-f.o.Idle)
	for c := f.idle.longest("", true, before); c != nil; c = f.idle.longest("", true, before) {
		f.end(c)
	}
	for _, c := range f.modernPeers {
		if since, idle := c.rests(); idle && !since.After(before) && !c.modernSession.Busy() {
			c.cancel(errSessionOver)
		}
	}
}

// all are those that the front serves. The caller holds mu.
func (f *Front) all() []*Peer {
	return slices.AppendSeq(slices.Collect(maps.Values(f.sessions)), maps.Values(f.modernPeers))
}

// startRequest counts a request, unless nobody waits for it any more.
func (f *Front) startRequest() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	open := f.stage() < closed
	if open {
		f.running.Add(1)
	}
	return open
}
