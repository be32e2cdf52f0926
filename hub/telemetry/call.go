package telemetry

import (
	"sync"
	"sync/atomic"
	"time"

	"mcphub/hub/exposition"
	"mcphub/hub/tracing"
	"mcphub/internal/audit"
	"mcphub/internal/methods"
)

// A Session is one client's stay at the hub. Its methods may be called from any goroutine,
// and do nothing if it is nil.
type Session struct {
	t                    *Telemetry
	id                   string
	transport, principal string
	stateless            bool
	began                time.Duration
	byEra                [2]atomic.Pointer[client] // of requests after the handshake, and of those without one
}

// SessionLabels are the words by which the values of a session are told apart.
type SessionLabels struct {
	Session   string // its name, as the record has it
	HTTP      bool
	Principal string
	Stateless bool // it is no session of the protocol, but all requests without a handshake of one principal
}

// NewSession makes the Session of a client. Enter counts it.
func (t *Telemetry) NewSession(c SessionLabels) *Session {
	if t == nil {
		return nil
	}
	s := &Session{t: t, id: c.Session, transport: Pipe, stateless: c.Stateless, began: t.sinceEpoch()}
	if c.HTTP {
		s.transport = TCP
	}
	if t.principals {
		s.principal = c.Principal
	}
	none := t.clientOf(clientKey{s.transport, "", s.principal})
	s.byEra[0].Store(none)
	s.byEra[1].Store(none)
	return s
}

// Enter counts the session among the ones that there are.
func (s *Session) Enter() {
	if s != nil {
		s.t.sessions.With(s.transport, s.principal).Add(1)
	}
}

// SetHandshakeVersion remembers the version that was agreed on in the handshake: one that the hub has.
func (s *Session) SetHandshakeVersion(version string) {
	if s != nil {
		s.byEra[0].Store(s.t.clientOf(clientKey{s.transport, version, s.principal}))
	}
}

// SetModernVersion remembers the version of its requests without a handshake.
func (s *Session) SetModernVersion(version string) {
	if s != nil {
		s.byEra[1].Store(s.t.clientOf(clientKey{s.transport, version, s.principal}))
	}
}

// Leave ends what Enter began.
func (s *Session) Leave() {
	if s == nil {
		return
	}
	s.t.sessions.With(s.transport, s.principal).Add(-1)
	if !s.stateless {
		c := s.byEra[0].Load()
		s.t.serverSessions.With(c.version, c.transport).Observe(s.t.sinceEpoch() - s.began)
	}
}

// CountKernelRefusal counts what the kernel has refused a server.
func (s *Session) CountKernelRefusal(child string) {
	if s != nil {
		s.t.CountKernelRefusal(child)
	}
}

// client is what all sessions with the same labels share.
type client struct {
	clientKey
	t *Telemetry

	mu         sync.RWMutex
	operations map[operationKey]*operation
	decisions  map[decisionKey]*exposition.Counter
}

type clientKey struct{ transport, version, principal string }

type decisionKey struct{ decision, rule string }

// operationKey describes what a request is of; child and tool are "" if it is of none.
type operationKey struct{ method, child, tool string }

func (t *Telemetry) clientOf(k clientKey) *client {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.clients[k]
	if c == nil && len(t.clients) >= maxClients && k.principal != "" {
		k.principal = exposition.Other
		c = t.clients[k]
	}
	if c == nil {
		c = &client{clientKey: k, t: t, operations: map[operationKey]*operation{}, decisions: map[decisionKey]*exposition.Counter{}}
		t.clients[k] = c
	}
	return c
}

func (c *client) forgetClient() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.operations)
	clear(c.decisions)
}

// operation has the histograms of one kind of request, which are found by its outcome.
type operation struct {
	c      *client
	key    operationKey // as on the page
	server [outcomes]atomic.Pointer[servedBy]
	sent   atomic.Pointer[sentTo]
}

// servedBy is what counts the requests of a kind that ended in one way.
type servedBy struct {
	took  *exposition.Histogram
	count *exposition.Counter
}

// sentTo are the histograms of a kind of request to a server that is spoken to in one version.
type sentTo struct {
	version string
	client  [outcomes]atomic.Pointer[exposition.Histogram]
}

func (c *client) operationOf(k operationKey) *operation {
	c.mu.RLock()
	o := c.operations[k]
	c.mu.RUnlock()
	if o != nil {
		return o
	}
	shown := k
	if !isKnownMethod(k.method) {
		shown.method = otherError
	}
	if k.child != "" && k.tool != "" {
		shown.tool = c.t.toolValue(k.child, k.tool)
	}
	if shown.tool == exposition.Other || shown.method == otherError {
		k = shown // what is not shown apart is not kept apart
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if o = c.operations[k]; o == nil {
		o = &operation{c: c, key: shown}
		c.operations[k] = o
	}
	return o
}

func (c *client) countDecision(k decisionKey) {
	c.mu.RLock()
	n := c.decisions[k]
	c.mu.RUnlock()
	if n == nil {
		n = c.t.decisions.With(k.decision, k.rule, c.principal)
		c.mu.Lock()
		c.decisions[k] = n
		c.mu.Unlock()
	}
	n.Add(1)
}

// operationName returns the value of gen_ai.operation.name.
func (k *operationKey) operationName() string {
	if k.method == methods.CallTool {
		return executeTool
	}
	return ""
}

func (o *operation) observeServer(as outcome, took time.Duration) {
	s := o.server[as].Load()
	if s == nil {
		fault, code := as.outcomeWords()
		k := &o.key
		s = &servedBy{o.c.t.serverOps.With(k.method, k.child, k.tool, k.operationName(), fault, code, o.c.version, o.c.transport), o.c.t.requests.With(k.child, fault, o.c.principal)}
		o.server[as].Store(s)
	}
	s.took.Observe(took)
	s.count.Add(1)
}

func (o *operation) observeClient(version string, as outcome, took time.Duration) {
	s := o.sent.Load()
	if s == nil || s.version != version {
		s = &sentTo{version: version}
		o.sent.Store(s)
	}
	h := s.client[as].Load()
	if h == nil {
		fault, code := as.outcomeWords()
		k := &o.key
		h = o.c.t.clientOps.With(k.method, k.child, k.tool, k.operationName(), fault, code, version, o.c.t.transport(k.child))
		s.client[as].Store(h)
	}
	h.Observe(took)
}

// A RequestTiming is one request of a client, from when it came until it is answered. The zero RequestTiming is
// not watched. It belongs to the one who has the request.
type RequestTiming struct {
	c       *client // nil: it is not watched, or was answered
	op      *operation
	version string // that its server is spoken to in
	began   time.Duration
	sent    time.Duration // 0: it is with no server
	spans   *spans        // nil: the hub does not trace
}

// StartTiming begins to time a request after a handshake.
func (s *Session) StartTiming() RequestTiming { return s.countRequest(0) }

// StartModernTiming begins to time a request without one.
func (s *Session) StartModernTiming() RequestTiming { return s.countRequest(1) }

func (s *Session) countRequest(era int) RequestTiming {
	if s == nil {
		return RequestTiming{}
	}
	c := s.byEra[era].Load()
	return RequestTiming{c: c, began: s.t.sinceEpoch(), spans: s.spansOf(c)}
}

// SetOperation reports what the request is of: a method, a server of hub.json and one of its tools that
// is listed.
func (c *RequestTiming) SetOperation(method, child, tool string) {
	if c.c == nil {
		return
	}
	c.op = c.c.operationOf(operationKey{method, child, tool})
	if sp := c.spans; sp != nil {
		if sp.method = c.op.key.method; child == "" && tool == exposition.Other {
			tool = ""
		}
		sp.child, sp.tool = child, tool
	}
}

// SetPrompt sets which prompt the request is of, which its server lists; "" for none.
func (c *RequestTiming) SetPrompt(name string) {
	if c.c != nil && c.spans != nil {
		c.spans.prompt = name
	}
}

// CountDecision counts what was decided of the request.
func (c *RequestTiming) CountDecision(decision, rule string) {
	if c.c == nil {
		return
	}
	c.c.countDecision(decisionKey{decision, rule})
	if c.spans != nil {
		c.spans.decision, c.spans.rule = decision, rule
	}
}

// StartServerTime remembers that the request goes to its server, which is spoken to in a version.
func (c *RequestTiming) StartServerTime(version string) {
	if c.c != nil {
		c.version, c.sent = version, max(c.c.t.sinceEpoch(), 1)
	}
}

// EndServerTime ends the time at the server: it has answered, or never will. word is the outcome as
// the record has it, fault the raw error of the answer. Only the first counts.
func (c *RequestTiming) EndServerTime(word string, fault []byte) {
	if c == nil {
		return
	}
	c.spans.endClientSpan(word, fault)
	if c.sent == 0 || c.op == nil {
		return
	}
	if word != audit.ResultNotSent {
		c.op.observeClient(c.version, outcomeOf(word, fault), c.c.t.sinceEpoch()-c.sent)
	}
	c.sent = 0
}

// EndRequest ends the request. Only the first counts.
func (c *RequestTiming) EndRequest(method, word string, fault []byte) {
	if c.c == nil {
		return
	}
	if c.op == nil {
		tool := ""
		if method == methods.CallTool {
			tool = exposition.Other // a name of the client's making
		}
		c.SetOperation(method, "", tool)
	}
	c.op.observeServer(outcomeOf(word, fault), c.c.t.sinceEpoch()-c.began)
	if c.spans != nil {
		c.BeginServerSpan(tracing.Context{}, method, nil) // of one that no one asked about before
		c.spans.endServerSpan(word, fault)
	}
	c.c = nil
}
