package telemetry

import (
	"sync"
	"sync/atomic"
	"time"

	"mcphub/hub/audit"
	"mcphub/hub/exposition"
	"mcphub/hub/tracing"
	"mcphub/internal/methods"
)

// A SessionMetrics is one client's stay at the hub. Its methods may be called from any goroutine,
// and do nothing if it is nil.
type SessionMetrics struct {
	telemetry            *Telemetry
	id                   string
	transport, principal string
	stateless            bool
	began                time.Duration
	byEra                [2]atomic.Pointer[clientMetrics] // of requests after the handshake, and of those without one
}

// SessionLabels are the words by which the values of a session are told apart.
type SessionLabels struct {
	Session   string // its name, as the record has it
	HTTP      bool
	Principal string
	Stateless bool // it is no session of the protocol, but all requests without a handshake of one principal
}

// NewSession makes the SessionMetrics of a client. Enter counts the session.
func (t *Telemetry) NewSession(labels SessionLabels) *SessionMetrics {
	if t == nil {
		return nil
	}
	s := &SessionMetrics{telemetry: t, id: labels.Session, transport: Pipe, stateless: labels.Stateless, began: t.sinceEpoch()}
	if labels.HTTP {
		s.transport = TCP
	}
	if t.principals {
		s.principal = labels.Principal
	}
	none := t.clientOf(clientKey{s.transport, "", s.principal})
	s.byEra[0].Store(none)
	s.byEra[1].Store(none)
	return s
}

// Enter counts the session among the ones that there are.
func (s *SessionMetrics) Enter() {
	if s != nil {
		s.telemetry.sessions.With(s.transport, s.principal).Add(1)
	}
}

// SetHandshakeVersion remembers the version that was agreed on in the handshake: one that the hub has.
func (s *SessionMetrics) SetHandshakeVersion(version string) {
	if s != nil {
		s.byEra[0].Store(s.telemetry.clientOf(clientKey{s.transport, version, s.principal}))
	}
}

// SetModernVersion remembers the version of its requests without a handshake.
func (s *SessionMetrics) SetModernVersion(version string) {
	if s != nil {
		s.byEra[1].Store(s.telemetry.clientOf(clientKey{s.transport, version, s.principal}))
	}
}

// Leave ends what Enter began.
func (s *SessionMetrics) Leave() {
	if s == nil {
		return
	}
	s.telemetry.sessions.With(s.transport, s.principal).Add(-1)
	if !s.stateless {
		c := s.byEra[0].Load()
		s.telemetry.serverSessions.With(c.version, c.transport).Observe(s.telemetry.sinceEpoch() - s.began)
	}
}

// CountKernelRefusal counts what the kernel has refused a server.
func (s *SessionMetrics) CountKernelRefusal(child string) {
	if s != nil {
		s.telemetry.CountKernelRefusal(child)
	}
}

// clientMetrics is what all sessions with the same labels share.
type clientMetrics struct {
	clientKey
	telemetry *Telemetry

	mu         sync.RWMutex
	operations map[operationKey]*operation
	decisions  map[decisionKey]*exposition.Counter
}

type clientKey struct{ transport, version, principal string }

type decisionKey struct{ decision, rule string }

// operationKey describes what a request is of; child and tool are "" if it is of none.
type operationKey struct{ method, child, tool string }

func (t *Telemetry) clientOf(k clientKey) *clientMetrics {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.clients[k]
	if c == nil && len(t.clients) >= maxClients && k.principal != "" {
		k.principal = exposition.Other
		c = t.clients[k]
	}
	if c == nil {
		c = &clientMetrics{clientKey: k, telemetry: t, operations: map[operationKey]*operation{}, decisions: map[decisionKey]*exposition.Counter{}}
		t.clients[k] = c
	}
	return c
}

func (c *clientMetrics) forgetClient() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.operations)
	clear(c.decisions)
}

// operation has the histograms of one kind of request, which are found by its outcome.
type operation struct {
	client *clientMetrics
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

func (c *clientMetrics) operationOf(k operationKey) *operation {
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
		shown.tool = c.telemetry.toolValue(k.child, k.tool)
	}
	if shown.tool == exposition.Other || shown.method == otherError {
		k = shown // what is not shown apart is not kept apart
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if o = c.operations[k]; o == nil {
		o = &operation{client: c, key: shown}
		c.operations[k] = o
	}
	return o
}

func (c *clientMetrics) countDecision(k decisionKey) {
	c.mu.RLock()
	n := c.decisions[k]
	c.mu.RUnlock()
	if n == nil {
		n = c.telemetry.decisions.With(k.decision, k.rule, c.principal)
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

func (o *operation) observeServer(as outcomeClass, took time.Duration) {
	s := o.server[as].Load()
	if s == nil {
		fault, code := as.outcomeWords()
		k := &o.key
		s = &servedBy{o.client.telemetry.serverOps.With(k.method, k.child, k.tool, k.operationName(), fault, code, o.client.version, o.client.transport), o.client.telemetry.requests.With(k.child, fault, o.client.principal)}
		o.server[as].Store(s)
	}
	s.took.Observe(took)
	s.count.Add(1)
}

func (o *operation) observeClient(version string, as outcomeClass, took time.Duration) {
	s := o.sent.Load()
	if s == nil || s.version != version {
		s = &sentTo{version: version}
		o.sent.Store(s)
	}
	h := s.client[as].Load()
	if h == nil {
		fault, code := as.outcomeWords()
		k := &o.key
		h = o.client.telemetry.clientOps.With(k.method, k.child, k.tool, k.operationName(), fault, code, version, o.client.telemetry.transport(k.child))
		s.client[as].Store(h)
	}
	h.Observe(took)
}

// A RequestTiming is one request of a client, from when it came until it is answered. The zero RequestTiming is
// not watched. It belongs to the one who has the request.
type RequestTiming struct {
	client    *clientMetrics // nil: it is not watched, or was answered
	operation *operation
	version   string // that its server is spoken to in
	began     time.Duration
	sent      time.Duration // 0: it is with no server
	spans     *spans        // nil: the hub does not trace
}

// StartTiming begins to time a request after a handshake.
func (s *SessionMetrics) StartTiming() RequestTiming { return s.countRequest(0) }

// StartModernTiming begins to time a request without one.
func (s *SessionMetrics) StartModernTiming() RequestTiming { return s.countRequest(1) }

func (s *SessionMetrics) countRequest(era int) RequestTiming {
	if s == nil {
		return RequestTiming{}
	}
	c := s.byEra[era].Load()
	return RequestTiming{client: c, began: s.telemetry.sinceEpoch(), spans: s.spansOf(c)}
}

// SetOperation reports what the request is of: a method, a server of hub.json and one of its tools that
// is listed.
func (timing *RequestTiming) SetOperation(method, child, tool string) {
	if timing.client == nil {
		return
	}
	timing.operation = timing.client.operationOf(operationKey{method, child, tool})
	if sp := timing.spans; sp != nil {
		if sp.method = timing.operation.key.method; child == "" && tool == exposition.Other {
			tool = ""
		}
		sp.child, sp.tool = child, tool
	}
}

// SetPrompt sets which prompt the request is of, which its server lists; "" for none.
func (timing *RequestTiming) SetPrompt(name string) {
	if timing.client != nil && timing.spans != nil {
		timing.spans.prompt = name
	}
}

// CountDecision counts what was decided of the request.
func (timing *RequestTiming) CountDecision(decision, rule string) {
	if timing.client == nil {
		return
	}
	timing.client.countDecision(decisionKey{decision, rule})
	if timing.spans != nil {
		timing.spans.decision, timing.spans.rule = decision, rule
	}
}

// StartServerTime remembers that the request goes to its server, which is spoken to in a version.
func (timing *RequestTiming) StartServerTime(version string) {
	if timing.client != nil {
		timing.version, timing.sent = version, max(timing.client.telemetry.sinceEpoch(), 1)
	}
}

// EndServerTime ends the time at the server: it has answered, or never will. word is the outcome as
// the record has it, fault the raw error of the answer. Only the first counts.
func (timing *RequestTiming) EndServerTime(word string, fault []byte) {
	if timing == nil {
		return
	}
	timing.spans.endClientSpan(word, fault)
	if timing.sent == 0 || timing.operation == nil {
		return
	}
	if word != audit.ResultNotSent {
		timing.operation.observeClient(timing.version, outcomeOf(word, fault), timing.client.telemetry.sinceEpoch()-timing.sent)
	}
	timing.sent = 0
}

// EndRequest ends the request. Only the first counts.
func (timing *RequestTiming) EndRequest(method, word string, fault []byte) {
	if timing.client == nil {
		return
	}
	if timing.operation == nil {
		tool := ""
		if method == methods.CallTool {
			tool = exposition.Other // a name of the client's making
		}
		timing.SetOperation(method, "", tool)
	}
	timing.operation.observeServer(outcomeOf(word, fault), timing.client.telemetry.sinceEpoch()-timing.began)
	if timing.spans != nil {
		timing.BeginServerSpan(tracing.Context{}, method, nil) // of one that no one asked about before
		timing.spans.endServerSpan(word, fault)
	}
	timing.client = nil
}
