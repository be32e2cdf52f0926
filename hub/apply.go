package hub

import (
	"context"
	"time"

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
	select {
	case h.turn <- struct{}{}:
		defer func() { <-h.turn }()
	case <-ctx.Done():
		return Applied{}, context.Cause(ctx)
	}
	old := h.now()
	g, err := configuration.New(cfg, h.own, old)
	if err != nil {
		return Applied{}, err
	}
	h.sessions.Replace(g)
	h.sup.Apply(g.Specs())
	g.Followed(old)
	return since(g, old), nil
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
