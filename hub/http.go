package hub

import (
	"context"
	"errors"
	"net"
	"strings"

	"mcphub/hub/audit"
	"mcphub/hub/call"
	"mcphub/hub/client"
	"mcphub/hub/handshake"
	"mcphub/hub/httpfront"
	"mcphub/hub/httpfront/admission"
	"mcphub/hub/httpfront/quota"
	"mcphub/hub/modern"
	"mcphub/hub/seal"
	"mcphub/hub/telemetry"
	"mcphub/hub/texts"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/printable"
)

// This file opens the sessions of the Streamable HTTP front.

// HTTPOptions shape the Streamable HTTP front.
type HTTPOptions = httpfront.FrontOptions

// PrincipalLimits bounds what one principal takes.
type PrincipalLimits = quota.Limits

// principalChildren returns how many of all children one principal may have; 0: as many.
func principalChildren(l *Limits, all int) int {
	if l.PrincipalChildren == 0 && l.MultiplePrincipals {
		return quota.DefaultPart(all)
	}
	return l.PrincipalChildren
}

// RefreshEvery is how often the front has what it knows of issuers fetched again, as far as it is too old by the next time.
const RefreshEvery = httpfront.RefreshEvery

// A Token admits one client of the Streamable HTTP front.
type Token = admission.Token

// A Resource is the hub as a protected resource of OAuth, a Caller whom it admits.
type (
	Resource = admission.Resource
	Caller   = admission.Caller
)

// DigestBasis returns a digest of what a caller is admitted by.
func DigestBasis(settings ...any) string { return admission.Basis(settings...) }

// ServeStreamableHTTP serves clients on a listener, which it closes, until ctx
// ends, and stops then as the options say. It returns when every session has
// ended. Run must be running.
func (h *Hub) ServeStreamableHTTP(ctx context.Context, ln net.Listener, o HTTPOptions) error {
	front, err := h.NewHTTPFront(o)
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	return front.Serve(ctx, ln)
}

// An HTTPFront serves clients of a Hub over Streamable HTTP, and follows other options
// while it does.
type HTTPFront struct {
	*httpfront.Front
	node *node
}

// NewHTTPFront makes an HTTPFront. It starts nothing.
func (h *Hub) NewHTTPFront(o HTTPOptions) (*HTTPFront, error) {
	n := &node{name: o.Node, seal: seal.NewRandom()}
	if err := n.followKeys(o.StateKeys); err != nil {
		return nil, err
	}
	o.Log, o.Callers = h.currentConfiguration().Log, h.callers
	o.Count, o.Tell = h.telemetry.CountHTTPRefusal, h.recordRejection
	front, err := httpfront.New(httpOpener{h, n}, o)
	if err != nil {
		return nil, err
	}
	used := func() telemetry.LimitUse {
		u := front.SessionsUsed()
		return telemetry.LimitUse{Used: u.All, Most: u.Most, UsedByOne: u.OfOne, MostOfOne: u.MostOfOne}
	}
	h.httpUse.Store(&used)
	return &HTTPFront{front, n}, nil
}

// PrepareOptions makes what other options need; see [httpfront.Front.Prepare].
func (f *HTTPFront) PrepareOptions(o HTTPOptions) (follow func(), err error) {
	if _, err := seal.New(o.StateKeys...); err != nil {
		return nil, err
	}
	front, err := f.Front.Prepare(o)
	return func() {
		_ = f.node.followKeys(o.StateKeys) // which New takes, above
		front()
	}, err
}

// httpOpener opens sessions for one HTTP front.
type httpOpener struct {
	hub  *Hub
	node *node
}

func (opener httpOpener) Limits() httpfront.RequestLimits {
	l := &opener.hub.currentConfiguration().Limits
	return httpfront.RequestLimits{Frame: l.Frame, ID: l.ID, Calls: l.Calls}
}

func (opener httpOpener) Ready(ctx context.Context) error {
	return opener.hub.currentConfiguration().Audit.Ready(ctx)
}

func (opener httpOpener) IsModern(m *jsonrpc.Message) bool { return modern.IsModern(m) }

func (opener httpOpener) NewID(caller admission.Caller) string {
	return opener.node.newSessionID(caller.Owner())
}

func (opener httpOpener) Elsewhere(caller admission.Caller, id string) string {
	return opener.node.otherHub(caller.Owner(), id)
}

func (opener httpOpener) Seal() *seal.Sealer { return opener.node.seal }

func (opener httpOpener) CheckToolsets(caller admission.Caller) error {
	if caller.Toolsets.IsZero() {
		return nil
	}
	table := opener.hub.currentConfiguration().Toolsets
	toolsetView := table.ViewOf(&caller.Toolsets)
	switch {
	case !toolsetView.IsEmpty():
		return nil
	case caller.Toolsets.URL != "":
		return errors.New(texts.NoToolset(caller.Toolsets.URL))
	}
	return errors.New(texts.NoToolsetLeft(caller.Toolsets.Client))
}

func (opener httpOpener) WithClient(caller admission.Caller, m *jsonrpc.Message) admission.Caller {
	table := opener.hub.currentConfiguration().Toolsets
	if !table.HasClients() || caller.Toolsets.URL != "" || caller.Toolsets.Flag != nil {
		return caller
	}
	info := m.Param("clientInfo")
	if modern.IsModern(m) {
		info = jsonrpc.Get(m.Param("_meta"), modern.MetaClient)
	}
	if name, ok := jsonrpc.GetString(info, "name"); ok && table.NamesClient(name) {
		caller.Toolsets.Client = name
	}
	return caller
}

func (opener httpOpener) Open(caller admission.Caller, frontSession *httpfront.FrontSession) httpfront.HubSession {
	return httpSession{opener.makeSession(caller, frontSession, sessionOptions{yieldSession: frontSession.Yield, endSession: frontSession.End}), frontSession}
}

func (opener httpOpener) OpenModern(caller admission.Caller, frontSession *httpfront.FrontSession, listeners int) httpfront.ModernSession {
	s := opener.makeSession(caller, handshake.Nobody, sessionOptions{stateless: true, bearer: "token " + caller.Principal.Key(), streams: listeners, yieldSession: frontSession.Yield, endSession: frontSession.End})
	s.approvals.SetPerCall() // the session belongs to no client in particular
	s.recordOrigin(frontSession)
	return modernSession{s}
}

// makeSession makes a Session of a caller, whose roots are under the caller's ceiling.
func (opener httpOpener) makeSession(caller admission.Caller, main handshake.MainMessenger, options sessionOptions) *Session {
	options.principal, options.caller, options.toolsets, options.http, options.seal, options.node = caller.Principal, caller.Owner(), caller.Toolsets, true, opener.node.seal, opener.node.name
	s := opener.hub.newSession(options)
	s.setMainMessenger(main)
	s.initRoots(caller.Ceiling)
	return s
}

// An httpSession is the Session of a client over HTTP after its handshake.
type httpSession struct {
	*Session
	frontSession *httpfront.FrontSession
}

func (s httpSession) Initialize(ctx context.Context, m *jsonrpc.Message) jsonrpc.Answer {
	answer := s.Guard(m, func() jsonrpc.Answer { return s.ServeRequest(ctx, m) })
	if answer.Result != nil {
		s.recordOrigin(s.frontSession)
	}
	return answer
}

func (s httpSession) Protocol() string { return s.clientClaims().Protocol }

func (s httpSession) Serve(r *httpfront.PostExchange, end *jsonrpc.Cancellation, m *jsonrpc.Message) jsonrpc.Answer {
	return s.Guard(m, func() jsonrpc.Answer { return s.serveAndWait(r, end, m) })
}

func (s httpSession) Notify(m *jsonrpc.Message) {
	jsonrpc.Guard(s.log, m, func() { s.ServeNotification(m) })
}

// serveAndWait answers a request on a goroutine that waits for the answer.
func (s *Session) serveAndWait(r client.RequestMessenger, cancellation *jsonrpc.Cancellation, m *jsonrpc.Message) jsonrpc.Answer {
	c := &struct {
		handshake.Client
		call.AwaitedAnswer
	}{handshake.Client{RequestMessenger: r, Host: handshakeHost{s}}, call.AwaitedAnswer{Cancellation: cancellation}}
	s.markReady()
	if !modern.DeclaresCapabilities(m) {
		if answer, ok := s.sender.TryCallToolAndWait(&c.Client, &c.AwaitedAnswer, m); ok {
			return answer
		}
	}
	return s.ServeRequest(contextWithClient(cancellation.Context(), &c.Client), m)
}

// recordOrigin tells the record who has begun a session over HTTP, and from where.
func (s *Session) recordOrigin(frontSession *httpfront.FrontSession) {
	address, agent := frontSession.Origin()
	s.records.RecordSession(audit.ClientInfo{Name: printable.Escape(s.clientName(), 200), Address: address, Agent: printable.Escape(agent, longestAgent)})
}

// longestAgent is how much of a User-Agent is told.
const longestAgent = 200

// recordRejection tells the log and the record of a request that the front has refused.
func (h *Hub) recordRejection(r httpfront.Rejection) {
	cfg := h.currentConfiguration()
	agent := printable.Escape(r.Agent, longestAgent)
	cfg.Log.Warn().Int("status", r.Status).Str("reason", r.Reason).Str("address", r.Address).Str("agent", agent).Str("principal", r.Principal).Int("suppressed", r.Suppressed).
		Msg(strings.TrimSuffix("a request over HTTP was refused: "+printable.Escape(r.Text, 300), ": "))
	if to := cfg.Audit.Recorder; to != nil {
		to.Note(audit.KindRejection, &audit.Record{
			Principal: r.Principal, DecisionFields: audit.DecisionFields{Decision: "refuse", Code: r.Reason}, Why: printable.Escape(r.Text, 300),
			Status: r.Status, Suppressed: r.Suppressed, ClientInfo: audit.ClientInfo{Address: r.Address, Agent: agent},
		})
	}
}
