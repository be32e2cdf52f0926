package hub

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"mcphub/children"
	"mcphub/hub/catalog"
	"mcphub/rootsmgr"
)

// A generation is all of a Hub that a reload replaces, so that one atomic load
// gives parts that belong together. Immutable but for its two channels,
// lastRead and the catalogues that its sessions share (offers).
type generation struct {
	number  uint64
	cfg     Config
	byName  map[string]*Child                 // cfg.Children by name
	offers  *catalog.Builder                  // of what is on offer
	common  func() map[string][]rootsmgr.Root // what each child that serves everybody is served
	applied chan struct{}                     // closed once the supervisor follows it
	next    chan struct{}                     // closed once the supervisor follows a newer one

	lastRead map[*Child]*catalog.Offer // guarded by Hub.mu
}

// newGeneration makes what cfg describes. Specs that are as in old keep their
// Revision, but for those that are to start anew. Nothing is changed before it is
// put in place.
func newGeneration(cfg Config, own []catalog.Own, old *generation, anew ...string) (*generation, error) {
	if cfg.Checker == nil {
		return nil, errors.New("hub: a Checker is needed: without one nothing may be dispatched")
	}
	g := &generation{number: 1, byName: map[string]*Child{}, applied: make(chan struct{}), next: make(chan struct{}), lastRead: map[*Child]*catalog.Offer{}}
	if old != nil {
		g.number = old.number + 1
		cfg = cfg.keep(&old.cfg)
	}
	cfg.Limits = cfg.Limits.withDefaults()
	cfg.Names = cfg.Names.WithDefaults()
	cfg.Approval = cfg.Approval.WithDefaults()
	cfg.Children = append([]Child(nil), cfg.Children...)
	g.cfg = cfg
	g.common = sync.OnceValue(g.configuredRoots)
	for i := range g.cfg.Children {
		c := &g.cfg.Children[i]
		if g.byName[c.Spec.Name] != nil {
			return nil, fmt.Errorf("hub: two children are called %q", c.Spec.Name)
		}
		g.byName[c.Spec.Name] = c
		c.Spec.Revision = g.number
		if old == nil {
			continue
		}
		if was := old.byName[c.Spec.Name]; was != nil && was.Spec.Equal(c.Spec) && !slices.Contains(anew, c.Spec.Name) {
			c.Spec.Revision = was.Spec.Revision
		}
	}
	g.offers = g.builder(own)
	return g, nil
}

// keep takes from old what holds for as long as a Hub lives.
func (c Config) keep(old *Config) Config {
	c.Version, c.FS, c.Log, c.Said, c.Inspect, c.launcher = old.Version, old.FS, old.Log, old.Said, old.Inspect, old.launcher
	c.Environ, c.Home, c.Dir, c.Cache = old.Environ, old.Home, old.Dir, old.Cache
	c.Audit.To = old.Audit.To
	return c
}

// now is the generation that counts for what begins now.
func (h *Hub) now() *generation { return h.gen.Load() }

// inForce is now, once the supervisor follows it too: its children may be asked
// for.
func (h *Hub) inForce() *generation {
	g := h.now()
	<-g.applied
	return g
}

func (g *generation) specs() []children.Spec {
	specs := make([]children.Spec, 0, len(g.cfg.Children))
	for i := range g.cfg.Children {
		specs = append(specs, g.cfg.Children[i].Spec)
	}
	return specs
}

// names returns the children's names in the order of hub.json.
func (g *generation) names() []string {
	out := make([]string, 0, len(g.cfg.Children))
	for i := range g.cfg.Children {
		out = append(out, g.cfg.Children[i].Spec.Name)
	}
	return out
}

// broken returns the entry of this name that cannot be run, nil for none.
func (g *generation) broken(name string) *Broken {
	for i := range g.cfg.Broken {
		if g.cfg.Broken[i].Name == name {
			return &g.cfg.Broken[i]
		}
	}
	return nil
}

// errSuperseded says that a reload has replaced a child between the lookup of
// its tool and the call: nothing was sent, and the tool must be looked up anew.
var errSuperseded = errors.New("the configuration of this server has just changed; call again")

// superseded reports whether c is no longer how its child is run.
func (h *Hub) superseded(c *Child) bool {
	now := h.now().byName[c.Spec.Name]
	return now == nil || now.Spec.Revision != c.Spec.Revision
}

// upToDate is a judgement that was reached by the policy in force. What waited, for
// roots, for its child or for a person, and was overtaken by a reload meanwhile has
// to begin anew: its error is errSuperseded, and the lease was released.
func (s *Session) upToDate(ctx context.Context, j *judgement) (*judgement, error) {
	if s.hub.now() == j.gen {
		return j, nil
	}
	j.lease.Release()
	if j.call.nowait {
		return nil, errWouldBlock
	}
	select {
	case <-j.gen.next: // every session goes by the other one
	case <-ctx.Done():
	}
	return nil, errSuperseded
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
func (h *Hub) ConfigState() *ConfigState { return h.config.Load() }

// SetConfigState is for whoever loads the configuration.
func (h *Hub) SetConfigState(c ConfigState) { h.config.Store(&c) }
