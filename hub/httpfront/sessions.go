package httpfront

import (
	"context"
	"maps"
	"slices"
	"time"
)

// run runs the session of a client until that is cancelled. The caller is one of
// f.running, so nobody has waited for them yet.
func (f *front) run(c *Peer) {
	var session interface{ Run(context.Context) } = c.modernSession
	if c.modernSession == nil {
		session = c.session
	}
	f.running.Go(func() {
		session.Run(c.ctx)
		f.forget(c)
		c.close()
	})
}

// enter takes a session in, where there is room: of one token, if there are
// several, for three quarters of all. The one that has been idle longest makes
// room, if nobody has used it for a minute.
func (f *front) enter(c *Peer) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closing {
		return false
	}
	now := time.Now()
	greedy := (len(f.o.Tokens) > 1 || f.o.Resource != nil) && f.owned[c.owner] >= max(f.o.Sessions*3/4, 1)
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
func (f *front) end(c *Peer) {
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

func (f *front) forget(c *Peer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.end(c)
	if f.modernPeers[c.owner] == c {
		delete(f.modernPeers, c.owner)
	}
}

// sweep ends sessions that nobody uses.
func (f *front) sweep() {
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
func (f *front) all() []*Peer {
	return slices.AppendSeq(slices.Collect(maps.Values(f.sessions)), maps.Values(f.modernPeers))
}

// startRequest counts a request, unless nobody waits for it any more.
func (f *front) startRequest() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed {
		f.running.Add(1)
	}
	return !f.closed
}

func (f *front) draining() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.closing
}

// drain takes no new sessions and ends the clients' own streams, so that only
// calls under way hold the server.
func (f *front) drain() {
	f.mu.Lock()
	f.closing = true
	all := f.all()
	f.mu.Unlock()
	for _, c := range all {
		c.own.end()
		if c.modernSession != nil {
			c.modernSession.HangUp()
		}
	}
}

// closeAll ends every session and waits for it, and for every request.
func (f *front) closeAll() {
	f.drain()
	f.mu.Lock()
	f.closed = true
	for _, c := range f.all() {
		c.cancel(errSessionOver)
	}
	f.mu.Unlock()
	f.running.Wait()
}
