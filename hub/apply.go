package hub

import (
	"context"

	"mcphub/children"
	"mcphub/hub/catalog"
)

// An Applied says what Apply did to children, by name, in the order of hub.json.
type Applied struct {
	Generation                 uint64
	Added, Replaced, Untouched []string
	Removed                    []string // in the old order
}

// Apply puts another Config in the place of the one that the Hub was made of.
// Where the error is not nil nothing has changed. It may be called while
// Run runs, by several goroutines: one after the other.
//
// What was sent under the old Config ends under it; what still waits begins anew. A child whose Spec is Equal
// keeps its process; another one is retired, and its calls under way end well.
// Sessions that live get new roots settings and are told of other tools.
//
// Version, FS, Log, Inspect, Environ, Home, Dir, Cache, Audit.To and Limits.Starting
// stay those of New; Limits.Frame and Limits.Calls hold for the sessions that begin later.
func (h *Hub) Apply(ctx context.Context, cfg Config) (Applied, error) {
	done, err := h.takeTurn(ctx)
	if err != nil {
		return Applied{}, err
	}
	defer done()
	old := h.now()
	g, err := newGeneration(cfg, h.own, old)
	if err != nil {
		return Applied{}, err
	}
	h.follow(g, old)
	return g.since(old), nil
}

// takeTurn waits until nobody else replaces the generation. done gives the turn back.
func (h *Hub) takeTurn(ctx context.Context) (done func(), err error) {
	select {
	case h.turn <- struct{}{}:
		return func() { <-h.turn }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// follow puts g in the place of old, for sessions and supervisor alike.
func (h *Hub) follow(g, old *generation) {
	h.replace(g)
	h.sup.Apply(g.specs())
	close(g.applied)
	close(old.next)
}

// replace puts g in place and shows every session what follows. Offers are read
// anew, for g may judge or name them otherwise; that takes time, and is done
// without the lock until none is missing.
func (h *Hub) replace(g *generation) {
	renewed := map[*children.Offer]*catalog.Offer{}
	for {
		h.mu.Lock()
		missing := h.unread(g, renewed)
		if len(missing) == 0 {
			break
		}
		h.mu.Unlock()
		for raw, name := range missing {
			renewed[raw] = h.readAndKeep(g, g.byName[name], raw)
		}
	}
	defer h.mu.Unlock()
	h.gen.Store(g)
	for k, c := range h.known {
		if now := g.byName[k.Child]; now == nil || now.Spec.Revision != c.status.Revision {
			delete(h.known, k)
		} else if c.offer != nil {
			c.offer = renewed[c.offer.Raw]
			h.known[k] = c
		}
	}
	for _, s := range h.sessions {
		s.adopt(g, renewed)
	}
}

// unread returns the offers of children that go on which were not read by g
// yet, with the child's name. h.mu is held.
func (h *Hub) unread(g *generation, renewed map[*children.Offer]*catalog.Offer) map[*children.Offer]string {
	missing := map[*children.Offer]string{}
	note := func(name string, revision uint64, o *catalog.Offer) {
		if o == nil || renewed[o.Raw] != nil {
			return
		}
		if now := g.byName[name]; now != nil && now.Spec.Revision == revision {
			missing[o.Raw] = name
		}
	}
	for k, c := range h.known {
		note(k.Child, c.status.Revision, c.offer)
	}
	for _, s := range h.sessions {
		_, offers := s.offersNow()
		for name, o := range offers {
			note(name, o.Revision(), o)
		}
	}
	return missing
}

// adopt makes g what the session goes by. h.mu is held.
func (s *Session) adopt(g *generation, renewed map[*children.Offer]*catalog.Offer) {
	s.roots.Reconfigure(g.cfg.Fallback, g.cfg.Roots)
	s.notifier.Restarted(s.onOffer.adopt(g, renewed)...)
}

// since tells g and old apart.
func (g *generation) since(old *generation) Applied {
	a := Applied{Generation: g.number}
	for _, name := range g.names() {
		was := old.byName[name]
		switch {
		case was == nil:
			a.Added = append(a.Added, name)
		case was.Spec.Revision != g.byName[name].Spec.Revision:
			a.Replaced = append(a.Replaced, name)
		default:
			a.Untouched = append(a.Untouched, name)
		}
	}
	for _, name := range old.names() {
		if g.byName[name] == nil {
			a.Removed = append(a.Removed, name)
		}
	}
	return a
}
