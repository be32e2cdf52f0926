package hub

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/rs/zerolog"

	"mcphub/children"
	"mcphub/hub/approval"
	"mcphub/hub/assignment"
	"mcphub/hub/call"
	"mcphub/hub/catalog"
	"mcphub/hub/declaration"
	"mcphub/hub/inline"
	"mcphub/hub/lookup"
	"mcphub/hub/offering"
	"mcphub/hub/record"
	"mcphub/hub/subscribe"
	"mcphub/hub/tasks"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/seal"
	"mcphub/rootsmgr"
)

// startAfter is how long after notifications/initialized a child may be started
// before the first roots are known.
const startAfter = time.Second

// A Session is one client's stay: its connection, its roots, its view of what
// is on offer, its private children.
type Session struct {
	id string
	sessionOptions
	*offering.Offering // what it is offered
	hub                *Hub
	client             mainPeer         // whatever belongs to none of its requests goes there
	main               *handshakeClient // of requests that have no way of their own
	roots              *rootsmgr.Manager
	assigned           atomic.Pointer[assignment.Assignments] // which instances serve it; stored under Hub.mu
	served             *assignment.Served                     // which roots they were given
	log                zerolog.Logger
	since              time.Time

	startOnce sync.Once
	started   chan struct{} // closed when the client is there: its children may be started

	inline *inline.Server // its requests of 2026-07-28
	// inlineFirst: what came first that needs children was of 2026-07-28, and a child
	// that has both eras is spoken to in that one. It is settled when the session
	// begins, and written with the session's lock held.
	inlineFirst atomic.Bool
	inlineOnce  sync.Once

	knownOnce   sync.Once
	clientKnown chan struct{} // closed when it is known what the client can do

	calls     call.Session
	lookups   lookup.Session // of what the client asks of children
	tasks     tasks.Table
	approvals *approval.Queue // what a person has allowed, or is asked
	records   *record.Recorder

	dropped atomic.Uint64 // notifications of children that there was no room for

	notifier *subscribe.Notifier // tells the client what changes
	outbox   outbox              // what the client tells children

	yielded chan struct{} // an instance has ended that another one stands in for

	mu  sync.Mutex
	tab sessionTables
}

// sessionOptions say whose a session is. The zero value is for stdio.
type sessionOptions struct {
	principal string       // whom the session belongs to; "" is the user that stdio serves
	stateless bool         // it serves requests that have nothing in common but their token
	bearer    string       // whom a requestState may come from; "": this session alone
	seal      *seal.Sealer // of a requestState; nil: the hub's
	streams   int          // of subscriptions/listen at a time; 0: as many as fit into the requests of one client
}

// sessionTables is what Session.mu guards.
type sessionTables struct {
	started     bool // as the channel
	caps        declaration.Client
	level       declaration.Level // that the client set
	modernLevel declaration.Level // the most verbose that a modern request of it wanted
}

func (h *Hub) newSession(o sessionOptions) *Session {
	id, g := uuid.NewString(), h.now()
	if o.bearer == "" {
		o.bearer = "session " + id
	}
	if o.seal == nil {
		o.seal = h.seal
	}
	s := &Session{
		id: id, sessionOptions: o, hub: h, since: time.Now(), started: make(chan struct{}), clientKnown: make(chan struct{}),
		yielded: make(chan struct{}, 1), served: assignment.NewServed(), log: g.Log.With().Str("session", id[:8]).Logger(),
	}
	s.Offering = offering.New(g, &h.current, func(child string) bool { return s.assigned.Load().Moved(child) })
	s.outbox.passing.Do = s.outbox.empty
	s.inline = inline.NewServer(inline.Options{
		Host: inlineHost{s}, Info: h.serverInfo, Seal: o.seal, Bearer: o.bearer, Stateless: o.stateless, Suspended: &h.suspended, Log: s.log,
	})
	s.notifier = subscribe.NewNotifier(subscribeSession{s}, &h.subs, s.log)
	s.records = record.New(id, func() *Audit { return &h.now().Audit }, s.log)
	s.approvals = s.newApprovals()
	s.assigned.Store(assignment.None())
	s.calls = call.Session{
		ID: id, Principal: o.principal, Current: &h.current, Offering: s.Offering, Instances: callInstances{s}, Approvals: s.approvals, Terminal: &h.terminal,
		Records: s.records, Tasks: &s.tasks, Progress: &h.progress, Log: s.log,
	}
	s.lookups = lookup.Session{Session: &s.calls, Own: s.ownTool}
	return s
}

// asksForRoots has the session ask its client for its roots, which stay under a
// ceiling where that is not nil.
func (s *Session) asksForRoots(ceiling []rootsmgr.Entry) {
	cfg := &s.hub.now().Settings
	settings := cfg.Roots
	settings.Ceiling, settings.Places = ceiling, s.places
	s.roots = rootsmgr.NewManager(askRoots{s.client}, cfg.Fallback, settings, cfg.FS, s.log)
	s.calls.Roots = s.roots
}

// run serves the session for as long as front does, then lets its children go.
// A nil front serves until ctx ends: others bring what the client says.
func (s *Session) run(ctx context.Context, front func(context.Context) error) (err error) {
	s.hub.add(s)
	defer s.hub.remove(s)
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		s.Recall(ctx, s.clientKnown, func(c *Child) *children.Offer { return s.hub.sup.Recall(s.keyFor(c, nil)) })
	})
	wg.Go(func() { _ = s.roots.Run(ctx) })
	s.notifier.Start(ctx)
	s.outbox.passing.Start(ctx)
	if front == nil {
		s.serveRoots(ctx) // on this goroutine: a session that rests has few
	} else {
		wg.Go(func() { s.serveRoots(ctx) })
		err = front(ctx)
	}
	s.inline.Close()
	s.tasks.Close()
	cancel()
	wg.Wait()
	s.notifier.Stop()
	s.outbox.passing.Stop()
	return err
}

// start says that the client is there. Later calls do nothing.
func (s *Session) start() {
	s.knowClient()
	s.startOnce.Do(func() {
		s.mu.Lock()
		s.tab.started = true
		s.mu.Unlock()
		close(s.started)
	})
}

// knowClient says that the client has told what it can do, or will not.
func (s *Session) knowClient() { s.knownOnce.Do(func() { close(s.clientKnown) }) }

// serveRoots starts the children once their roots are known, or after a second
// those that need none to start, and serves every later change down. It
// alone assigns the session to instances and sets roots for it, so all that comes in order.
func (s *Session) serveRoots(ctx context.Context) {
	select {
	case <-s.started:
	case <-ctx.Done():
		return
	}
	s.AwaitRecalled(ctx) // or the first thing they tell would be read twice
	s.serveAll()
	timer := time.NewTimer(startAfter)
	defer timer.Stop()
	for known := false; !known; {
		select {
		case <-s.roots.First():
			known = true
		case <-timer.C:
			s.prestart()
		case <-s.yielded:
			s.serveAll()
		case <-ctx.Done():
			return
		}
	}
	for first := true; ; first = false {
		updates, grants, next := s.serveRootsNow(ctx, first)
		select {
		case <-updates:
		case <-s.served.Wanted():
		case <-s.yielded:
		case <-grants:
		case <-next:
		case <-ctx.Done():
			return
		}
	}
}

// serveRootsNow serves the roots as they stand. The channels tell when to do so
// again. It is a function of its own because a session waits without its variables:
// the stack of an idle session stays small.
//
//go:noinline
func (s *Session) serveRootsNow(ctx context.Context, first bool) (updates, grants, next <-chan struct{}) {
	g := s.hub.current.Followed()
	updates = s.roots.Updates()
	view := s.roots.View()
	if ctx.Err() != nil {
		return // what a session knows when it has ended is no change of its roots
	}
	s.approvals.Prune(g.ApprovalRules())
	brought := s.served.LastBrought()
	granted, grants := s.approvals.Version()
	s.serve(g, view, first)
	s.served.Set(assignment.State{Given: true, Configuration: g.Number, Roots: view.Snapshot.Generation(), Grants: granted, Brought: brought})
	return updates, grants, g.Replaced()
}

// awaitServed waits until the children have been given the roots of a view, or
// newer ones. Where limit ends first, as it does for a client that never said that it
// is initialized, the hub alone judges.
func (s *Session) awaitServed(ctx context.Context, view rootsmgr.View, limit time.Duration) error {
	generation := view.Snapshot.Generation()
	return s.awaitGiven(ctx, max(limit, 0), func(now assignment.State) bool { return now.Given && now.Roots >= generation })
}

// awaitGiven waits until the children were given what enough looks for, by the
// configuration that the session goes by now: a call is judged by its policy, and
// the directories of that are served too.
func (s *Session) awaitGiven(ctx context.Context, limit time.Duration, enough func(assignment.State) bool) error {
	return s.served.Await(ctx, limit, func(now assignment.State) bool {
		return enough(now) && now.Configuration == s.Configuration().Number
	})
}

// childChanged takes in what is told of one instance. The
// caller holds Hub.mu.
func (s *Session) childChanged(st children.Status, offer *catalog.Offer) {
	at, assigned := s.assigned.Load().Of(st.Child)
	if !assigned || at.Key != st.Key || st.Serial < at.Serial {
		return // another instance serves the session now
	}
	if at.Moved && offer != nil {
		at.Moved = false
		s.reassign(at)
	}
	restarted, changed := s.Take(st, offer)
	if st.Yields {
		poke(s.yielded)
	}
	switch {
	case restarted:
		s.notifier.Restarted(st.Child)
	case changed:
		s.notifier.Changed()
	}
}

// poke makes sure that c holds a token.
func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// setCaps records what the client declared. Roots that are no object count as
// not declared.
func (s *Session) setCaps(params []byte) {
	c := declaration.Client{Known: true}
	c.Read(jsonrpc.Get(params, "capabilities"))
	info := jsonrpc.Get(params, "clientInfo")
	c.Name, _ = jsonrpc.String(jsonrpc.Get(info, "name"))
	c.Version, _ = jsonrpc.String(jsonrpc.Get(info, "version"))
	c.Protocol, _ = jsonrpc.String(jsonrpc.Get(params, "protocolVersion"))
	s.mu.Lock()
	s.tab.caps = c
	if !s.tab.started {
		s.inlineFirst.Store(false)
	}
	s.mu.Unlock()
	s.knowClient()
}

func (s *Session) capabilities() declaration.Client {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tab.caps
}

// clientSession is a Session as mcp-go's server knows it.
type clientSession struct{ s *Session }

func (c clientSession) Initialize()                                         {}
func (c clientSession) Initialized() bool                                   { return true }
func (c clientSession) NotificationChannel() chan<- mcp.JSONRPCNotification { return nil }
func (c clientSession) SessionID() string                                   { return c.s.id }

// control has mcp-go's server answer a request of the control plane.
func (s *Session) control(ctx context.Context, frame []byte) jsonrpc.Answer {
	ctx = s.hub.control.WithContext(ctx, clientSession{s})
	switch resp := s.hub.control.HandleMessage(ctx, json.RawMessage(frame)).(type) {
	case mcp.JSONRPCResponse:
		return marshalled(resp.Result)
	case mcp.JSONRPCError:
		raw, err := json.Marshal(resp.Error)
		if err != nil {
			return jsonrpc.ErrorAnswer(jsonrpc.CodeInternal, err.Error())
		}
		return jsonrpc.Answer{Error: raw}
	default:
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInternal, "the request was not answered")
	}
}

func marshalled(v any) jsonrpc.Answer {
	raw, err := json.Marshal(v)
	if err != nil {
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInternal, err.Error())
	}
	return jsonrpc.ResultAnswer(raw)
}
