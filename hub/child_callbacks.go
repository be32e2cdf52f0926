package hub

import (
	"context"
	"strings"
	"time"

	"mcphub/children/link"
	"mcphub/children/offers"
	"mcphub/children/run"
	"mcphub/children/sandbox"
	"mcphub/children/spec"
	"mcphub/hub/audit"
	"mcphub/hub/call"
	"mcphub/hub/client"
	"mcphub/hub/declaration"
	"mcphub/hub/inflight"
	"mcphub/hub/record"
	"mcphub/hub/texts"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
	"mcphub/internal/printable"
)

// This file is what the children see of the hub: whom they serve, and where what they
// tell and ask beside their answers goes.

// handleChildNotification passes on what a child tells beside its answers. What
// belongs to no call and no client ends here.
func (h *Hub) handleChildNotification(ctx context.Context, k spec.Key, m *jsonrpc.Message) {
	switch m.Method {
	case methods.Progress:
		h.progress.Relay(k, m)
	case methods.ResourceUpdated:
		h.subs.Updated(k, m)
	case methods.Message:
		h.passLog(ctx, k, m)
	case methods.TaskStatus:
		h.passTaskStatus(k, m)
	case methods.TaskNews:
		h.passModernTaskStatus(k, m)
	case methods.Cancelled, methods.Initialized, methods.RootsChanged:
		// Ids are the ids of one connection; the others are a client's to say.
	default:
		// A server may have things to report that this program does not know; those
		// of one that several share are no one's.
		if s, ok := h.sessions.Owner(k); ok && (methods.OfProtocol(m.Method) || s.acceptsNotification(k, m.Method)) {
			s.passNotification(ctx, k, m)
		}
	}
}

// tellListsChanged informs clients that a child has announced a change of lists, if they have asked
// it for something: they know before they get the answer, which waits for no list. All others
// are told when the lists have been read, if they have changed.
func (h *Hub) tellListsChanged(k spec.Key, which offers.Lists) {
	for _, s := range h.sessions.SessionsOf(k) {
		_, to, asks := s.sender.InFlight.Find(k, nil)
		switch {
		case !asks || s.currentConfiguration().IsDenied(k.Child):
		case s.handshaken.Load() && s.mainMessenger.Connected():
			s.notifier.WarnOutdated(which, s.mainMessenger)
		default:
			s.notifier.WarnOutdated(which, to)
		}
	}
}

// clientProfileOf returns whom an instance serves: of a session's own child that session's client, of a shared one no one
// in particular.
func (h *Hub) clientProfileOf(k spec.Key) (c link.ClientProfile) {
	if s, ok := h.sessions.Owner(k); ok {
		s.mu.Lock()
		defer s.mu.Unlock()
		c.Capabilities = s.caps.ForChildren
	}
	return c
}

// principalOf returns whose an instance is: the principal of its session, or of those with whose
// roots it was started. One that serves everybody is no one's.
func (h *Hub) principalOf(k spec.Key) string {
	if k.Instance == "" {
		return ""
	}
	s, ok := h.sessions.Owner(k)
	if !ok {
		s, ok = h.sessions.Any(k)
	}
	if !ok {
		return ""
	}
	return s.principal.Key()
}

// yieldInstance has the session end whose own an instance is, if no one uses that.
func (h *Hub) yieldInstance(k spec.Key) bool {
	s, ok := h.sessions.Owner(k)
	return ok && s.yieldSession != nil && s.yieldSession()
}

// logLevelOf returns the most verbose level that a session of an instance wants.
func (h *Hub) logLevelOf(k spec.Key) string {
	if s, ok := h.sessions.Owner(k); ok {
		return s.heardLevel().String()
	}
	var most declaration.Level
	for _, level := range h.sessions.Levels(k) {
		most = most.MoreVerbose(declaration.Level(level))
	}
	return most.String()
}

// rootsQuery returns what roots/list of a child has to wait for: nil for nothing.
func (h *Hub) rootsQuery(ctx context.Context, k spec.Key) func(ctx context.Context) {
	if s, ok := h.sessions.Owner(k); ok {
		return s.sender.FetchRoots(ctx, k)
	}
	return nil
}

// noRootsReason returns why an instance is served no roots, for the answer to
// its roots/list. One that several sessions share is told about none of
// them.
func (h *Hub) noRootsReason(k spec.Key) string {
	if s, ok := h.sessions.Owner(k); ok {
		rootsView := s.roots.RootsView()
		if conf := s.current.InForce(); conf.Child(k.Child) != nil {
			rootsView = conf.RootsViewFor(conf.Child(k.Child), rootsView)
		}
		rootsView.ClientName = s.clientClaims().Name
		return rootsView.WhyNone()
	}
	for _, s := range h.sessions.SessionsOf(k) {
		if k.Instance != "" {
			return s.roots.RootsView().WhyNone()
		}
	}
	return "This server is shared by all clients, and no roots are configured for it: " +
		"start mcphub with --roots DIR, set MCPHUB_ROOTS or roots.fallback in hub.json, or leave out \"share\"."
}

// handleChildRequest asks the client of the session that the instance belongs to.
// roots/list and ping never come here: the child's own instance answers them.
func (h *Hub) handleChildRequest(ctx context.Context, k spec.Key, m *jsonrpc.Message) jsonrpc.Answer {
	s, ok := h.sessions.Owner(k)
	if !ok {
		return jsonrpc.RefuseMethod(texts.SharedServer(m.Method))
	}
	return s.sender.AskClient(ctx, k, m)
}

// passLog passes a log message on to the session that it belongs to, unless the
// session does not want to know. What several share is no one's. A flood leaves
// room for what matters more, and what does not fit is counted.
func (h *Hub) passLog(ctx context.Context, k spec.Key, m *jsonrpc.Message) {
	if s, ok := h.sessions.SoleSession(k); ok {
		s.passNotification(ctx, k, m)
	}
}

// passNotification hands the client a notification of a child as it is, if there is room to
// spare.
func (s *Session) passNotification(ctx context.Context, k spec.Key, m *jsonrpc.Message) {
	if s.currentConfiguration().IsDenied(k.Child) { // the session is about to be taken from it
		return
	}
	to := s.wayOf(ctx, k, m)
	if to == nil {
		return // a modern client is told nothing that belongs to no request
	}
	if m.Method == methods.Message && !to.Wants(m) {
		return
	}
	if !to.TryNotifyLeavingRoom(m.Method, m.Params) {
		s.dropped.Add(1)
	}
}

// wayOf returns where a notification of a child goes: with the request that it
// belongs to, so that it comes before the answer, or on the client's own stream.
// A transport that has a stream for each call reports which it is. Over pipes a
// log message is taken to belong to the only request that is with the child;
// other words of its own belong to none. A client that follows no stream of its
// own is told on one of its requests.
func (s *Session) wayOf(ctx context.Context, k spec.Key, m *jsonrpc.Message) client.Client {
	during := inflight.FromContext[call.Requester](ctx)
	request, behalf, _ := s.sender.InFlight.Find(k, during)
	requester := behalf.Client
	switch {
	case !s.handshaken.Load():
		return requester
	case request != nil && (request == during || !run.CallKnown(ctx) && m.Method == methods.Message):
		return requester
	}
	if requester != nil && !s.mainMessenger.Connected() {
		return requester
	}
	return s.mainClient
}

// passModernTaskStatus informs the streams that asked for it what has become of a task of
// a child without a handshake, as it stands. It runs on the child's read
// loop.
func (h *Hub) passModernTaskStatus(k spec.Key, m *jsonrpc.Message) {
	for _, s := range h.sessions.SessionsOf(k) {
		if !s.tasks.IsDenied(taskSession{s}, m) {
			s.notifier.PassTaskStatus(k, m)
		}
		s.tasks.HandleStatus(k, m)
	}
}

// passTaskStatus passes on what a child tells about a task to the session that it is for.
func (h *Hub) passTaskStatus(k spec.Key, m *jsonrpc.Message) {
	own, _ := h.sessions.Owner(k)
	for _, s := range h.sessions.SessionsOf(k) {
		isOwnTask, known := s.tasks.HandleStatus(k, m)
		// Of a task that is not known yet, the answer that made it is on its way.
		if s.tasks.IsDenied(taskSession{s}, m) {
			continue
		}
		if isOwnTask || !known && s == own && s.handshaken.Load() {
			s.mainMessenger.TryNotify(m.Method, m.Params)
		}
	}
}

// recordRedefinitions logs, records and keeps what a child has redefined. It is called by the
// goroutines of the children and waits for nothing.
func (h *Hub) recordRedefinitions(k spec.Key, tools []offers.Redefinition) {
	conf, owner := h.configurationOf(k).Common(), "" // whatever toolsets show
	if s, ok := h.sessions.Owner(k); ok {
		owner = s.id
	}
	for _, t := range tools {
		if !conf.CatalogBuilder.Wants(k.Child, t.Tool) {
			continue
		}
		name := printable.Escape(t.Tool, 200)
		conf.Log.Warn().Str("child", k.Child).Str("tool", name).Strs("parts", t.Parts).
			Msg("the server defines this tool otherwise than when it was offered before; look at it before you go on trusting it")
		h.redefined.Add(k.Child, owner, name, t.Parts, time.Now())
		if to := conf.Audit.Recorder; to != nil {
			to.Note(audit.KindDefinition, &audit.Record{DecisionFields: audit.DecisionFields{Child: k.Child, Tool: name, Code: strings.Join(t.Parts, ", ")}})
		}
	}
}

// recordKernelRefusal records what the kernel has refused a child, as its stderr tells. It is
// called by many goroutines and waits for nothing.
func (h *Hub) recordKernelRefusal(k spec.Key, f sandbox.Refusal, dirs []string) {
	session, whose := "", "" // of a child that several principals may share no one's
	if s, ok := h.sessions.Owner(k); ok {
		session, whose = s.id, s.principal.String()
	} else if s, ok := h.sessions.Any(k); ok && k.Instance != "" { // all whom it serves are the same
		whose = s.principal.String()
	}
	h.telemetry.CountKernelRefusal(k.Child)
	h.currentConfiguration().Audit.RecordKernelRefusal(session, whose, record.Subject{Child: k.Child}, f, dirs)
}
