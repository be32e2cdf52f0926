package hub

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"

	"mcphub/children"
	"mcphub/hub/approval"
	"mcphub/hub/assignment"
	"mcphub/hub/audit"
	"mcphub/hub/catalog"
	"mcphub/hub/configuration"
	"mcphub/hub/inflight"
	"mcphub/hub/record"
	"mcphub/hub/results"
	"mcphub/hub/seal"
	"mcphub/hub/status"
	"mcphub/hub/subscribe"
	"mcphub/hub/surroundings"
	"mcphub/hub/telemetry"
	"mcphub/hub/toolset"
	"mcphub/hub/turns"
	"mcphub/internal/callertoken"
	"mcphub/internal/jsonrpc"
	"mcphub/rootsmgr/guard"
)

// What a Hub is built from, by New or again by Apply.
type (
	Config = configuration.Settings

	Surroundings  = configuration.Surroundings
	Impersonation = configuration.Impersonation
	Child         = configuration.Child
	About         = configuration.About
	Broken        = configuration.Broken
	Limits        = configuration.Limits
)

// A Hub serves any number of clients with one set of child servers.
type Hub struct {
	current        configuration.Current // what a reload replaces, in the hub's own surroundings
	replacing      chan struct{}         // holds the token of the one who replaces it, who may wait for the disk
	configState    atomic.Pointer[status.Config]
	sup            *children.Supervisor
	implementation mcp.Implementation                        // what the hub says it is
	own            []ownTool                                 // the hub's own tools
	welcomes       sync.Map                                  // results of initialize, raw, by version
	ownTools       []catalog.HubTool                         // definitions of the hub's own tools
	serverInfo     []byte                                    // raw, for what a result says about its server
	seal           *seal.Sealer                              // of what clients carry
	suspended      atomic.Int64                              // requests that wait for their clients, of all sessions
	results        results.Shelf                             // what was cut of results, of all sessions
	asked          atomic.Int64                              // questions that people have not answered, of all sessions
	telemetry      *telemetry.Telemetry                      // nil: no one watches
	httpUse        atomic.Pointer[func() telemetry.LimitUse] // of the sessions of the HTTP front; nil: there is none
	progress       inflight.Progress
	subs           subscribe.Table
	terminal       approval.Terminal // holds what people answer outside of clients
	redefined      catalog.Redefinitions
	recent         audit.Recent // refusals, if no log is kept
	recordGroup    *record.Group
	turns          turns.Table        // of calls at servers that hub.json bounds
	callers        *callertoken.Table // the tokens by which callers over HTTP were admitted

	sessions     *assignment.Table[*Session]
	surroundings *surroundings.Table
}

// New builds a Hub. Nothing runs before Run.
func New(cfg Config) (*Hub, error) {
	if cfg.FS == nil {
		cfg.FS = guard.OS{}
	}
	h := &Hub{replacing: make(chan struct{}, 1), callers: cfg.Callers}
	h.sessions = assignment.NewTable[*Session](&h.current)
	about := &cfg.About
	about.Name = cmp.Or(about.Name, "mcphub")
	h.serverInfo = jsonrpc.AppendString([]byte(`{"name":`), about.Name)
	h.serverInfo = jsonrpc.AppendString(append(h.serverInfo, `,"version":`...), cfg.Version)
	if about.Title != "" {
		h.serverInfo = jsonrpc.AppendString(append(h.serverInfo, `,"title":`...), about.Title)
	}
	h.serverInfo = append(h.serverInfo, '}')
	h.seal = seal.NewRandom()
	if err := h.buildControl(about, cfg.Version); err != nil {
		return nil, err
	}
	cfg.Audit.Recent = &h.recent
	h.recordGroup = record.NewGroup(cfg.Audit.Recorder, cfg.Log)
	conf, err := configuration.New(cfg, h.ownTools, nil)
	if err != nil {
		return nil, err
	}
	conf.MarkFollowed(nil)
	h.current.Set(conf)
	h.turns.Set(conf.CallLimits())
	h.callers.SetWanted(conf.ExchangesTokens())
	changed := h.sessions.UpdateInstance
	if cfg.Telemetry != nil {
		h.countWith(cfg.Telemetry)
		changed = h.updateChild
	}
	limits := &conf.Limits
	h.sup = children.NewSupervisor(children.SupervisorOptions{
		Specs:         conf.Specs(),
		Changed:       changed,
		ListsChanged:  h.tellListsChanged,
		Notification:  h.handleChildNotification,
		Request:       h.handleChildRequest,
		ClientProfile: h.clientProfileOf,
		Principal:     h.principalOf,
		Yield:         h.yieldInstance,
		Level:         h.logLevelOf,
		Roots:         h.rootsQuery,
		NoRoots:       h.noRootsReason,
		Log:           cfg.Log,
		Version:       cfg.Version,
		OnStderr:      cfg.OnStderrLine,
		Record:        cfg.Record,
		Redefined:     h.recordRedefinitions,
		Refused:       h.recordKernelRefusal,
		Launcher:      cfg.Launcher,
		MaxStarting:   limits.Starting,
		MaxChildren:   limits.Children,
		MaxEach:       principalChildren(limits, limits.Children),
		Environ:       cfg.Environ,
		Home:          cfg.Home,
		Dir:           cfg.Dir,
		Cache:         cfg.Cache,
		Secret:        cfg.Secret,
		Login:         cfg.Login,
		Writes:        cfg.RecordWritable,
		Written:       cfg.Written,
	})
	h.sessions.Supervisor, h.sessions.RecordWritable = h.sup, cfg.RecordWritable
	h.surroundings = surroundings.NewTable(&h.current, h.sup, h.ownTools)
	return h, nil
}

// currentConfiguration returns the configuration that counts for what starts now and belongs to no session.
func (h *Hub) currentConfiguration() *configuration.Configuration { return h.current.InForce() }

// Toolsets returns the toolsets of hub.json that are in force; nil: there are none.
func (h *Hub) Toolsets() *toolset.Table { return h.currentConfiguration().Toolsets }

// Run keeps the children until ctx ends, and returns when all have stopped.
func (h *Hub) Run(ctx context.Context) error { return h.sup.Run(ctx) }

// Audit describes how decisions are recorded.
type Audit = record.Settings

// Terminal returns the place at which a person at a terminal of the hub's user answers what
// clients cannot ask.
func (h *Hub) Terminal() *approval.Terminal { return &h.terminal }

// A ReloadReport describes what Apply did to children, by name, in the order of hub.json.
type ReloadReport struct {
	Generation                 uint64
	Added, Replaced, Untouched []string
	Removed                    []string // in the old order
}

// Apply puts another Config instead of the one that the Hub was made of. If the error is not nil nothing has
// changed. It may be called while Run runs, by several goroutines: one after the other.
//
// What was sent under the old Config ends under it; what still waits starts again. A child whose Spec is Equal
// keeps its process; another one is retired, and its calls under way end well. A session for whose
// surroundings the new Config cannot be goes by the old one. Sessions that live get new roots settings and are
// told about other tools.
//
// What Settings.keepFrom names and Limits.Starting stay New's; Limits.Frame
// and Limits.Calls hold for the sessions that begin later.
func (h *Hub) Apply(ctx context.Context, cfg Config) (ReloadReport, error) {
	done, err := h.beginReplacing(ctx)
	if err != nil {
		return ReloadReport{}, err
	}
	defer done()
	old := h.currentConfiguration()
	conf, err := configuration.New(cfg, h.ownTools, old)
	if err != nil {
		return ReloadReport{}, err
	}
	h.followConfiguration(conf)
	h.telemetry.ForgetServerNames()
	return diffConfigurations(conf, old), nil
}

// beginReplacing waits until no one else replaces the configuration. done lets the next one.
func (h *Hub) beginReplacing(ctx context.Context) (done func(), err error) {
	select {
	case h.replacing <- struct{}{}:
		return func() { <-h.replacing }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// followConfiguration puts conf in force, for sessions and supervisor alike. The caller has the token.
func (h *Hub) followConfiguration(conf *configuration.Configuration) {
	h.surroundings.PutInForce(conf, func(next map[*configuration.Current]*configuration.Configuration) {
		h.sessions.Replace(next)
		h.sup.SetMaxEach(principalChildren(&conf.Limits, h.sup.MaxChildren()))
	}, h.logEndReason)
	h.turns.Set(conf.CallLimits())
	h.callers.SetWanted(conf.ExchangesTokens())
}

// diffConfigurations tells conf and old apart.
func diffConfigurations(conf, old *configuration.Configuration) ReloadReport {
	a := ReloadReport{Generation: conf.Number}
	for _, name := range conf.ChildNames() {
		oldChild := old.Child(name)
		switch {
		case oldChild == nil:
			a.Added = append(a.Added, name)
		case oldChild.Spec.Revision != conf.Child(name).Spec.Revision:
			a.Replaced = append(a.Replaced, name)
		default:
			a.Untouched = append(a.Untouched, name)
		}
	}
	for _, name := range old.ChildNames() {
		if conf.Child(name) == nil {
			a.Removed = append(a.Removed, name)
		}
	}
	return a
}

// ConfigState returns what SetConfigState was given last, or nil if it was not called. The
// caller must not change it.
func (h *Hub) ConfigState() *status.Config { return h.configState.Load() }

// SetConfigState sets what ConfigState returns. It is for the caller that loads the configuration.
func (h *Hub) SetConfigState(c status.Config) {
	h.configState.Store(&c)
	h.telemetry.SetReload(telemetry.Reload{Successful: c.LastError == "", At: c.LoadedAt})
}
