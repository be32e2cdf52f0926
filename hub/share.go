package hub

import (
	"context"
	"time"

	"mcphub/children"
	"mcphub/children/sandbox"
	"mcphub/hub/assignment"
	"mcphub/hub/call"
	"mcphub/hub/configuration"
	"mcphub/rootsmgr"
)

// This file says which instance of a child serves which session, and
// moves a session to another one when its roots change.

// keyFor names the instance that a session with these roots is served by. A child
// that is to have both eras, by hub.json, is spoken to in that of the session.
func (s *Session) keyFor(c *Child, roots []rootsmgr.Root) children.Key {
	k := children.Key{Child: c.Spec.Name}
	if c.Spec.Era == children.EraAuto && s.inlineFirst.Load() {
		k.Era = children.EraModern
	}
	if c.Spec.Personal() {
		k.Principal = s.principal
	}
	switch {
	case c.Spec.Share == children.ShareAll:
	case s.byRoots(c):
		k.Instance = rootsmgr.SetID(s.principal, roots)
	default:
		k.Instance = s.id
	}
	return s.hub.sup.Home(k)
}

// rootsFor returns the roots that a child is served: those of the session, and
// after them the directories of the policy and of grants; but for a child
// that serves everybody nothing of any one session.
func (s *Session) rootsFor(g *configuration.Configuration, c *Child, view rootsmgr.View) []rootsmgr.Root {
	if c.Spec.Share == children.ShareAll {
		return g.CommonRoots()[c.Spec.Name]
	}
	return c.Suited(view.Snapshot.With(g.FS, view.Ceiling, g.Beside(c.Spec.Name, s.approvals.Served(&c.Spec))))
}

// serveAll starts the children that serve everybody: their roots are known.
func (s *Session) serveAll() {
	g := s.hub.current.Followed()
	for i := range g.Children {
		if c := &g.Children[i]; c.Spec.Share == children.ShareAll {
			s.serveChild(c, g.CommonRoots()[c.Spec.Name], g.CommonBoundary(c), true, false)
		}
	}
}

// prestart starts the session's own children before its roots are known.
// One that is shared by roots has to wait: they name its instance.
func (s *Session) prestart() {
	g := s.hub.current.Followed()
	for i := range g.Children {
		if c := &g.Children[i]; c.Spec.Share == children.ShareSession {
			k := s.keyFor(c, nil)
			s.attach(c, k, func() { s.hub.sup.Prestart(k) })
		}
	}
}

// serve has every child of g serve the session with the roots of a view, and no
// other.
func (s *Session) serve(g *configuration.Configuration, view rootsmgr.View, first bool) {
	for i := range g.Children {
		c := &g.Children[i]
		its := view
		if b, ok := s.broughtTo(c); ok {
			its = b.View
		}
		roots := s.rootsFor(g, c, its)
		if c.Spec.Share == children.ShareAll {
			s.serveChild(c, roots, g.CommonBoundary(c), first, false)
			continue
		}
		s.serveChild(c, roots, s.boundaryOf(g, c, its, roots), first, its.Assumed)
	}
	for name, at := range s.assigned.Load().All() {
		if g.Child(name) == nil {
			s.hub.detach(s, at.Key)
			s.hub.sup.Leave(at.Key)
		}
	}
}

// serveChild gives a child new roots; where other roots mean another instance,
// it moves the session there. assumed: the roots stand in for those to come.
func (s *Session) serveChild(c *Child, roots []rootsmgr.Root, boundary sandbox.Boundary, first, assumed bool) {
	sup := s.hub.sup.Within(boundary)
	k := s.keyFor(c, roots)
	at, assigned := s.assigned.Load().Of(k.Child)
	if assumed {
		s.attach(c, k, func() { sup.Assume(k, roots) })
		return
	}
	if first || !assigned || at.Key != k || at.Revision != c.Spec.Revision {
		s.attach(c, k, func() { sup.Ensure(k, roots) })
		return
	}
	sup.SetRoots(k, roots)
}

// attach moves the session to an instance: calls that look for it from now on go
// there, those under way end where they are. start is called while the instance
// is held and before any call reaches it.
func (s *Session) attach(c *Child, k children.Key, start func()) {
	old, assigned := s.assigned.Load().Of(k.Child)
	if assigned && old.Key == k && old.Revision == c.Spec.Revision {
		start()
		return
	}
	serial := s.hub.sup.Join(k)
	start()
	s.hub.move(s, assignment.Assignment{Key: k, Serial: serial, Revision: c.Spec.Revision, Moved: assigned && old.Key != k}, old.Key)
	if assigned {
		s.hub.sup.Leave(old.Key)
	}
}

// move enters a session at one instance in place of another, and tells it what
// is known of it. Both happen under one lock with told, so that the session
// misses no news and takes none of the former instance for that of the new one.
func (h *Hub) move(s *Session, to assignment.Assignment, from children.Key) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.unhold(s, from)
	if h.holders[to.Key] == nil {
		h.holders[to.Key] = map[*Session]struct{}{}
	}
	h.holders[to.Key][s] = struct{}{}
	s.reassign(to)
	known := h.known[to.Key]
	if known.status.Serial != to.Serial {
		known = knownChild{status: children.Status{Key: to.Key, Serial: to.Serial, Revision: to.Revision}}
	}
	s.childChanged(known.status, known.offer)
}

// detach takes a session from an instance whose child is configured no more.
func (h *Hub) detach(s *Session, from children.Key) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.unhold(s, from)
	old := s.assigned.Load()
	s.assigned.Store(old.Without(from.Child))
	old.Replaced()
}

// unhold is for callers that hold mu.
func (h *Hub) unhold(s *Session, k children.Key) {
	delete(h.holders[k], s)
	if len(h.holders[k]) == 0 {
		delete(h.holders, k)
	}
}

// remove ends a session's part in everything: its own children stop, shared
// ones go on without it.
func (h *Hub) remove(s *Session) {
	s.notifier.Leave()
	h.mu.Lock()
	delete(h.sessions, s.id)
	at := s.assigned.Load().All()
	for _, p := range at {
		h.unhold(s, p.Key)
	}
	h.mu.Unlock()
	for _, p := range at {
		h.sup.Leave(p.Key)
	}
	h.sup.Drop(s.id) // those of its own that a reload detached it from
}

// sharing returns how many sessions an instance serves.
func (h *Hub) sharing(k children.Key) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.holders[k])
}

// reassign replaces one assignment; the caller holds Hub.mu.
func (s *Session) reassign(to assignment.Assignment) {
	old := s.assigned.Load()
	s.assigned.Store(old.With(to))
	old.Replaced()
}

// ready is the right to call a child as g describes it where that takes no
// waiting; nil where it does.
func (s *Session) ready(g *configuration.Configuration, name string) *children.Lease {
	c := g.Child(name)
	at, _ := s.assigned.Load().Of(name)
	if c == nil || at.Revision != c.Spec.Revision {
		return nil
	}
	lease, ok := s.hub.sup.TryAcquire(at.Key)
	switch {
	case !ok:
		return nil
	case lease.Revision() != c.Spec.Revision:
		lease.Release()
		return nil
	}
	return lease
}

// awaitAssignment returns the instance that serves the session now. A child that is
// shared by roots has none before the roots are known.
func (s *Session) awaitAssignment(ctx context.Context, g *configuration.Configuration, name string) (children.Key, error) {
	c := g.Child(name)
	if p, ok := s.assigned.Load().Of(name); ok && p.Revision == c.Spec.Revision {
		return p.Key, nil
	}
	over := time.NewTimer(g.Roots.Timeout)
	defer over.Stop()
	replaced := g.Replaced()
	for {
		now := s.assigned.Load()
		if p, ok := now.Of(name); ok && p.Revision == c.Spec.Revision {
			return p.Key, nil
		}
		if s.hub.current.Superseded(c) {
			return children.Key{}, configuration.ErrSuperseded
		}
		select {
		case <-now.Next():
		case <-replaced:
			replaced = nil // by one in which this child is the same
		case <-over.C:
			return children.Key{}, &children.UnavailableError{Child: name, Reason: "the client has not said which folders are open, and they decide which process serves it; call again in a moment"}
		case <-ctx.Done():
			return children.Key{}, &children.UnavailableError{Child: name, Reason: "it is not started for this session yet", Err: context.Cause(ctx)}
		}
	}
}

// acquire waits for the right to call a child as g describes it, within its time
// to start. Where the session moves meanwhile, it is that to call the instance
// it moved to. The error is ErrSuperseded where a reload has replaced the child.
func (s *Session) acquire(ctx context.Context, g *configuration.Configuration, name string) (*children.Lease, error) {
	c := g.Child(name)
	if c == nil {
		return nil, configuration.ErrSuperseded
	}
	lease, err := s.acquireAssigned(ctx, g, name)
	switch {
	case err != nil && s.hub.current.Superseded(c):
		return nil, configuration.ErrSuperseded
	case err != nil:
		return nil, err
	case lease.Revision() != c.Spec.Revision:
		lease.Release()
		return nil, configuration.ErrSuperseded
	}
	return lease, nil
}

func (s *Session) acquireAssigned(ctx context.Context, g *configuration.Configuration, name string) (*children.Lease, error) {
	if lease := s.ready(g, name); lease != nil {
		return lease, nil
	}
	defer call.Waiting(ctx, name)()
	defer s.calls.ClientOf(ctx).Lend()() // which process it is, and its start, may wait for the roots
	ctx, cancel := context.WithTimeout(ctx, g.StartLimit(name))
	defer cancel()
	for {
		key, err := s.awaitAssignment(ctx, g, name)
		if err != nil {
			return nil, err
		}
		lease, err := s.hub.sup.Acquire(ctx, key)
		at := s.assigned.Load()
		p, ok := at.Of(name)
		switch {
		case !ok, ctx.Err() != nil, p.Key == key && (err == nil || s.hub.sup.Home(key) == key):
			return lease, err
		case p.Key == key: // the session is about to move from there
			select {
			case <-at.Next():
			case <-ctx.Done():
				return nil, err
			}
		}
		if err == nil {
			lease.Release()
		}
	}
}

// byRoots reports whether the session's roots decide which process serves it:
// then every call of the child has to know them, one without a path as well. A
// stateless session has no roots of its own, so it has a process of its own.
func (s *Session) byRoots(c *Child) bool {
	return c.Spec.Share == children.ShareRoots && !s.stateless
}
