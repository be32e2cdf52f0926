package httpfront

import (
	"sync"
	"time"
)

// idleSessions are the sessions over HTTP that have neither a connection nor a
// request, those of each principal in the order in which they came to rest. So the
// one that has been idle longest is found without looking at all others.
type idleSessions struct {
	mu          sync.Mutex
	byPrincipal map[string]*chain[FrontSession] // by principal, of those who have sessions
}

// addIdle takes a session in that came to rest. One that has ended is left out: it
// is taken out once, after its context has ended.
func (p *idleSessions) addIdle(session *FrontSession, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if session.ctx.Err() != nil || session.idleNode.value != nil {
		return
	}
	if p.byPrincipal == nil {
		p.byPrincipal = map[string]*chain[FrontSession]{}
	}
	own := p.byPrincipal[session.principal]
	if own == nil {
		own = &chain[FrontSession]{}
		p.byPrincipal[session.principal] = own
	}
	own.addNode(&session.idleNode, session)
	session.idleSince = now
}

// removeIdle takes a session out that is used again, or has ended.
func (p *idleSessions) removeIdle(session *FrontSession) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if own := p.byPrincipal[session.principal]; own != nil {
		own.removeNode(&session.idleNode)
	}
}

// forgetPrincipal takes a principal out who has no session any more.
func (p *idleSessions) forgetPrincipal(principal string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.byPrincipal, principal)
}

// longestIdle returns the session that has been idle longest, of one principal or, with
// all, of anybody; nil if there is none that came to rest before.
func (p *idleSessions) longestIdle(principal string, ofAnyone bool, before time.Time) *FrontSession {
	p.mu.Lock()
	defer p.mu.Unlock()
	var found *FrontSession
	for name, own := range p.byPrincipal {
		if !ofAnyone && name != principal || own.first == nil {
			continue
		}
		if first := own.first.value; first.idleSince.Before(before) {
			found, before = first, first.idleSince
		}
	}
	return found
}

// heaviestIdle returns the session that has been idle longest of the principal that has most
// sessions, of those who have more than so many. Its caller holds Front.mu.
func (p *idleSessions) heaviestIdle(than int) *FrontSession {
	p.mu.Lock()
	defer p.mu.Unlock()
	var found *FrontSession
	for _, own := range p.byPrincipal {
		if own.first == nil || own.first.value.share == nil {
			continue
		}
		if first := own.first.value; first.share.Sessions > than {
			found, than = first, first.share.Sessions
		}
	}
	return found
}
