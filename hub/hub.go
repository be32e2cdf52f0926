package hub

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/server"

	"mcphub/children"
	"mcphub/hub/approval"
	"mcphub/hub/catalog"
	"mcphub/hub/configuration"
	"mcphub/hub/declaration"
	"mcphub/hub/inflight"
	"mcphub/hub/inline"
	"mcphub/hub/subscribe"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/seal"
	"mcphub/rootsmgr"
)

// What a Hub is built from, by New or anew by Apply.
type (
	Config = configuration.Settings
	Child  = configuration.Child
	Broken = configuration.Broken
	Limits = configuration.Limits
)

// A Hub serves any number of clients with one set of child servers.
type Hub struct {
	current    configuration.Current // what a reload replaces
	turn       chan struct{}         // holds the token of whoever replaces it
	source     atomic.Pointer[ConfigState]
	sup        *children.Supervisor
	control    *server.MCPServer // initialize, ping, the hub's own tools
	own        []catalog.Own     // definitions of the hub's own tools
	serverInfo []byte            // raw, for what a result says of its server
	seal       *seal.Sealer      // of what clients carry
	suspended  atomic.Int64      // requests that wait for their clients, of all sessions
	progress   inflight.Progress
	subs       subscribe.Table
	terminal   approval.Terminal // answers what clients cannot ask
	redefined  catalog.Redefinitions

	mu       sync.Mutex
	sessions map[string]*Session
	holders  map[children.Key]map[*Session]struct{} // whom an instance serves
	known    map[children.Key]knownChild
}

// knownChild is the last that was told of an instance.
type knownChild struct {
	status children.Status
	offer  *catalog.Offer // nil until it was listed
}

// New builds a Hub. Nothing runs before Run.
func New(cfg Config) (*Hub, error) {
	if cfg.FS == nil {
		cfg.FS = rootsmgr.OS{}
	}
	h := &Hub{
		turn: make(chan struct{}, 1), sessions: map[string]*Session{},
		holders: map[children.Key]map[*Session]struct{}{}, known: map[children.Key]knownChild{},
	}
	h.serverInfo = append(jsonrpc.AppendString([]byte(`{"name":"mcphub","version":`), cfg.Version), '}')
	h.seal = seal.NewRandom()
	if err := h.buildControl(cfg.Version); err != nil {
		return nil, err
	}
	g, err := configuration.New(cfg, h.own, nil)
	if err != nil {
		return nil, err
	}
	g.Followed(nil)
	h.current.Set(g)
	limits := &g.Limits
	h.sup = children.NewSupervisor(children.Options{
		Specs: g.Specs(), Observer: observer{h}, Client: h.clientOf, Roots: h.rootsQuery, NoRoots: h.noRoots, Log: cfg.Log, Version: cfg.Version, Said: cfg.Said, Redefined: h.toldRedefined, Launcher: cfg.Launcher,
		MaxStarting: limits.Starting, MaxChildren: limits.Children, Environ: cfg.Environ, Home: cfg.Home, Dir: cfg.Dir, Cache: cfg.Cache, Secret: cfg.Secret, Login: cfg.Login,
	})
	return h, nil
}

// now is the configuration that counts for what starts now.
func (h *Hub) now() *configuration.Configuration { return h.current.Now() }

// Run keeps the children until ctx ends, and returns when all have stopped.
func (h *Hub) Run(ctx context.Context) error { return h.sup.Run(ctx) }

func (h *Hub) add(s *Session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if g := h.now(); s.Configuration() != g { // it was made under an older one
		s.adopt(g, nil)
	}
	h.sessions[s.id] = s
}

// told hands a change of one instance to the sessions that it serves. It is
// called by one goroutine for each instance; what takes time, reading a new
// offer, is done without the lock and once for each offer, and again where a
// reload came in between. News of an instance that was replaced end here.
func (h *Hub) told(st children.Status, raw *children.Offer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	offer := h.known[st.Key].offer
	for {
		g := h.now()
		c := g.Child(st.Child)
		if c == nil || c.Spec.Revision != st.Revision {
			return
		}
		if raw == nil {
			offer = nil
			break
		}
		if offer != nil && offer.By(g.Offers) && offer.Raw == raw {
			break
		}
		h.mu.Unlock()
		offer = g.KeepOffer(c, raw)
		h.mu.Lock()
	}
	switch {
	case h.known[st.Key].status.Serial > st.Serial:
		return // of an instance that another one has followed
	case st.Final:
		delete(h.known, st.Key)
	default:
		h.known[st.Key] = knownChild{st, offer}
	}
	for s := range h.holders[st.Key] {
		s.childChanged(st, offer)
	}
}

// clientOf tells an instance whom it serves: a session's own child that
// session's client, a shared one nobody in particular.
func (h *Hub) clientOf(k children.Key) children.Client {
	if s := h.owner(k); s != nil {
		level := s.heard().String()
		s.mu.Lock()
		defer s.mu.Unlock()
		return children.Client{Capabilities: s.tab.caps.Shown, Level: level}
	}
	var most declaration.Level
	for _, s := range h.holding(k) {
		most = most.MoreVerbose(s.heard())
	}
	return children.Client{Level: most.String()}
}

// rootsQuery says what roots/list of a child has to wait for: nil for nothing.
func (h *Hub) rootsQuery(ctx context.Context, k children.Key) func(ctx context.Context) {
	if s := h.owner(k); s != nil {
		return s.calls.FetchRoots(ctx, k)
	}
	return nil
}

// owner returns the session that an instance belongs to alone; nil for a shared
// one, and once the session has ended.
func (h *Hub) owner(k children.Key) *Session {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sessions[k.Instance]
}

// holding returns the sessions that an instance serves.
func (h *Hub) holding(k children.Key) []*Session {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := make([]*Session, 0, len(h.holders[k]))
	for s := range h.holders[k] {
		all = append(all, s)
	}
	return all
}

// ProtocolVersions are all versions that a hub speaks, the newest first.
func ProtocolVersions() []string { return inline.Versions() }
