package modern

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"

	"mcphub/children"
	"mcphub/children/spec"
	"mcphub/hub/declaration"
	"mcphub/hub/telemetry"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
	"mcphub/internal/worker"
	"mcphub/rootsmgr"
)

// In this file the work on a request asks its client. The client gets the questions as the answer to its request. It sends the
// request again with its answers, and then the work goes on (2026-07-28, basic/patterns/mrtr). Server.Serve (server.go) starts the work.

// Era is the word for the era of these clients.
const Era = "modern"

// gatherTime is how long a request that has been asked something waits for more of
// it: several questions go in one answer.
const gatherTime = 10 * time.Millisecond

var (
	errNotAsked  = errors.New("a client of this era can be asked only while a call of a tool, a prompt or a resource of it is being answered")
	errAbandoned = errors.New("the client was asked for something that it never answered")
	errOver      = errors.New("the request is over")
)

// A roundTrip is one request of a client: the first one, or a retry.
type roundTrip struct {
	meta     Meta
	notifier RequestNotifier
}

// requestInput is what came with the request that the work is on.
type requestInput struct {
	meta    Meta                // of the first round trip
	roots   *rootsmgr.RootsView // that the client gave with it; nil if it gave none
	child   *childState         // that the client brings back; nil for none
	answers []byte              // for a child, raw, an object; nil for none
}

// A Client is the client of one request, over all round trips that the request takes.
// The work on the request goes through it: what the client is told goes out with
// the round trip under way, and what it is asked is the answer to that round
// trip.
type Client struct {
	// These are not changed once the work has begun.
	server        *Server
	request       *jsonrpc.Message
	progressToken []byte       // the progress token that the work knows, raw
	mayBeAsked    bool         // this kind of request can be answered with a question
	input         requestInput // what came with the request

	judging judging // belongs to the work

	end   jsonrpc.Cancellation // of the work
	done  chan jsonrpc.Answer  // of the work; capacity 1
	asked chan struct{}        // there are questions; capacity 1

	mu    sync.Mutex
	state clientState
}

// judging is how far the work has come with the roots of its request.
type judging struct {
	rootsView   *rootsmgr.RootsView // that it is judged by; nil: none yet
	unsure      bool                // what looks like a path may be none
	provisional bool                // it was judged as if nothing were open
}

// clientState is what Client.mu guards.
type clientState struct {
	current         *roundTrip // nil while the client is not there: suspended, or over
	openQuestions   []*clientQuestion
	keys            int           // given so far
	admission       gateAdmission // set by the work, and by a roots query while that is with a child
	abandoned       bool          // the client does not come again
	ended           bool          // the work has ended
	keepsResultType bool          // what it ended with keeps its own resultType
	needsRoots      bool          // it ended because the client has to say first what its roots are
	query           *rootsQuery   // on account of a child; nil: none yet
	subject         []byte        // that a requestState is bound to; nil: none was needed yet
}

// A clientQuestion is one thing that the client is asked.
type clientQuestion struct {
	key    string
	method string
	params []byte
	answer chan *jsonrpc.Response // capacity 1
}

// Era returns the word for the era of the client.
func (c *Client) Era() string { return Era }

// StartTiming begins to time the request of the client.
func (c *Client) StartTiming(t *telemetry.SessionMetrics) telemetry.RequestTiming {
	return t.StartModernTiming()
}

// Claims returns what the client says about itself.
func (c *Client) Claims() declaration.Claims { return c.clientMeta().Claims }

// AllowHubQuestions does nothing: questions of the hub go into the answer.
func (c *Client) AllowHubQuestions() (back func()) { return func() {} }

// Reaches returns true: the client can be told things before its request is answered.
func (c *Client) Reaches() bool { return true }

// AllowsFastPath returns false if the client may have to be asked for its roots first, if headers have to be compared with the
// arguments, or if the child has no handshake.
func (c *Client) AllowsFastPath(share spec.Share, mirrored bool, lease *children.Lease) bool {
	free := !c.input.meta.Claims.Roots || share == spec.ShareAll
	return free && !mirrored && (lease == nil || !lease.IsModern())
}

// ShapeAnswer returns the child's answer as it is: finishAnswer gives it its shape.
func (c *Client) ShapeAnswer(_ *children.Lease, _ string, resp *jsonrpc.Response) jsonrpc.Answer {
	return resp.Answer()
}

// Wants returns true: routeNotification looks at the level.
func (c *Client) Wants(*jsonrpc.Message) bool { return true }

// YieldChild leaves the gate of a child: clients with other roots may want it
// meanwhile.
func (c *Client) YieldChild() { c.leaveChild() }

// clientMeta returns what the round trip under way says about its client; the first one while
// there is none.
func (c *Client) clientMeta() Meta {
	if trip := c.currentTrip(); trip != nil {
		return trip.meta
	}
	return c.input.meta
}

func (c *Client) currentTrip() *roundTrip {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state.current
}

// routeNotification picks the way of a notification. Only what belongs to a request may go out
// with it: its progress, by the token of the round trip, and the log as far as the round trip
// asked for it.
func (c *Client) routeNotification(method string, params [][]byte) (RequestNotifier, [][]byte) {
	trip := c.currentTrip()
	if trip == nil {
		return nil, nil
	}
	switch method {
	case methods.Progress:
		if trip.meta.ProgressToken == nil {
			return nil, nil
		}
		if string(trip.meta.ProgressToken) != string(c.progressToken) {
			whole := jsonrpc.Join(params)
			params = jsonrpc.Splice(whole, jsonrpc.Edit{Old: jsonrpc.Get(whole, "progressToken"), With: trip.meta.ProgressToken})
		}
	case methods.Message:
		level, ok := declaration.ReadLevel(jsonrpc.Get(jsonrpc.Join(params), "level"))
		if trip.meta.Level == 0 || ok && level < trip.meta.Level {
			return nil, nil
		}
	default:
		return nil, nil
	}
	return trip.notifier, params
}

// Notify informs the client with the round trip under way; what it is not to be told
// is dropped.
func (c *Client) Notify(ctx context.Context, method string, params ...[]byte) error {
	if notifier, params := c.routeNotification(method, params); notifier != nil {
		return notifier.Notify(ctx, method, params...)
	}
	return nil
}

// TryNotify works like Notify, but never blocks.
func (c *Client) TryNotify(method string, params ...[]byte) bool {
	notifier, params := c.routeNotification(method, params)
	return notifier == nil || notifier.TryNotify(method, params...)
}

// TryNotifyLeavingRoom works like TryNotify, but leaves room to others.
func (c *Client) TryNotifyLeavingRoom(method string, params ...[]byte) bool {
	notifier, params := c.routeNotification(method, params)
	return notifier == nil || notifier.TryNotifyLeavingRoom(method, params...)
}

// Detach hands over the way of the round trip under way: the Client says nothing on it
// from then on.
func (c *Client) Detach() RequestNotifier {
	c.mu.Lock()
	defer c.mu.Unlock()
	trip := c.state.current
	c.state.current = nil
	return trip.notifier
}

// Call asks the client, instead of the answer to its request, and waits until it
// comes again with the answer.
func (c *Client) Call(ctx context.Context, method string, params ...[]byte) (*jsonrpc.Response, error) {
	if !c.mayBeAsked || method != methods.Sample && method != methods.Elicit {
		return nil, errNotAsked
	}
	return c.askQuestion(ctx, &clientQuestion{method: method, params: questionParams(method, jsonrpc.Join(params))})
}

// askQuestion asks a question, whose key it makes if there is none.
func (c *Client) askQuestion(ctx context.Context, q *clientQuestion) (*jsonrpc.Response, error) {
	q.answer = make(chan *jsonrpc.Response, 1)
	c.mu.Lock()
	if c.state.ended {
		c.mu.Unlock()
		return nil, errOver
	}
	if q.key == "" {
		c.state.keys++
		q.key = "mcphub-" + strconv.Itoa(c.state.keys)
	}
	c.state.openQuestions = append(c.state.openQuestions, q)
	c.mu.Unlock()
	worker.Signal(c.asked)
	select {
	case r := <-q.answer:
		if r == nil {
			return nil, errOver
		}
		return r, nil
	case <-ctx.Done():
		c.withdrawQuestion(q)
		return nil, context.Cause(ctx)
	}
}

// withdrawQuestion takes back a question that no caller waits for any more.
func (c *Client) withdrawQuestion(q *clientQuestion) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state.openQuestions = slices.DeleteFunc(c.state.openQuestions, func(o *clientQuestion) bool { return o == q })
}

// questionParams returns what a child of the other era asks, as this era has it:
// without a token for progress, which no client can report any more, and without
// the id of an elicitation, which this era does not have.
func questionParams(method string, params []byte) []byte {
	if !jsonrpc.IsObject(params) {
		return []byte(`{}`)
	}
	b := []byte{'{'}
	_ = jsonrpc.Members(params, func(name string, value []byte) bool {
		switch name {
		case "elicitationId":
			if method == methods.Elicit {
				return true
			}
		case "_meta":
			if value = jsonrpc.Without(value, "progressToken"); value == nil {
				return true
			}
		}
		b = jsonrpc.AppendMember(b, name, value)
		return true
	})
	return append(b, '}')
}

// leaveRoundTrip ends the round trip under way: nothing is said on it any more.
func (c *Client) leaveRoundTrip() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state.current = nil
}

// suspendWork answers the round trip with the questions that are open. false: there are none
// any more, or the work has ended.
func (c *Client) suspendWork() (jsonrpc.Answer, bool) {
	questions, size, ok := c.takeOpenQuestions()
	if !ok {
		return jsonrpc.Answer{}, false
	}
	id := uuid.NewString()
	state, err := c.server.sealState(c.stateSubject(), stateSuspended, []byte(id+"@"+c.server.options.Node))
	if err == nil {
		err = c.server.calls.suspendCall(id, c, size)
	}
	if err != nil {
		c.end.End(err)
		(<-c.done).Free()
		return jsonrpc.AnswerFailure("busy: " + err.Error()), true
	}
	b := append([]byte(`{"resultType":"input_required","inputRequests":`), questions...)
	b = jsonrpc.AppendString(append(b, `,"requestState":`...), state)
	return c.server.Result(jsonrpc.ResultAnswer(append(b, '}')), nil, true), true
}

// takeOpenQuestions ends the round trip with the questions that are open, as inputRequests. What
// the client did not declare is refused to the one who asks. false: there is nothing to ask.
// size is what is held of the client until it comes again.
func (c *Client) takeOpenQuestions() (requests []byte, size int, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state.ended || c.state.current == nil {
		return nil, 0, false
	}
	claims := &c.state.current.meta.Claims
	var open []*clientQuestion
	for _, q := range c.state.openQuestions {
		if q.method == methods.ListRoots && claims.Roots {
			open = append(open, q)
			continue
		}
		m := &jsonrpc.Message{Method: q.method, Params: q.params, Members: jsonrpc.MembersOf(q.params)}
		if refusal, can := claims.Can.Refuses(m); !can {
			q.answer <- &jsonrpc.Response{Error: refusal.Error}
			continue
		}
		open = append(open, q)
	}
	c.state.openQuestions = open
	if len(open) == 0 {
		return nil, 0, false
	}
	size = len(c.request.Frame)
	b := []byte{'{'}
	for i, q := range open {
		size += len(q.params)
		if i > 0 {
			b = append(b, ',')
		}
		b = jsonrpc.AppendString(append(jsonrpc.AppendString(b, q.key), `:{"method":`...), q.method)
		b = append(append(append(b, `,"params":`...), q.params...), '}')
	}
	c.state.current = nil
	return append(b, '}'), size, true
}

// stateSubject returns what a requestState of the request is bound to.
func (c *Client) stateSubject() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state.subject == nil {
		c.state.subject = c.server.stateSubject(c.request)
	}
	return c.state.subject
}

// abandonWork ends the work for a client that does not come again. The child is told
// by the end of its call; what it answered is no one's.
func (c *Client) abandonWork(cause error) {
	c.end.End(cause)
	c.mu.Lock()
	c.state.abandoned = true
	c.mu.Unlock()
	select {
	case answer := <-c.done:
		answer.Free()
	default:
	}
}

// deliverAnswer hands over what the work ended with, or lets go of it if no one wants it
// any more.
func (c *Client) deliverAnswer(answer jsonrpc.Answer) {
	c.mu.Lock()
	wanted := !c.state.abandoned
	if wanted {
		c.done <- answer
	}
	c.mu.Unlock()
	if !wanted {
		answer.Free()
	}
}
