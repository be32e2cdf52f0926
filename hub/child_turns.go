package hub

import (
	"context"
	"fmt"
	"sync"
	"time"

	"mcphub/children"
	"mcphub/rootsmgr"
)

// This file is about the roots that the children of a stateless Session are
// served: each call may bring others, and one instance serves them all (C5).
// Whoever has the turn of an instance (turns.go) says what it is served, and
// has it until the work on its request has ended.

const (
	// mostTurns bounds how many calls wait for the turn of one instance.
	mostTurns = 256
	// turnTime bounds how long one of them waits.
	turnTime = time.Minute
	// givesWayAfter is how long a call that waits for its client keeps a turn that
	// others wait for, counted from when both do: time is left for whoever has
	// waited to be served its roots.
	givesWayAfter = turnTime / 2
)

var errTurnTime = fmt.Errorf("they were in use for more than %s; send the call again, or give each client a token of its own", turnTime)

// gates are those of a Session's children, made when first needed. The mutex is
// a leaf.
type gates struct {
	mu sync.Mutex
	by map[string]*turns
}

func (g *gates) of(child string) *turns {
	g.mu.Lock()
	defer g.mu.Unlock()
	t := g.by[child]
	if t == nil {
		t = newTurns(mostTurns)
		if g.by == nil {
			g.by = map[string]*turns{}
		}
		g.by[child] = t
	}
	return t
}

// A turn is what a request has of a child. The zero value is none.
type turn struct {
	child string
	gate  *turns
}

// brought is what the children of a stateless Session are to be served, by name.
type brought struct {
	served map[string]broughtRoots
	asked  uint64 // counts what was put into served
	done   uint64 // of these the last that the children were given
}

type broughtRoots struct {
	set  string // digest
	view rootsmgr.View
	at   uint64 // asked, then
}

// takeTurn waits until a child is served the roots that this request is judged
// by, or brought, and keeps it so. A request without any takes the child as it
// finds it. Nobody has two turns, or two requests could wait for each other.
func (p *parley) takeTurn(ctx context.Context, child string) error {
	view := p.judged
	if view == nil {
		view = p.given.roots
	}
	if now := p.turnNow(); now.gate != nil && now.child == child {
		return nil // one request brings one set
	}
	var set string
	var serve rootsmgr.View
	switch {
	case view != nil:
		serve = *view
		set = rootSet("", view.Snapshot.Roots())
	case p.looked: // what was looked for among the roots served is to stay so
		set, serve = p.s.servedNow(child)
	default:
		return nil
	}
	p.leaveTurn()
	gate := p.s.modern.gates.of(child)
	soon, cancel := context.WithTimeoutCause(ctx, turnTime, errTurnTime)
	defer cancel()
	if err := p.enter(soon, gate, set); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return &children.UnavailableError{Child: child, Reason: "calls of the same token use it with other roots: " + err.Error()}
	}
	p.swapTurn(turn{child, gate})
	if set == "" {
		return nil // no call has brought any yet
	}
	return p.s.serveBrought(ctx, child, set, serve)
}

// enter waits for the turn of a gate, and has calls give way that have it and
// wait for their clients meanwhile.
func (p *parley) enter(ctx context.Context, gate *turns, set string) error {
	return gate.enter(ctx, set, func() { p.s.modern.lot.giveWay(gate, time.Now().Add(-givesWayAfter)) })
}

// turnNow is the turn that the request has.
func (p *parley) turnNow() turn {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.tab.turn
}

// swapTurn notes a turn and returns the one before.
func (p *parley) swapTurn(t turn) (had turn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	had, p.tab.turn = p.tab.turn, t
	return had
}

// leaveTurn gives the turn back that the request has, if any.
func (p *parley) leaveTurn() {
	if had := p.swapTurn(turn{}); had.gate != nil {
		had.gate.leave()
	}
}

// serveBrought has serveRoots give a child roots that came with a call, and
// waits until it has. Acquire waits until the child has applied them.
func (s *Session) serveBrought(ctx context.Context, child, set string, view rootsmgr.View) error {
	s.mu.Lock()
	b := &s.tab.brought
	if b.served == nil {
		b.served = map[string]broughtRoots{}
	}
	now, ok := b.served[child]
	if !ok || now.set != set {
		b.asked++
		now = broughtRoots{set, view, b.asked}
		b.served[child] = now
		poke(s.modern.turned)
	}
	s.mu.Unlock()
	return s.awaitGiven(ctx, -1, func(tab *sessionTables) bool { return tab.brought.done >= now.at })
}

// servedNow is what calls have brought last for a child; "" for nothing.
func (s *Session) servedNow(child string) (set string, view rootsmgr.View) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.tab.brought.served[child]
	return b.set, b.view
}

// broughtSoFar counts the roots that serveRoots is about to serve.
func (s *Session) broughtSoFar() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tab.brought.asked
}

// broughtTo returns what a child is to be served, if calls have brought that.
func (s *Session) broughtTo(c *Child) (broughtRoots, bool) {
	if c.Spec.Share == children.ShareAll {
		return broughtRoots{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	b, ok := s.tab.brought.served[c.Spec.Name]
	return b, ok
}
