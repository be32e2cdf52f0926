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
	"mcphub/hub/catalog"
	"mcphub/hub/declaration"
	"mcphub/hub/inline"
	"mcphub/hub/record"
	"mcphub/hub/subscribe"
	"mcphub/hub/tasks"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/seal"
	"mcphub/rootsmgr"
)

// startAfter is how long after notifications/initialized a child may be started
// before the first roots are known (C4).
const startAfter = time.Second

// A Session is one client's stay: its connection, its roots, its view of what
// is on offer, its private children.
type Session struct {
	id string
	sessionOptions
	hub      *Hub
	client   mainPeer         // whatever belongs to none of its requests goes there
	main     *handshakeClient // of requests that have no way of their own
	roots    *rootsmgr.Manager
	catalog  atomic.Pointer[listing]                // nil when an offer has come: see tools
	assigned atomic.Pointer[assignment.Assignments] // which instances serve it; stored under Hub.mu
	served   *assignment.Served                     // which roots they were given
	log      zerolog.Logger
	since    time.Time

	began sync.Once
	begun chan struct{} // closed when the client is there: its children may be started

	inline *inline.Server // its requests of 2026-07-28
	// inlineFirst: what came first that needs children was of 2026-07-28, and a child
	// that has both eras is spoken to in that one. It is settled when the session
	// begins, and written with the session's lock held.
	inlineFirst atomic.Bool
	inlineMet   sync.Once

	met        sync.Once
	introduced chan struct{} // closed when it is known what the client can do
	recalled   chan struct{} // closed when what is remembered is in the catalogue

	inFlight  inFlights
	tasks     tasks.Table
	approvals *approval.Queue // what a person has allowed, or is asked
	records   *record.Recorder
	dones     dones

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

// sessionTables is what Session.mu guards. Channels in it are closed and
// replaced at each change, so that whoever waits looks again.
type sessionTables struct {
	gen         *generation // that the session goes by: its catalogue is made under it
	offers      map[string]*catalog.Offer
	status      map[string]children.Status
	changed     chan struct{} // status or offers
	begun       bool          // as the channel
	listsBy     time.Time     // until when lists wait for starting children; zero before the first
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
		id: id, sessionOptions: o, hub: h, since: time.Now(), begun: make(chan struct{}), introduced: make(chan struct{}), recalled: make(chan struct{}),
		yielded: make(chan struct{}, 1), served: assignment.NewServed(), log: g.cfg.Log.With().Str("session", id[:8]).Logger(),
	}
	s.tab = sessionTables{
		gen: g, offers: map[string]*catalog.Offer{}, status: map[string]children.Status{},
		changed: make(chan struct{}),
	}
	s.outbox.passing.Do = s.outbox.empty
	s.inline = inline.NewServer(inline.Options{
		Host: inlineHost{s}, Info: h.serverInfo, Seal: o.seal, Bearer: o.bearer, Stateless: o.stateless, Suspended: &h.suspended, Log: s.log,
	})
	s.notifier = subscribe.NewNotifier(subscribeSession{s}, &h.subs, s.log)
	s.records = record.New(id, func() *Audit { return &h.now().cfg.Audit }, s.log)
	s.approvals = s.newApprovals()
	s.assigned.Store(assignment.None())
	return s
}

// asksForRoots has the session ask its client for its roots, which stay under a
// ceiling where that is not nil.
func (s *Session) asksForRoots(ceiling []rootsmgr.Entry) {
	cfg := &s.hub.now().cfg
	settings := cfg.Roots
	settings.Ceiling, settings.Places = ceiling, s.places
	s.roots = rootsmgr.NewManager(askRoots{s.client}, cfg.Fallback, settings, cfg.FS, s.log)
}

// run serves the session for as long as front does, then lets its children go.
// A nil front serves until ctx ends: others bring what the client says.
func (s *Session) run(ctx context.Context, front func(context.Context) error) (err error) {
	s.hub.add(s)
	defer s.hub.remove(s)
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { s.recall(ctx) })
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

// begin says that the client is there. Later calls do nothing.
func (s *Session) begin() {
	s.introduce()
	s.began.Do(func() {
		s.mu.Lock()
		s.tab.begun = true
		s.mu.Unlock()
		close(s.begun)
	})
}

// introduce says that the client has told what it can do, or will not.
func (s *Session) introduce() { s.met.Do(func() { close(s.introduced) }) }

// serveRoots starts the children once their roots are known, or after a second
// those that need none to start, and serves every later change down. It
// alone assigns the session to instances and sets roots for it, so all that comes in order.
func (s *Session) serveRoots(ctx context.Context) {
	select {
	case <-s.begun:
	case <-ctx.Done():
		return
	}
	s.awaitRecalled(ctx) // or the first thing they tell would be read twice
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
	g := s.hub.inForce()
	updates = s.roots.Updates()
	view := s.roots.View()
	if ctx.Err() != nil {
		return // what a session knows when it has ended is no change of its roots
	}
	s.approvals.Prune(g.rules())
	brought := s.served.LastBrought()
	granted, grants := s.approvals.Version()
	s.serve(g, view, first)
	s.served.Set(assignment.State{Given: true, Configuration: g.number, Roots: view.Snapshot.Generation(), Grants: granted, Brought: brought})
	return updates, grants, g.next
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
		s.mu.Lock()
		defer s.mu.Unlock()
		return enough(now) && now.Configuration == s.tab.gen.number
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
	s.mu.Lock()
	before := s.tab.status[st.Child]
	again := st.State == children.Ready && (before.State != children.Ready || st.Renewed != before.Renewed)
	s.tab.status[st.Child] = st
	had := s.tab.offers[st.Child]
	news := true
	switch {
	case offer != nil && had != offer:
		s.tab.offers[st.Child] = offer
		s.catalog.Store(nil)
	case offer == nil && had != nil && s.replacing(had) && settled(st, true, false):
		delete(s.tab.offers, st.Child) // the one that was to take its place has failed
		s.catalog.Store(nil)
	default:
		news = false
	}
	if st.Yields {
		poke(s.yielded)
	}
	close(s.tab.changed)
	s.tab.changed = make(chan struct{})
	s.mu.Unlock()
	switch {
	case again:
		s.notifier.Restarted(st.Child)
	case news:
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

// tools returns the session's catalogue, made anew where an offer has come since:
// when many children start, their offers come in one after the other, and nobody
// looks at what is between.
func (s *Session) tools() *listing {
	if c := s.catalog.Load(); c != nil {
		return c
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.toolsNow()
}

// toolsNow is tools for callers that hold mu.
func (s *Session) toolsNow() *listing {
	if c := s.catalog.Load(); c != nil {
		return c
	}
	l := &listing{s.tab.gen.offers.Catalog(s.tab.offers), s.tab.gen}
	s.catalog.Store(l)
	return l
}

// replacing reports an offer of a child that is being replaced. s.mu is held.
func (s *Session) replacing(o *catalog.Offer) bool { return !o.By(s.tab.gen.offers) }

// childStatus is one child as this session sees it. offered: the instance that
// serves the session now has listed its tools, or what it offers is remembered.
func (s *Session) childStatus(name string) (st children.Status, known, offered bool, changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st, known = s.tab.status[name]
	offer := s.tab.offers[name]
	return st, known, offer != nil && !s.replacing(offer) && !s.assigned.Load().Moved(name), s.tab.changed
}

// settled reports whether it is known what a child offers, or will not be soon.
func settled(st children.Status, known, offered bool) bool {
	return offered || known && (st.State == children.BackingOff || st.State == children.Stopped)
}

// listed reports whether a child has listed its tools since it was started for
// this session, or will not soon.
func listed(st children.Status, known, offered bool) bool {
	return st.Listed && offered || known && (st.State == children.BackingOff || st.State == children.Stopped || st.State == children.Cold)
}

// begun reports whether there is anything to tell of a child: its life has
// begun, and it is settled.
func begun(st children.Status, known, offered bool) bool {
	return known && st.State != children.Configured && settled(st, known, offered)
}

// awaitBegun waits until there is something to tell of every child, within the
// time that a list has.
func (s *Session) awaitBegun(ctx context.Context) {
	g := s.hub.now()
	ctx, cancel := context.WithTimeout(ctx, g.cfg.Limits.ListWait)
	defer cancel()
	s.awaitChildren(ctx, g.names(), begun)
}

// awaitChildren waits until every named child is as wanted, or ctx ends. A
// child that is not yet configured to run counts as one to wait for.
func (s *Session) awaitChildren(ctx context.Context, names []string, wanted func(st children.Status, known, offered bool) bool) {
	for _, name := range names {
		for {
			st, known, offered, changed := s.childStatus(name)
			if wanted(st, known, offered) || s.hub.now().byName[name] == nil {
				break
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
		}
	}
}

// awaitOffers gives the children that are still starting their time, and no
// more: a list is answered with what there is by then.
func (s *Session) awaitOffers(ctx context.Context) {
	g := s.hub.now()
	ctx, cancel := context.WithDeadline(ctx, s.listsBy(g.cfg.Limits.ListWait))
	defer cancel()
	s.awaitRecalled(ctx)
	s.awaitChildren(ctx, g.names(), settled)
}

// listsBy is when the session's lists have waited for starting children for long
// enough: a child that hangs delays the first of them, and not every one.
func (s *Session) listsBy(wait time.Duration) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tab.listsBy.IsZero() {
		s.tab.listsBy = time.Now().Add(wait)
	}
	return s.tab.listsBy
}

// setCaps records what the client declared. Roots that are no object count as
// not declared (R1).
func (s *Session) setCaps(params []byte) {
	c := declaration.Client{Known: true}
	c.Read(jsonrpc.Get(params, "capabilities"))
	info := jsonrpc.Get(params, "clientInfo")
	c.Name, _ = jsonrpc.String(jsonrpc.Get(info, "name"))
	c.Version, _ = jsonrpc.String(jsonrpc.Get(info, "version"))
	c.Protocol, _ = jsonrpc.String(jsonrpc.Get(params, "protocolVersion"))
	s.mu.Lock()
	s.tab.caps = c
	if !s.tab.begun {
		s.inlineFirst.Store(false)
	}
	s.mu.Unlock()
	s.introduce()
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
