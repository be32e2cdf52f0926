package hub

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/server"
	"github.com/rs/zerolog"

	"mcphub/children"
	"mcphub/hub/approval"
	"mcphub/hub/catalog"
	"mcphub/hub/declaration"
	"mcphub/hub/inflight"
	"mcphub/hub/inline"
	"mcphub/hub/subscribe"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/reference"
	"mcphub/internal/seal"
	"mcphub/rootsmgr"
	"mcphub/validate"
)

// Config is everything a Hub is built from, by New or anew by Apply. It is not
// changed afterwards.
type Config struct {
	Version  string
	Children []Child // in the order of hub.json
	Broken   []Broken
	Disabled []string // entries that are left out on purpose: shown by Status
	Checker  *validate.Checker
	Names    catalog.Names
	Expose   catalog.Exposure
	Roots    rootsmgr.Settings
	Fallback rootsmgr.Fallback
	Limits   Limits
	Approval approval.Options
	FS       rootsmgr.FS // nil: this machine's
	Log      zerolog.Logger
	Said     func(child children.Key, pid int, line string) // takes each line of a child's stderr; must not block; may be nil
	Inspect  bool                                           // serve MethodExplain: for the program's own commands only
	Audit    Audit

	Login     func(k children.Key, s children.Spec) (children.Login, error) // gives the login of a child; nil: none has any
	Secret    func(ctx context.Context, r reference.Ref) (string, error)    // gives what a reference to a secret stands for; nil: nothing
	Environ   []string                                                      // the hub's own environment, for the children's allow-list
	Home, Dir string                                                        // home folder and working directory of the hub
	Cache     string                                                        // folder for what children offered last; "": it is not kept

	launcher children.Launcher // nil: processes; tests run children on goroutines
}

// A Child is one entry of mcpServers that can be run.
type Child struct {
	Spec    children.Spec
	Prefix  string   // before each tool's name, separator included; "" = unprefixed
	Include []string // globs of tool names; empty: all
	Exclude []string // globs of tool names, after Include
	Always  []string // globs of tools that are listed whatever Config.Expose says
}

// A Broken entry of hub.json cannot be run; it is shown with its reason.
type Broken struct {
	Name   string
	Prefix string // that its tools would have had
	Reason string
}

// Limits bound what one client can make the hub hold. Zero means the default.
type Limits struct {
	Frame       int           // bytes of one message, 64 MiB
	ID          int           // bytes of the id of a client's request, 1 KiB
	Definitions int           // bytes of what one child offers of each kind, 64 MiB
	Calls       int           // requests of one client served at a time, 256
	Starting    int           // children starting at a time, 8
	Children    int           // children running at a time, 256
	ListWait    time.Duration // how long the lists of a session wait, together, for starting children, 5 s
	Grace       time.Duration // for calls already read when a client's input ends, 800 ms
}

func (l Limits) withDefaults() Limits {
	def := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	def(&l.Frame, 64<<20)
	def(&l.ID, jsonrpc.DefaultIDLimit)
	def(&l.Definitions, 64<<20)
	def(&l.Calls, 256)
	def(&l.Starting, 8)
	def(&l.Children, children.DefaultMaxChildren)
	if l.ListWait <= 0 {
		l.ListWait = 5 * time.Second
	}
	if l.Grace <= 0 {
		l.Grace = 800 * time.Millisecond
	}
	return l
}

// A Hub serves any number of clients with one set of child servers.
type Hub struct {
	gen        atomic.Pointer[generation] // what a reload replaces
	turn       chan struct{}              // holds the token of whoever replaces it
	config     atomic.Pointer[ConfigState]
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
	g, err := newGeneration(cfg, h.own, nil)
	if err != nil {
		return nil, err
	}
	close(g.applied)
	h.gen.Store(g)
	limits := &g.cfg.Limits
	h.sup = children.NewSupervisor(children.Options{
		Specs: g.specs(), Observer: observer{h}, Client: h.clientOf, Roots: h.fetchRoots, NoRoots: h.noRoots, Log: cfg.Log, Version: cfg.Version, Said: cfg.Said, Redefined: h.toldRedefined, Launcher: cfg.launcher,
		MaxStarting: limits.Starting, MaxChildren: limits.Children, Environ: cfg.Environ, Home: cfg.Home, Dir: cfg.Dir, Cache: cfg.Cache, Secret: cfg.Secret, Login: cfg.Login,
	})
	return h, nil
}

// Run keeps the children until ctx ends, and returns when all have stopped.
func (h *Hub) Run(ctx context.Context) error { return h.sup.Run(ctx) }

func (h *Hub) add(s *Session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if g := h.now(); s.configuration() != g { // it was made under an older one
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
		c := g.byName[st.Child]
		if c == nil || c.Spec.Revision != st.Revision {
			return
		}
		if raw == nil {
			offer = nil
			break
		}
		if offer != nil && offer.By(g.offers) && offer.Raw == raw {
			break
		}
		h.mu.Unlock()
		offer = h.readAndKeep(g, c, raw)
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
