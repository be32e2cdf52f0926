package hub

import (
	"context"
	"time"

	"mcphub/children"
	"mcphub/hub/catalog"
	"mcphub/hub/configuration"
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
	g, err := configuration.New(cfg, h.own, old)
	if err != nil {
		return Applied{}, err
	}
	h.follow(g, old)
	return since(g, old), nil
}

// takeTurn waits until nobody else replaces the configuration. done gives the turn back.
func (h *Hub) takeTurn(ctx context.Context) (done func(), err error) {
	select {
	case h.turn <- struct{}{}:
		return func() { <-h.turn }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// follow puts g in the place of old, for sessions and supervisor alike.
func (h *Hub) follow(g, old *configuration.Configuration) {
	h.replace(g)
	h.sup.Apply(g.Specs())
	g.Followed(old)
}

// replace puts g in place and shows every session what follows. Offers are read
// anew, for g may judge or name them otherwise; that takes time, and is done
// without the lock until none is missing.
func (h *Hub) replace(g *configuration.Configuration) {
	renewed := map[*children.Offer]*catalog.Offer{}
	for {
		h.mu.Lock()
		missing := h.unread(g, renewed)
		if len(missing) == 0 {
			break
		}
		h.mu.Unlock()
		for raw, name := range missing {
			renewed[raw] = g.KeepOffer(g.Child(name), raw)
		}
	}
	defer h.mu.Unlock()
	h.current.Set(g)
	for k, c := range h.known {
		if now := g.Child(k.Child); now == nil || now.Spec.Revision != c.status.Revision {
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
func (h *Hub) unread(g *configuration.Configuration, renewed map[*children.Offer]*catalog.Offer) map[*children.Offer]string {
	missing := map[*children.Offer]string{}
	note := func(name string, revision uint64, o *catalog.Offer) {
		if o == nil || renewed[o.Raw] != nil {
			return
		}
		if now := g.Child(name); now != nil && now.Spec.Revision == revision {
			missing[o.Raw] = name
		}
	}
	for k, c := range h.known {
		note(k.Child, c.status.Revision, c.offer)
	}
	for _, s := range h.sessions {
		_, offers := s.Offers()
		for name, o := range offers {
			note(name, o.Revision(), o)
		}
	}
	return missing
}

// adopt makes g what the session goes by. h.mu is held.
func (s *Session) adopt(g *configuration.Configuration, renewed map[*children.Offer]*catalog.Offer) {
	s.roots.Reconfigure(g.Fallback, g.Roots)
	s.notifier.Restarted(s.Offering.Adopt(g, renewed)...)
}

// since tells g and old apart.
func since(g, old *configuration.Configuration) Applied {
	a := Applied{Generation: g.Number}
	for _, name := range g.ChildNames() {
		was := old.Child(name)
		switch {
		case was == nil:
			a.Added = append(a.Added, name)
		case was.Spec.Revision != g.Child(name).Spec.Revision:
			a.Replaced = append(a.Replaced, name)
		default:
			a.Untouched = append(a.Untouched, name)
		}
	}
	for _, name := range old.ChildNames() {
		if g.Child(name) == nil {
			a.Removed = append(a.Removed, name)
		}
	}
	return a
}

// A ConfigState is what is told of the configuration's source. JSON.
type ConfigState struct {
	File      string     `json:"file,omitempty"` // "" where none was found
	LoadedAt  time.Time  `json:"loadedAt"`       // of what is in force
	LastError string     `json:"lastError,omitempty"`
	ErrorAt   *time.Time `json:"errorAt,omitempty"`
	Waiting   string     `json:"waiting,omitempty"`      // why a change is not read yet
	Restart   []string   `json:"afterRestart,omitempty"` // keys whose change takes effect after a restart
}

// ConfigState returns what SetConfigState was given last; nil where nobody
// tells. It must not be changed.
func (h *Hub) ConfigState() *ConfigState { return h.source.Load() }

// SetConfigState is for whoever loads the configuration.
func (h *Hub) SetConfigState(c ConfigState) { h.source.Store(&c) }
