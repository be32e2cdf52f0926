package modern

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/rs/zerolog"

	"mcphub/hub/declaration"
	"mcphub/hub/seal"
	"mcphub/hub/texts"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
	"mcphub/internal/worker"
	"mcphub/rootsmgr"
	"mcphub/rootsmgr/guard"
	"mcphub/validate/strictjson"
)

// A Host is what the requests of a Server need of the hub.
type Host interface {
	// Guard answers a request by serve, and with an error if that panics.
	Guard(m *jsonrpc.Message, serve func() jsonrpc.Answer) jsonrpc.Answer
	// Roots returns the roots of the process or the token that the requests come from.
	Roots() *rootsmgr.Manager
	// RootsTimeout returns how long a client may take to report what its roots are.
	RootsTimeout() time.Duration
	// FS returns the file system that roots are on.
	FS() guard.FS
	// DeclaredRoots reports whether the same connection has had a handshake that
	// declared roots. Those are asked for in the handshake's way.
	DeclaredRoots() bool
	// BeforeWait is called before the request of ctx waits for roots, or for its admission
	// at a child: it must not keep others from a server meanwhile.
	BeforeWait(ctx context.Context)
	// AwaitServed waits until the children have been given the roots of a view, or
	// newer ones. It calls BeforeWait itself.
	AwaitServed(ctx context.Context, rootsView rootsmgr.RootsView) error
	// ServeRoots has a child served roots that came with a request, whose digest is set,
	// and waits until it has been given them.
	ServeRoots(ctx context.Context, child, set string, rootsView rootsmgr.RootsView) error
	// Served returns what a child was last to be served by ServeRoots; "" for nothing.
	Served(child string) (set string, rootsView rootsmgr.RootsView)
}

// ServerOptions describe whose requests a Server serves, and by which Host.
type ServerOptions struct {
	Host Host
	Info []byte // what a result says about its server, raw
	Seal *seal.Sealer
	Node string // of the hubs that share the Seal, this one; sealed into each state of a suspended call
	// Bearer is whom a requestState may come from: sealed into each.
	Bearer string
	// PerRequest: no request stands for any other, as over HTTP, if one Server has
	// all that comes with one token.
	PerRequest bool
	Suspended  *atomic.Int64 // counts the suspended requests of all Servers together
	Log        zerolog.Logger
}

// A Server serves the requests of this era that come over one connection, or with
// one token. The zero value is not usable.
type Server struct {
	options ServerOptions
	calls   callRegistry
	gates   gates
	queries queries
}

// NewServer makes a Server. It starts nothing: a request starts its work.
func NewServer(options ServerOptions) *Server {
	return &Server{options: options, calls: callRegistry{total: options.Suspended}}
}

// Close gives up all requests of the Server, and returns when all work has ended.
func (s *Server) Close() { s.calls.closeRegistry() }

// IsBusy reports whether any work of the Server is under way, or waits for its client.
func (s *Server) IsBusy() bool { return s.calls.isBusy() }

// A RequestNotifier is what a transport lets the hub say on account of one request before
// its answer: over stdio the connection, over HTTP the response of that request.
// It may be used by any number of goroutines. Once the request was answered it
// says nothing any more, without an error.
type RequestNotifier interface {
	Notify(ctx context.Context, method string, params ...[]byte) error
	TryNotify(method string, params ...[]byte) bool
	TryNotifyLeavingRoom(method string, params ...[]byte) bool
}

// An IncomingRequest is one request as the client has sent it.
type IncomingRequest struct {
	Message  *jsonrpc.Message // the Server may keep parts of it
	Meta     Meta
	Notifier RequestNotifier
	Asks     bool // it may be answered with a question
}

// A RequestHandler answers a request, which is stripped of what belongs to its hop. For a
// request that may be answered with a question it runs on a goroutine of its own,
// which may outlive the context of the request. end ends if its result is not wanted any more: the client has cancelled the request, its
// access has expired, it has not come back with the responses in time, or the Server was closed.
type RequestHandler func(c *Client, end *jsonrpc.Cancellation, request *jsonrpc.Message) jsonrpc.Answer

// Serve answers a request. ctx ends if the client cancels the request or its access expires. The answer is then what endedAnswer returns.
func (s *Server) Serve(ctx context.Context, r IncomingRequest, work RequestHandler) jsonrpc.Answer {
	request, err := StripHopMembers(r.Message)
	if err != nil {
		return jsonrpc.RefuseParams(err.Error())
	}
	c := s.NewClient(r.Meta, r.Notifier)
	c.request, c.mayBeAsked, c.progressToken, c.end.Base = request, r.Asks, slices.Clone(r.Meta.ProgressToken), ctx
	if !c.mayBeAsked {
		defer c.end.Free()
		return c.finishAnswer(work(c, &c.end, request))
	}
	c.end.Base = context.WithoutCancel(ctx)
	c.done, c.asked = make(chan jsonrpc.Answer, 1), make(chan struct{}, 1)
	responses := r.Message.Param(MemberResponses)
	if responses != nil && !jsonrpc.IsObject(responses) {
		return jsonrpc.RefuseParams("inputResponses is to be an object, at /params/inputResponses")
	}
	c.input.answers = childAnswers(responses)
	if r.Message.Param(MemberState) != nil {
		switch kind, payload, refusal := s.openState(c.stateSubject(), r.Message); {
		case refusal.Error != nil:
			return refusal
		case kind == stateSuspended:
			id, node, _ := strings.Cut(string(payload), "@")
			if node != s.options.Node {
				return refuseElsewhere()
			}
			if answer, ok := s.resumeRequest(ctx, id, responses, c.state.current); ok {
				return answer
			}
			c.input.answers = nil // to questions that will be asked again
		default:
			if answer, ok := c.takeResponses(kind, payload, responses); !ok {
				return answer
			}
		}
	}
	if !c.startWork(func() jsonrpc.Answer {
		defer c.end.Free()
		return work(c, &c.end, request)
	}) {
		return jsonrpc.AnswerFailure(errClosed.Error())
	}
	return c.awaitAnswer(ctx)
}

// startWork does the work on a goroutine of its own, which may outlive the round trip; false
// once the Server was closed.
func (c *Client) startWork(serve func() jsonrpc.Answer) bool {
	return c.server.calls.startWork(c, func() {
		answer := c.server.options.Host.Guard(c.request, serve) // no one below catches a panic here
		c.server.calls.addAnswerSize(c, len(answer.Result)+len(answer.Error))
		c.mu.Lock()
		c.state.ended = true
		open, query := c.state.openQuestions, c.state.query
		c.state.openQuestions = nil
		c.mu.Unlock()
		for _, q := range open {
			close(q.answer)
		}
		query.stopQuery()
		c.leaveChild()
		c.deliverAnswer(answer)
	})
}

// awaitAnswer waits with the client of a round trip for what becomes of its request: the
// answer, or what it is asked first.
func (c *Client) awaitAnswer(ctx context.Context) jsonrpc.Answer {
	for {
		select {
		case answer := <-c.done:
			return c.finishAnswer(answer)
		case <-c.asked:
			worker.Sleep(ctx, gatherTime)
			if answer, ok := c.suspendWork(); ok {
				return answer
			}
		case <-ctx.Done():
			c.leaveRoundTrip()
			c.end.End(context.Cause(ctx))
			return endedAnswer(<-c.done, context.Cause(ctx))
		}
	}
}

// endedAnswer returns the answer for a client that may no longer have the one of its request: the cause and, if the work has ended
// for that after it was sent, that its server may have run it.
func endedAnswer(answer jsonrpc.Answer, cause error) jsonrpc.Answer {
	defer answer.Free()
	why := jsonrpc.EndReason(cause)
	if mayHaveRun := why + ". " + texts.MayHaveRun; answer.Error != nil && jsonrpc.ParseError(answer.Error).Message == mayHaveRun {
		why = mayHaveRun
	}
	return jsonrpc.AnswerFailure(why)
}

// finishAnswer gives the answer of the work the shape of this era.
func (c *Client) finishAnswer(answer jsonrpc.Answer) jsonrpc.Answer {
	c.mu.Lock()
	keepsResultType, needsRoots := c.state.keepsResultType, c.state.needsRoots
	c.state.current = nil
	c.mu.Unlock()
	if needsRoots {
		answer.Free()
		return c.rootsQuestion()
	}
	var keep *Caching
	if methods.Of(c.request.Method).Cacheable && !keepsResultType {
		keep = &Caching{}
	}
	if c.request.Method == methods.CallTool && !keepsResultType {
		answer = withContent(answer)
	}
	return c.server.Result(answer, keep, keepsResultType)
}

// NewClient returns the client of a request that is answered by none of Serve's
// work. It can be told things, and says about itself what came with the request.
func (s *Server) NewClient(meta Meta, notifier RequestNotifier) *Client {
	return &Client{server: s, input: requestInput{meta: meta}, state: clientState{current: &roundTrip{meta, notifier}}}
}

// resumeRequest goes on with a suspended request: its client has come again. ok is false
// for one that gave way to others meanwhile: it is made again.
func (s *Server) resumeRequest(ctx context.Context, id string, responses []byte, trip *roundTrip) (answer jsonrpc.Answer, ok bool) {
	c := s.calls.findCall(id)
	if c != nil {
		if err := c.checkAnswers(responses); err != nil {
			return jsonrpc.RefuseParams(err.Error()), true
		}
		c = s.calls.takeCall(id)
	}
	switch {
	case c != nil:
		c.proceedWith(responses, trip)
		return c.awaitAnswer(ctx), true
	case s.calls.takeLapsed(id):
		return jsonrpc.Answer{}, false
	}
	return refuseState("it was answered already, or the request was given up"), true
}

// checkAnswers looks at the answers to open questions; others are no one's business.
func (c *Client) checkAnswers(responses []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, q := range c.state.openQuestions {
		a := jsonrpc.Get(responses, q.key)
		if a == nil {
			continue
		}
		if err := checkAnswer(q.method, a); err != nil {
			return fmt.Errorf("/params/inputResponses/%s: %w", strictjson.EscapeToken(q.key), err)
		}
	}
	return nil
}

// checkAnswer returns what is wrong with the answer to a question.
func checkAnswer(method string, a []byte) error {
	switch action, _ := jsonrpc.GetString(a, "action"); {
	case method == methods.ListRoots:
		_, err := declaration.ReadAllRoots(a)
		return err
	case !jsonrpc.IsObject(a):
		return errors.New("it is no object")
	case method == methods.Elicit && action != "accept" && action != "decline" && action != "cancel":
		return errors.New("action is to be accept, decline or cancel")
	case method == methods.Sample && (jsonrpc.Get(a, "role") == nil || jsonrpc.Get(a, "content") == nil || jsonrpc.Get(a, "model") == nil):
		return errors.New("role, content and model are needed")
	}
	return nil
}

// proceedWith hands over what the client answered; what it left out is asked again.
func (c *Client) proceedWith(responses []byte, trip *roundTrip) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state.current = trip
	var open []*clientQuestion
	for _, q := range c.state.openQuestions {
		if a := jsonrpc.Get(responses, q.key); a != nil {
			q.answer <- &jsonrpc.Response{Result: a}
		} else {
			open = append(open, q)
		}
	}
	if c.state.openQuestions = open; len(open) > 0 {
		worker.Signal(c.asked)
	}
}

// takeResponses takes in what a client brings with a request that is not held here: the
// roots, and for a child what it asked. ok false: the answer is why not.
func (c *Client) takeResponses(kind byte, payload, responses []byte) (answer jsonrpc.Answer, ok bool) {
	if raw := jsonrpc.Get(responses, RootsKey); raw != nil && c.input.meta.Claims.Roots {
		page, err := declaration.ReadAllRoots(raw)
		if err != nil {
			return jsonrpc.RefuseParams(fmt.Sprintf("/params/inputResponses/%s: %v", RootsKey, err)), false
		}
		var rootsView rootsmgr.RootsView
		if c.server.rootsPerRequest() {
			rootsView = c.server.options.Host.Roots().ViewOfCallRoots(page)
		} else {
			rootsView = c.server.options.Host.Roots().TakeCallRoots(page)
		}
		c.input.roots = &rootsView
	}
	if kind == stateChild {
		return c.takeChild(payload)
	}
	return jsonrpc.Answer{}, true
}

// What follows gives answers the shape of this era. What children of the other era
// say is spliced, never decoded.

// Caching describes how long a result may be kept, and by whom (2026-07-28,
// server/utilities/Caching). By the zero value it is not kept.
type Caching struct {
	TTL    int64 // milliseconds
	Public bool
}

// Result makes a result one of this era: resultType, the hub as the server that it came
// from, and where keep is not nil how long it may be kept. typed keeps the
// resultType that the result has; else it is complete, whatever a child put there.
func (s *Server) Result(answer jsonrpc.Answer, keep *Caching, typed bool) jsonrpc.Answer {
	if answer.Error != nil {
		return shapeError(answer)
	}
	if !jsonrpc.IsObject(answer.Result) {
		answer.Free()
		return jsonrpc.AnswerFailure("the answer of the server is no object")
	}
	var head resultHead
	head.readHead(answer.Result)
	var edits []jsonrpc.Edit
	b := []byte{'{'}
	switch {
	case head.kind == nil:
		b = append(b, `"resultType":"complete",`...)
	case !typed && string(head.kind) != `"complete"`:
		edits = append(edits, jsonrpc.Edit{Old: head.kind, With: []byte(`"complete"`)})
	}
	if keep != nil {
		if head.ttl == nil {
			b = append(strconv.AppendInt(append(b, `"ttlMs":`...), keep.TTL, 10), ',')
		} else if !isCount(head.ttl) {
			edits = append(edits, jsonrpc.Edit{Old: head.ttl, With: []byte{'0'}})
		}
		if head.scope == nil {
			b = append(append(append(b, `"cacheScope":`...), keep.rawScope()...), ',')
		} else if !keep.Public && string(head.scope) != keep.rawScope() {
			edits = append(edits, jsonrpc.Edit{Old: head.scope, With: []byte(keep.rawScope())})
		}
	}
	switch {
	case head.meta == nil:
		b = append(append(append(b, `"_meta":{"io.modelcontextprotocol/serverInfo":`...), s.options.Info...), `},`...)
	case jsonrpc.IsObject(head.meta):
		edits = append(edits, jsonrpc.Edit{Old: head.meta, With: namedMeta(s.options.Info, head.meta)})
	}
	open := answer.Result[:1]
	rest := 1 // what follows the brace
	for rest < len(answer.Result) && isBlank(answer.Result[rest]) {
		rest++
	}
	if answer.Result[rest] == '}' && len(b) > 1 {
		b = b[:len(b)-1] // nothing follows
	}
	return answer.WithEdits(append(edits, jsonrpc.Edit{Old: open, With: b})...)
}

// withContent gives the result of a tool empty content if it has none: so SDKs of the era before read it, and those of this one drop it.
func withContent(answer jsonrpc.Answer) jsonrpc.Answer {
	if !jsonrpc.IsObject(answer.Result) || jsonrpc.Get(answer.Result, "content") != nil {
		return answer
	}
	result := jsonrpc.AppendMembers([]byte(`{"content":[]`), answer.Result, func(string) bool { return true })
	answer.Free()
	return jsonrpc.ResultAnswer(append(result, '}'))
}

func isBlank(b byte) bool { return b == ' ' || b == '\t' || b == '\r' || b == '\n' }

// rawScope returns the value of cacheScope, raw.
func (caching Caching) rawScope() string {
	if caching.Public {
		return `"public"`
	}
	return `"private"`
}

// resultHead are the members of a result that this era gave a meaning, raw.
type resultHead struct{ kind, ttl, scope, meta, structured []byte }

func (h *resultHead) readHead(result []byte) {
	_ = jsonrpc.Members(result, func(name string, value []byte) bool {
		switch name {
		case "resultType":
			h.kind = value
		case "ttlMs":
			h.ttl = value
		case "cacheScope":
			h.scope = value
		case "_meta":
			h.meta = value
		case "structuredContent":
			h.structured = value
		}
		return true
	})
}

func isCount(raw []byte) bool {
	n, err := strconv.ParseInt(string(raw), 10, 64)
	return err == nil && n >= 0
}

// IsEndToEnd passes the members of a child's _meta that do not belong to its own hop.
func IsEndToEnd(name string) bool {
	return name != MetaServer && name != MetaVersion && name != MetaSubscription
}

// namedMeta returns _meta of a result with the hub as its server: the name
// that a child gave is of another hop.
func namedMeta(server, meta []byte) []byte {
	b := append([]byte(`{"io.modelcontextprotocol/serverInfo":`), server...)
	return append(jsonrpc.AppendMembers(b, meta, IsEndToEnd), '}')
}

// shapeError gives another code to an error that this era must not send: -32002
// has become -32602, the rest of what is reserved to the specification is an
// internal error of the one who said so (2026-07-28, basic/index, error codes).
func shapeError(answer jsonrpc.Answer) jsonrpc.Answer {
	e := jsonrpc.ParseError(answer.Error)
	code := e.Code
	switch {
	case code == mcp.RESOURCE_NOT_FOUND:
		code = jsonrpc.CodeInvalidParams
	case code == codeURLElicitation:
		code = jsonrpc.CodeInternal
	case code == mcp.MISSING_REQUIRED_CLIENT_CAPABILITY && jsonrpc.IsObject(jsonrpc.Get(e.Data, "requiredCapabilities")):
		// A child describes what the client would have to be able to do: it passes.
	case code <= -32020 && code >= -32099:
		code = jsonrpc.CodeInternal
	}
	if code == e.Code {
		return answer
	}
	out := jsonrpc.Answer{Error: (&jsonrpc.Error{Code: code, Message: e.Message, Data: e.Data}).Raw()}
	answer.Free()
	return out
}

// codeURLElicitation is -32042 of 2025-11-25, which 2026-07-28 must not send.
const codeURLElicitation = -32042
