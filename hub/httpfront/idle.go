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
func (idle *idleSessions) addIdle(session *FrontSession, now time.Time) {
	idle.mu.Lock()
	defer idle.mu.Unlock()
	if session.ctx.Err() != nil || session.idleNode.value != nil {
		return
	}
	if idle.byPrincipal == nil {
		idle.byPrincipal = map[string]*chain[FrontSession]{}
	}
	own := idle.byPrincipal[session.principal]
	if own == nil {
		own = &chain[FrontSession]{}
		idle.byPrincipal[session.principal] = own
	}
	own.addNode(&session.idleNode, session)
	session.idleSince = now
}

// removeIdle takes a session out that is used again, or has ended.
func (idle *idleSessions) removeIdle(session *FrontSession) {
	idle.mu.Lock()
	defer idle.mu.Unlock()
	if own := idle.byPrincipal[session.principal]; own != nil {
		own.removeNode(&session.idleNode)
	}
}

// forgetPrincipal takes a principal out who has no session any more.
func (idle *idleSessions) forgetPrincipal(principal string) {
	idle.mu.Lock()
	defer idle.mu.Unlock()
	delete(idle.byPrincipal, principal)
}

// longestIdle returns the session that has been idle longest, of one principal or, with
// all, of anybody; nil if there is none that came to rest before.
func (idle *idleSessions) longestIdle(principal string, ofAnyone bool, before time.Time) *FrontSession {
	idle.mu.Lock()
	defer idle.mu.Unlock()
	var found *FrontSession
	for name, own := range idle.byPrincipal {
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
func (idle *idleSessions) heaviestIdle(than int) *FrontSession {
	idle.mu.Lock()
	defer idle.mu.Unlock()
	var found *FrontSession
	for _, own := range idle.byPrincipal {
		if own.first == nil || own.first.value.share == nil {
			continue
		}
		if first := own.first.value; first.share.Sessions > than {
			found, than = first, first.share.Sessions
		}
	}
	return found
}
