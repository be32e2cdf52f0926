package modernlink

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/rs/zerolog"

	"mcphub/children/link"
	"mcphub/children/offers"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
	"mcphub/internal/printable"
)

// Names that 2026-07-28 puts into _meta.
const (
	metaServerInfo   = mcp.MetaKeyServerInfo
	metaSubscription = mcp.MetaKeySubscriptionID
)

// hopMeta are the members of _meta that are of one hop: whatever else stands in
// a _meta passes.
var hopMeta = map[string]bool{
	mcp.MetaKeyProtocolVersion: true, mcp.MetaKeyClientInfo: true, mcp.MetaKeyClientCapabilities: true,
	mcp.MetaKeyLogLevel: true, metaServerInfo: true, metaSubscription: true,
}

// A ModernConnection is a [link.ChildConnection] that speaks without a handshake (2026-07-28) over one that
// carries messages. What exists only in the handshake's era is emulated:
// resources/subscribe and logging/setLevel are answered here.
type ModernConnection struct {
	base link.ChildConnection
	own  ConnectionOwner
	o    ConnectionOptions
	pre  []byte // the members of _meta that are the same in each request
	subs *listener

	shown atomic.Pointer[ClientMeta]
	level atomic.Pointer[string] // of logging/setLevel; if no one says another
}

// ClientMeta is the _meta of requests on behalf of one ClientProfile. The last one is kept.
type ClientMeta struct {
	caps  []byte
	level string
	meta  []byte
	tasks bool // the extension is declared
}

// ConnectionOptions say for what a ModernConnection without a handshake stands.
type ConnectionOptions struct {
	Version string // of the hub, told to the child
	Roots   bool   // the child is served roots
	Log     zerolog.Logger
}

// A ConnectionOwner is the run of a child that is spoken to without a handshake. Its methods
// must not block.
type ConnectionOwner interface {
	// ClientProfile is on whose behalf a request is made that does not say.
	ClientProfile() link.ClientProfile
	// Relist is called when lists may have changed.
	Relist()
	// Outdated is called when the child serves the version no longer.
	Outdated(why error)
	// Missed is told in the child's place what it may have announced while it was not
	// listened to.
	Missed(ctx context.Context, m *jsonrpc.Message)
}

// New returns a ModernConnection to a child without a handshake; nil if the transport
// knows only the handshake's era. It sends nothing.
func New(base link.ChildConnection, o ConnectionOptions, own ConnectionOwner) *ModernConnection {
	if w, ok := base.(link.StatelessConnection); ok {
		if base = w.Stateless(); base == nil {
			return nil
		}
	}
	m := &ModernConnection{base: base, own: own, o: o}
	info, _ := json.Marshal(map[string]string{"name": "mcphub", "version": o.Version})
	m.pre = jsonrpc.AppendString(append(jsonrpc.AppendString(nil, mcp.MetaKeyProtocolVersion), ':'), mcp.ProtocolVersion20260728)
	m.pre = append(append(append(jsonrpc.AppendString(append(m.pre, ','), mcp.MetaKeyClientInfo), ':'), info...), ',')
	m.subs = newListener(m)
	return m
}

// Base returns the ChildConnection below, which carries requests as they are.
func (m *ModernConnection) Base() link.ChildConnection { return m.base }

// Start takes in what the child said of itself, and listens for what it announces.
func (m *ModernConnection) Start(o *offers.RawOffer) { m.subs.startTopics(o) }

// Settled waits up to a second until the child has acknowledged the stream that Start opened.
func (m *ModernConnection) Settled(ctx context.Context) { m.subs.awaitSettled(ctx) }

// End closes all subscriptions, and returns when nothing is left of them.
func (m *ModernConnection) End() { m.subs.endStreams() }

// WatchTask has the child tell about one of its tasks until end is called.
func (m *ModernConnection) WatchTask(ctx context.Context, id string) (end func(), err error) {
	t := topic{true, id}
	if err := m.subs.watchTopic(ctx, t); err != nil {
		return nil, err
	}
	return func() { m.subs.dropTopic(t) }, nil
}

// clientProfile returns whom a call is made for.
func (m *ModernConnection) clientProfile(ctx context.Context) link.ClientProfile {
	if c, ok := link.ClientOf(ctx); ok {
		return c
	}
	return m.own.ClientProfile()
}

// Meta returns the members of _meta for a request on a client's behalf.
func (m *ModernConnection) Meta(c link.ClientProfile) *ClientMeta {
	if c.Level == "" {
		if l := m.level.Load(); l != nil {
			c.Level = *l
		}
	}
	old := m.shown.Load()
	if old != nil && old.level == c.Level && sameBytes(old.caps, c.Capabilities) {
		return old
	}
	s := &ClientMeta{caps: c.Capabilities, level: c.Level}
	b := append(jsonrpc.AppendString(bytes.Clone(m.pre), mcp.MetaKeyClientCapabilities), ':', '{')
	if m.o.Roots {
		b = jsonrpc.AppendMember(b, "roots", []byte(`{}`))
	}
	_ = jsonrpc.Members(c.Capabilities, func(name string, value []byte) bool {
		if name == "roots" || name == "tasks" { // tasks are of the handshake's era: here they are an extension
			return true
		}
		if name == "extensions" {
			s.tasks = jsonrpc.Get(value, methods.ExtensionTasks) != nil
		}
		b = jsonrpc.AppendMember(b, name, value)
		return true
	})
	b = append(b, '}')
	if c.Level != "" {
		b = jsonrpc.AppendString(append(jsonrpc.AppendString(append(b, ','), mcp.MetaKeyLogLevel), ':'), c.Level)
	}
	s.meta = b
	m.shown.Store(s)
	return s
}

// sameBytes reports whether two slices are the same memory.
func sameBytes(a, b []byte) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// Params puts the members of _meta that each request needs into raw params.
// Members of the same names, which are another hop's, give way; all other
// bytes stay.
func (meta *ClientMeta) Params(parts [][]byte) ([]byte, error) {
	raw := bytes.TrimSpace(bytes.Join(parts, nil))
	if len(raw) == 0 {
		raw = []byte(`{}`)
	}
	raw = raw[:len(raw):len(raw)]
	var old []byte
	more := false
	err := jsonrpc.Members(raw, func(name string, value []byte) bool {
		if name == "_meta" && old == nil {
			old = value
			return true
		}
		more = true
		return true
	})
	if err != nil {
		return nil, fmt.Errorf("the params are no object: %w", err)
	}
	out := make([]byte, 0, len(raw)+len(meta.meta)+16)
	if old == nil {
		out = append(append(append(out, `{"_meta":{`...), meta.meta...), '}')
		if more {
			out = append(out, ',')
		}
		return append(out, raw[1:]...), nil
	}
	at := cap(raw) - cap(old)
	out = append(append(out, raw[:at]...), '{')
	out = jsonrpc.AppendMembers(out, old, func(name string) bool { return !hopMeta[name] })
	if out[len(out)-1] != '{' {
		out = append(out, ',')
	}
	out = append(append(out, meta.meta...), '}')
	return append(out, raw[at+len(old):]...), nil
}

// checkResult holds a result against what its resultType may be. One without is
// complete; one that this version does not know is invalid.
func (meta *ClientMeta) checkResult(method string, res *jsonrpc.Response) error {
	if res.Error != nil {
		return nil
	}
	kind := []byte(nil)
	twice := false
	err := jsonrpc.Members(res.Result, func(name string, value []byte) bool {
		if name == "resultType" {
			twice = twice || kind != nil
			kind = value
		}
		return true
	})
	if err != nil {
		return &jsonrpc.BrokenError{Reason: "the result is no object"}
	}
	text, isText := jsonrpc.String(kind)
	switch {
	case twice:
		return &jsonrpc.BrokenError{Reason: "the result has two members resultType"}
	case kind == nil, isText && text == link.ResultComplete:
		return nil
	case isText && text == link.ResultInput && methods.Of(method).MayAsk:
		return nil
	case isText && text == link.ResultTask && methods.Of(method).Tasks && meta.tasks:
		return nil
	case isText && text != link.ResultInput && text != link.ResultTask && !methods.OfProtocol(method):
		return nil // an extension's own
	case isText && (text == link.ResultInput || text == link.ResultTask):
		return &jsonrpc.BrokenError{Reason: fmt.Sprintf("a result of the type %q was not to be expected for %s", text, method)}
	}
	return &jsonrpc.BrokenError{Reason: "the result has a resultType that this protocol version does not know: " + printable.Escape(string(kind), 60)}
}

// Run is never called: the run of the ChildConnection below is the one that counts.
func (m *ModernConnection) Run(ctx context.Context) error { return m.base.Run(ctx) }

// LearnTools leaves it to the ChildConnection below, if that has to know them.
func (m *ModernConnection) LearnTools(tools [][]byte) (good [][]byte, odd []string) {
	if l, ok := m.base.(link.ToolsLearner); ok {
		return l.LearnTools(tools)
	}
	return tools, nil
}

// Facts returns the facts of the ChildConnection below.
func (m *ModernConnection) Facts() link.ConnectionFacts { return m.base.Facts() }

// Call sends one request with what the era wants in its _meta.
func (m *ModernConnection) Call(ctx context.Context, method string, params ...[]byte) (*jsonrpc.Response, error) {
	switch method {
	case methods.Subscribe:
		return m.subs.answerSubscribe(ctx, params)
	case methods.Unsubscribe:
		return m.subs.answerUnsubscribe(params)
	case methods.SetLogLevel:
		level, _ := jsonrpc.GetString(bytes.Join(params, nil), "level")
		m.level.Store(&level)
		return &jsonrpc.Response{Result: []byte(`{}`)}, nil
	}
	s := m.Meta(m.clientProfile(ctx))
	raw, err := s.Params(params)
	if err != nil {
		return nil, err
	}
	res, err := m.base.Call(ctx, method, raw)
	if err != nil {
		return nil, err
	}
	if err := m.Check(s, method, res); err != nil {
		res.Release()
		return nil, err
	}
	return res, nil
}

// Check holds the answer to a request that was sent with s against what it may be,
// and follows up what an error says about the child itself.
func (m *ModernConnection) Check(s *ClientMeta, method string, res *jsonrpc.Response) error {
	if err := s.checkResult(method, res); err != nil {
		return err
	}
	m.noteError(res)
	return nil
}

// noteError follows up what an error says about the child itself.
func (m *ModernConnection) noteError(res *jsonrpc.Response) {
	if res.Error == nil {
		return
	}
	switch jsonrpc.ParseError(res.Error).Code {
	case mcp.HEADER_MISMATCH:
		m.own.Relist() // its tools may want other headers by now
	case mcp.UNSUPPORTED_PROTOCOL_VERSION:
		m.own.Outdated(errOtherVersion)
	}
}

var errOtherVersion = errors.New("it no longer serves the protocol version that it was spoken to in; the next call asks it again")

// Notify sends a notification that the era knows. Those of the handshake's era
// have nothing to say here: roots are answered when they are asked for.
func (m *ModernConnection) Notify(ctx context.Context, method string, params ...[]byte) error {
	switch method {
	case methods.Initialized, methods.RootsChanged, methods.Progress, methods.TaskStatus:
		return nil
	}
	return m.base.Notify(ctx, method, params...)
}

// Heard takes in a notification; nil if it ends here. What comes on a
// subscription is handed on as it was in the handshake's era.
func (m *ModernConnection) Heard(n *jsonrpc.Message) *jsonrpc.Message {
	switch n.Method {
	case methods.Acknowledged:
		m.subs.noteAcknowledged(n)
		return nil
	case methods.Cancelled:
		m.subs.noteCancelled(n)
		return nil
	case methods.ResourceUpdated:
		if uri, ok := jsonrpc.String(n.Param("uri")); !ok || !m.subs.wantsTopic(topic{name: uri}) {
			return nil
		}
	case methods.TaskNews:
		if id, ok := jsonrpc.String(n.Param("taskId")); !ok || !m.subs.wantsTopic(topic{true, id}) {
			return nil
		}
	}
	meta := n.Param("_meta")
	if meta == nil || jsonrpc.Get(meta, metaSubscription) == nil {
		return n
	}
	at := cap(n.Params) - cap(meta)
	raw := append(bytes.Clone(n.Params[:at]), '{')
	raw = append(jsonrpc.AppendMembers(raw, meta, func(name string) bool { return name != metaSubscription }), '}')
	raw = append(raw, n.Params[at+len(meta):]...)
	raw = raw[:len(raw):len(raw)]
	return &jsonrpc.Message{Method: n.Method, Params: raw, Members: jsonrpc.MembersOf(raw)}
}
