package hub

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"mcphub/children"
	"mcphub/children/offers"
	"mcphub/children/spec"
	"mcphub/hub/approval"
	"mcphub/hub/assignment"
	"mcphub/hub/call"
	"mcphub/hub/configuration"
	"mcphub/hub/declaration"
	"mcphub/hub/handshake"
	"mcphub/hub/modern"
	"mcphub/hub/offering"
	"mcphub/hub/outbox"
	"mcphub/hub/record"
	"mcphub/hub/results"
	"mcphub/hub/seal"
	"mcphub/hub/subscribe"
	"mcphub/hub/surroundings"
	"mcphub/hub/tasks"
	"mcphub/hub/telemetry"
	"mcphub/hub/toolset"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/principal"
	"mcphub/internal/printable"
	"mcphub/rootsmgr"
)

// A Session is one client's stay: its connection, its roots, its view of what
// is on offer, its private children.
type Session struct {
	id string
	sessionOptions
	*offering.Offering // what it is offered
	hub                *Hub
	current            *configuration.Current  // the configuration of this session
	mainMessenger      handshake.MainMessenger // takes what belongs to no request of the client
	mainClient         *handshake.Client       // the client of requests that have no way of their own
	roots              *rootsmgr.Manager
	assignedSession    *assignment.AssignedSession[*Session] // which instances serve it, with which roots
	log                zerolog.Logger
	since              time.Time

	startOnce sync.Once
	started   chan struct{} // closed when the client is there: its children may be started

	modernServer *modern.Server // its requests of 2026-07-28
	modernOnce   sync.Once

	knownOnce   sync.Once
	clientKnown chan struct{} // closed when it is known what the client can do
	handshaken  atomic.Bool   // the client has said initialize: what belongs to no request may be said to it then

	sender    call.Sender
	tasks     tasks.Table
	approvals *approval.Queue // what a person has allowed, or is asked
	records   *record.Writer
	metrics   *telemetry.SessionMetrics // nil: no one watches

	maySkills atomic.Bool // it was told about the extension for skills before that was known: see unconfirmedExtensions
	noTasks   atomic.Bool // it was told about no tasks of 2025-11-25: no server had any

	dropped atomic.Uint64 // notifications of children that there was no room for

	notifier *subscribe.Notifier // tells the client what changes
	outbox   outbox.Outbox       // what the client tells children

	mu          sync.Mutex // guards what follows
	hasStarted  bool       // as the channel
	caps        declaration.Claims
	level       declaration.Level // that the client set
	modernLevel declaration.Level // the most verbose that a modern request of it wanted
	name        string            // and version of the client, as it calls itself
}

// sessionOptions describe the client of a session. The zero value is of a client that nothing is known about.
type sessionOptions struct {
	principal    principal.Principal      // whom the session belongs to
	caller       string                   // tells apart whose tokens servers are called by, as admission.Caller.Owner does
	http         bool                     // its client comes over HTTP
	local        bool                     // its client is a program of the user of this hub, on this machine
	stateless    bool                     // it serves requests that have nothing in common but their token
	bearer       string                   // whom a requestState may come from; "": this session alone
	seal         *seal.Sealer             // of a requestState; nil: the hub's
	node         string                   // of the hubs that share the seal, this one
	streams      int                      // of subscriptions/listen at a time; 0: as many as fit into the requests of one client
	keeper       *sessionKeeper           // keeps its state for another hub; nil: it is not kept
	attachment   *surroundings.Attachment // to the configuration in its surroundings; nil: these are the hub's own
	toolsets     toolset.Claim            // what its toolsets are told by, but for the name of a client that says initialize later
	endSession   func()                   // has it end; nil: it lasts as long as its streams
	yieldSession func() bool              // has it end for another principal, if no one uses it; nil: it never does
}

func (h *Hub) newSession(options sessionOptions) *Session {
	id, current := uuid.NewString(), &h.current
	if options.attachment != nil {
		current = &options.attachment.Current
	}
	current = current.For(configuration.Audience{Principal: options.principal, Toolsets: options.toolsets})
	conf := current.InForce()
	if options.bearer == "" {
		options.bearer = "session " + id
	}
	if options.seal == nil {
		options.seal = h.seal
	}
	s := &Session{
		id: id, sessionOptions: options, hub: h, current: current, since: time.Now(), started: make(chan struct{}), clientKnown: make(chan struct{}),
		log: h.logOf(options.attachment).With().Str("session", id[:8]).Logger(),
	}
	if !options.principal.Local { // whom the whole hub serves, if no other
		s.log = s.log.With().Str("principal", options.principal.String()).Logger()
	}
	s.Offering = offering.New(conf, current, func(child string) bool { return s.assignedSession.AwaitsList(child) })
	s.modernServer = modern.NewServer(modern.ServerOptions{
		Host: modernHost{s}, Info: h.serverInfo, Seal: options.seal, Node: options.node, Bearer: options.bearer, PerRequest: options.stateless, Suspended: &h.suspended, Log: s.log,
	})
	s.notifier = subscribe.NewNotifier(subscribeSession{s}, &h.subs, s.log)
	s.metrics = h.telemetry.NewSession(telemetry.SessionLabels{Session: id, HTTP: options.http, Principal: options.principal.String(), Stateless: options.stateless})
	s.records = record.New(id, options.principal.String(), func() *Audit { return &s.currentConfiguration().Audit }, h.recordGroup, s.metrics)
	s.approvals = s.newApprovals()
	s.assignedSession = h.sessions.NewAssignedSession(assignment.AssignedSessionOptions[*Session]{
		Session: s, ID: id, Principal: options.principal.Key(), Rights: options.principal.RightsKey(), Caller: options.caller, Current: current, PerRequest: options.stateless, Offering: s.Offering, Approvals: s.approvals,
		Restarted: s.notifier.NoteRestart, Changed: s.notifier.SignalChange,
	})
	life := time.Duration(0)
	if options.stateless { // it may last as long as its token is used
		life = results.Lifetime
	}
	s.sender = call.Sender{
		ID: id, Principal: options.principal, Current: current, Offering: s.Offering, Instances: subscribedInstances{s.assignedSession, s.notifier}, Approvals: s.approvals, Terminal: &h.terminal,
		Records: s.records, Tasks: &s.tasks, Progress: &h.progress, Turns: &h.turns, Results: results.NewStore(&h.results, options.principal.Key(), life), ServeHubTool: s.serveOwnTool, Log: s.log,
		AdoptTask: func(ctx context.Context, lease *children.Lease, tool string, answer jsonrpc.Answer, drop func()) jsonrpc.Answer {
			return s.tasks.Adopt(ctx, taskSession{s}, lease, tool, answer, drop)
		},
	}
	if options.attachment != nil {
		s.sender.Asking = approval.Pending{Folder: printable.Escape(options.attachment.Surroundings.Dir, longestFolder), Process: options.attachment.Surroundings.Client.PID}
	}
	return s
}

// TryAcquire returns a lease of an instance if that takes no waiting.
func (s *Session) TryAcquire(k spec.Key) (*children.Lease, bool) { return s.hub.sup.TryAcquire(k) }

// currentConfiguration returns the configuration that counts for what the session starts now.
func (s *Session) currentConfiguration() *configuration.Configuration { return s.current.InForce() }

// initRoots makes the manager of the session's roots. If ceiling is not nil, the roots stay
// below it.
func (s *Session) initRoots(ceiling []rootsmgr.RootEntry) {
	cfg := &s.currentConfiguration().Settings
	settings := cfg.RootsOf(s.principal.Key())
	settings.Ceiling, settings.WritableDirs, settings.AtWorkDir = ceiling, s.writableDirs, !s.http
	s.roots = rootsmgr.NewManager(handshake.ClientRootsSource{Client: s.mainMessenger}, cfg.Fallback, settings, cfg.FS, s.log)
	s.sender.RootsManager, s.assignedSession.Roots = s.roots, s.roots
}

// Run serves the session until ctx ends.
func (s *Session) Run(ctx context.Context) { _ = s.serveFront(ctx, nil) }

// serveFront serves the session for as long as front does, then lets its children go.
// A nil front serves until ctx ends: others bring what the client says.
func (s *Session) serveFront(ctx context.Context, front func(context.Context) error) (err error) {
	s.hub.sessions.Enter(s.assignedSession)
	defer s.hub.sessions.Leave(s.assignedSession)
	s.metrics.Enter()
	defer s.metrics.Leave()
	defer s.notifier.Leave()
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		s.Recall(ctx, s.clientKnown, func(conf *configuration.Configuration, c *Child) *offers.RawOffer {
			if c.Spec.Share != spec.ShareAll && !c.Spec.SeesNoProject() {
				return nil // its roots decide what it offers: its instance looks it up when they are known
			}
			return s.assignedSession.Recall(conf, c, rootsmgr.RootsView{})
		})
	})
	wg.Go(func() { _ = s.roots.Run(ctx) })
	s.notifier.Start(ctx)
	s.outbox.Start(ctx)
	if s.sender.Logins.ByPage = s.http && s.principal.Name != ""; s.local || s.sender.Logins.ByPage {
		s.sender.Logins.Start(ctx)
	}
	if front == nil {
		s.assignedSession.Run(ctx, s.started) // on this goroutine: a session that rests has few
	} else {
		wg.Go(func() { s.assignedSession.Run(ctx, s.started) })
		err = front(ctx)
	}
	s.sender.Logins.Stop()
	s.modernServer.Close()
	s.tasks.Close()
	s.sender.Results.Close()
	cancel()
	wg.Wait()
	s.notifier.Stop()
	s.outbox.Stop()
	return err
}

// markReady lets everything begin that waits until the client is ready. Later calls do nothing.
func (s *Session) markReady() {
	s.markClientKnown("")
	s.startOnce.Do(func() {
		s.mu.Lock()
		s.hasStarted = true
		s.mu.Unlock()
		close(s.started)
	})
}

// markClientKnown remembers that the client has declared what it can do, or never will. name is how it calls itself, which may choose its
// toolsets. Only the first call counts.
func (s *Session) markClientKnown(name string) {
	s.knownOnce.Do(func() {
		if name != "" && s.local {
			s.current.NoteClient(name)
			s.hub.sessions.Follow(s.assignedSession)
		}
		if s.attachment != nil {
			s.tellClient(s.attachment.Surroundings)
		}
		close(s.clientKnown)
	})
}

// setCaps records what the client declared. Roots that are no object count as
// not declared.
func (s *Session) setCaps(params []byte) {
	c := declaration.Claims{Known: true}
	c.Read(jsonrpc.Get(params, "capabilities"))
	info := jsonrpc.Get(params, "clientInfo")
	c.Name, _ = jsonrpc.GetString(info, "name")
	c.Version, _ = jsonrpc.GetString(info, "version")
	c.Protocol, _ = jsonrpc.GetString(params, "protocolVersion")
	s.mu.Lock()
	s.caps, s.name = c, c.String()
	s.handshaken.Store(true)
	if !s.hasStarted {
		s.assignedSession.SetModernFirst(false)
	}
	s.mu.Unlock()
	s.records.SetClient(c.String())
	s.markClientKnown(c.Name)
}

func (s *Session) clientClaims() declaration.Claims {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.caps
}

// clientName returns how the client calls itself; "" while it has not said.
func (s *Session) clientName() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.name
}

func encodeAnswer(v any) jsonrpc.Answer {
	raw, err := json.Marshal(v)
	if err != nil {
		return jsonrpc.AnswerFailure(err.Error())
	}
	return jsonrpc.ResultAnswer(raw)
}

// newApprovals makes the approval queue of a session.
func (s *Session) newApprovals() *approval.Queue {
	q := approval.New(s.currentConfiguration().FS, s.log, func() approval.Rules { return s.currentConfiguration().ApprovalRules() })
	q.SetPendingCounter(&s.hub.asked)
	return q
}

// writableDirs returns the directories beside the session's roots that its children
// may write in: a root that is a link in one is not followed out of it.
func (s *Session) writableDirs() []string {
	return append(s.currentConfiguration().Checker.Rules().WritableDirs(), s.approvals.Directories()...)
}

// setMainMessenger sets what carries everything that belongs to no request of the client.
func (s *Session) setMainMessenger(main handshake.MainMessenger) {
	s.mainMessenger, s.mainClient = main, handshake.NewMain(main, handshakeHost{s})
	s.sender.MainClient = s.mainClient
}

// A handshakeHost is a Session as package handshake knows it.
type handshakeHost struct{ *Session }

func (s handshakeHost) Capabilities() declaration.Claims { return s.clientClaims() }

func (s handshakeHost) Level() declaration.Level {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.level
}

func (s handshakeHost) AwaitServed(ctx context.Context, rootsView rootsmgr.RootsView, limit time.Duration) error {
	return s.assignedSession.AwaitServed(ctx, rootsView, limit)
}

// Roots returns the roots of the client.
func (s *Session) Roots() *rootsmgr.Manager { return s.roots }

// RootsTimeout returns how long the client may take to report its roots.
func (s *Session) RootsTimeout() time.Duration { return s.currentConfiguration().Roots.Timeout }

// Guard has a request served; see jsonrpc.Guard.
func (s *Session) Guard(m *jsonrpc.Message, serve func() jsonrpc.Answer) (answer jsonrpc.Answer) {
	if !jsonrpc.Guard(s.log, m, func() { answer = serve() }) {
		return jsonrpc.PanicAnswer()
	}
	return answer
}

// setLevel answers logging/setLevel: the session's messages are held to it from
// now on, and the children that serve it are told; the ones that start later
// are told then.
func (s *Session) setLevel(ctx context.Context, m *jsonrpc.Message) jsonrpc.Answer {
	level, ok := declaration.ReadLevel(m.Param("level"))
	if !ok {
		return jsonrpc.RefuseParams("logging/setLevel needs one of debug, info, notice, warning, error, critical, alert and emergency at /params/level")
	}
	s.applyLevel(ctx, level)
	s.keeper.changeRecord(func(r *keptRecord) { r.Level = level.String() })
	return jsonrpc.ResultAnswer([]byte(`{}`))
}

func (s *Session) applyLevel(ctx context.Context, level declaration.Level) {
	s.mu.Lock()
	s.level = level
	s.mu.Unlock()
	s.tellLevels(ctx)
}

// tellLevels informs the children that serve the session what it wants to hear, also those that start later.
func (s *Session) tellLevels(ctx context.Context) {
	s.hub.sessions.SetLevel(s.assignedSession, func() int { return int(s.heardLevel()) })
	var told sync.WaitGroup
	for _, at := range s.assignedSession.Assignments().All() {
		told.Go(func() { s.hub.tellLevel(ctx, at.Key) })
	}
	told.Wait()
}

// raiseModernLevel sees to it that children log what a modern request wants to hear: those
// of the other era have one level for everything. The others go by the request.
func (s *Session) raiseModernLevel(ctx context.Context, level declaration.Level) {
	s.mu.Lock()
	more := s.modernLevel.MoreVerbose(level) != s.modernLevel
	if more {
		s.modernLevel = level
	}
	s.mu.Unlock()
	if more {
		s.tellLevels(ctx)
	}
}

// heardLevel returns the most verbose level that anybody of the session wants.
func (s *Session) heardLevel() declaration.Level {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.level.MoreVerbose(s.modernLevel)
}

// tellLevel tells an instance the level that its sessions want: now if it can be called, else as soon as it runs.
func (h *Hub) tellLevel(ctx context.Context, k spec.Key) {
	lease, ok := h.sup.TryAcquire(k)
	if !ok {
		h.sup.UpdateLevel(k)
		return
	}
	defer lease.Release()
	lease.TellLevel(ctx)
}
