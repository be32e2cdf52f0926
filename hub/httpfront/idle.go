package httpfront

import (
	"sync"
	"time"
)

// idlePeers are the sessions over HTTP that have neither a connection nor a
// request, those of each principal in the order in which they came to rest. So the
// one that has been idle longest is found without looking at all others.
type idlePeers struct {
	mu          sync.Mutex
	byPrincipal map[string]*chain[Peer] // by principal, of those who have sessions
}

// addIdle takes a session in that came to rest. One that has ended is left out: it
// is taken out once, after its context has ended.
func (p *idlePeers) addIdle(c *Peer, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.ctx.Err() != nil || c.idle.value != nil {
		return
	}
	if p.byPrincipal == nil {
		p.byPrincipal = map[string]*chain[Peer]{}
	}
	own := p.byPrincipal[c.principal]
	if own == nil {
		own = &chain[Peer]{}
		p.byPrincipal[c.principal] = own
	}
	own.addLink(&c.idle, c)
	c.idleSince = now
}

// removeIdle takes a session out that is used again, or has ended.
func (p *idlePeers) removeIdle(c *Peer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if own := p.byPrincipal[c.principal]; own != nil {
		own.removeLink(&c.idle)
	}
}

// forgetPrincipal takes a principal out who has no session any more.
func (p *idlePeers) forgetPrincipal(principal string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.byPrincipal, principal)
}

// longestIdle returns the session that has been idle longest, of one principal or, with
// all, of anybody; nil if there is none that came to rest before.
func (p *idlePeers) longestIdle(principal string, all bool, before time.Time) *Peer {
	p.mu.Lock()
	defer p.mu.Unlock()
	var found *Peer
	for name, own := range p.byPrincipal {
		if !all && name != principal || own.first == nil {
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
func (p *idlePeers) heaviestIdle(than int) *Peer {
	p.mu.Lock()
	defer p.mu.Unlock()
	var found *Peer
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
