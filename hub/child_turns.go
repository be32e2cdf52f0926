package hub

import (
	"context"

	"mcphub/children"
	"mcphub/rootsmgr"
)

// This file is about the roots that the children of a stateless Session are
// served: each call may bring others, and one instance serves them all. Package
// inline lets calls with other roots take turns.

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
		poke(s.turned)
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
