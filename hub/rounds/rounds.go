package rounds

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"mcphub/children"
	"mcphub/children/link"
	"mcphub/hub/declaration"
	"mcphub/hub/modern"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
	"mcphub/internal/worker"
)

// Bounds of one request and its rounds.
const (
	maxRounds    = 32        // results that ask, until the request is given up
	maxIdle      = 8         // of them in a row, that ask nothing and only say to come again
	maxInputs    = 32        // questions in one of them
	maxState     = 256 << 10 // bytes of a requestState
	maxResponses = 16 << 20  // bytes of what is answered in one round
)

// An inputError reports why a child does not get what it asks for.
type inputError struct{ text string }

func (e *inputError) Error() string { return e.text }

func badInput(format string, args ...any) error { return &inputError{fmt.Sprintf(format, args...)} }

// An InputClient is the client that made a request, as far as its rounds depend on it.
type InputClient interface {
	// Claims returns what the client says about itself.
	Claims() declaration.Claims
	// ClientProfile returns what a child without a handshake is shown of it. Such a child
	// may be shared and still ask the right one.
	ClientProfile() link.ClientProfile
	// RootsMissing reports whether roots could be given and none were that hold for this
	// request.
	RootsMissing() bool
	// RetryInput returns what came with the request for a child: the requestState
	// that was passed, raw, nil for none, and the answers, a raw object or nil.
	RetryInput(child string) (state, responses []byte, ok bool)
	// ForwardInput makes what a child asks the answer to the request; false: the client is to
	// be asked now. The requestState in result may be any JSON. roots: it is asked for
	// them along with it.
	ForwardInput(child string, result func() []byte, roots bool) (jsonrpc.Answer, bool)
}

// A RepeatedRequest is one that was judged and may be sent.
type RepeatedRequest interface {
	// Params returns the judged bytes.
	Params() [][]byte
	// Lease returns the right to call the child; it may be another one after Revalidate.
	Lease() *children.Lease
	// Ask has a client of the handshake's era answer one question.
	Ask(ctx context.Context, m *jsonrpc.Message) jsonrpc.Answer
	// ShapeAnswer returns the child's answer in the form that the client gets.
	ShapeAnswer(resp *jsonrpc.Response) jsonrpc.Answer
	// Revalidate sees to it that the request may be sent again. With an error it may not.
	Revalidate(ctx context.Context) error
}

// Run sends a request of a method, with what the client has brought for its child, until the
// child does not ask any more. The error is one of Lease.Call, of Revalidate, or reports why
// the child does not get what it asks for.
func Run(ctx context.Context, r RepeatedRequest, c InputClient, method string) (jsonrpc.Answer, error) {
	d := &dialogue{r, c, method}
	add, err := d.readRetry()
	if err != nil {
		return jsonrpc.Answer{}, err
	}
	return d.runRounds(ctx, add, nil)
}

// Continue works like Run after a first result, which asks for input.
func Continue(ctx context.Context, r RepeatedRequest, c InputClient, method string, first []byte) (jsonrpc.Answer, error) {
	return (&dialogue{r, c, method}).runRounds(ctx, nil, first)
}

// A dialogue is one request and its rounds.
type dialogue struct {
	RepeatedRequest
	client InputClient
	method string
}

// runRounds sends the request, with what a retry adds, until the child does not ask
// any more. first, where set, is a result that asks already.
func (d *dialogue) runRounds(ctx context.Context, add *retry, first []byte) (jsonrpc.Answer, error) {
	ctx = link.WithClient(ctx, d.client.ClientProfile())
	idle := 0
	for round := 0; ; round++ {
		result := first
		if first == nil {
			params, err := d.paramsWith(add)
			if err != nil {
				return jsonrpc.Answer{}, err
			}
			lease := d.Lease()
			resp, err := lease.Call(ctx, d.method, params)
			if err != nil {
				return jsonrpc.Answer{}, err
			}
			if resp.Error != nil || !AsksForInput(resp.Result) {
				return d.ShapeAnswer(resp), nil
			}
			result = bytes.Clone(resp.Result)
			resp.Release()
		}
		first = nil
		if round == maxRounds {
			return jsonrpc.Answer{}, badInput("it has asked for more input %d times; the request was given up", maxRounds)
		}
		asked, err := readInput(result)
		if err != nil {
			return jsonrpc.Answer{}, err
		}
		if idle++; len(asked.inputs) > 0 {
			idle = 0
		}
		if idle > maxIdle {
			return jsonrpc.Answer{}, badInput("it has said %d times in a row to come again, and asked for nothing", maxIdle)
		}
		var answer *jsonrpc.Answer
		if add, answer, err = d.gatherInputs(ctx, asked, idle); err != nil {
			return jsonrpc.Answer{}, err
		}
		if answer != nil {
			return *answer, nil
		}
		if err := d.Revalidate(ctx); err != nil {
			return jsonrpc.Answer{}, err
		}
	}
}

// A retry is what a request is sent again with.
type retry struct {
	responses []byte // a raw object; nil for none
	state     []byte // a raw string, as it came; nil for none
}

// paramsWith returns the params of the request and what a retry adds. A client of the
// other era has no such members to send: what it puts there would be taken for an
// answer that no one gave, or for another's state.
func (d *dialogue) paramsWith(add *retry) ([]byte, error) {
	raw := bytes.TrimSpace(jsonrpc.Join(d.Params()))
	empty := true
	var foreign string
	err := jsonrpc.Members(raw, func(name string, _ []byte) bool {
		empty = false
		if name == modern.MemberResponses || name == modern.MemberState {
			foreign = name
		}
		return foreign == ""
	})
	switch {
	case err != nil:
		return nil, badInput("the params are no object")
	case foreign != "":
		return nil, badInput("%s belongs to no request of this protocol version; leave it out", foreign)
	case add == nil:
		return raw, nil
	}
	out := append(make([]byte, 0, len(raw)+len(add.responses)+len(add.state)+64), raw[:len(raw)-1]...)
	for _, member := range []struct {
		name  string
		value []byte
	}{{modern.MemberResponses, add.responses}, {modern.MemberState, add.state}} {
		if member.value == nil {
			continue
		}
		if !empty {
			out = append(out, ',')
		}
		empty = false
		out = append(append(jsonrpc.AppendString(out, member.name), ':'), member.value...)
	}
	return append(out, '}'), nil
}

// gatherInputs gets what a child asks for. An Answer is what its client gets now:
// it brings the rest with another request.
func (d *dialogue) gatherInputs(ctx context.Context, asked demand, idle int) (*retry, *jsonrpc.Answer, error) {
	c, lease := d.client, d.Lease()
	able := c.Claims().Can
	var others []input
	rootsMissing := false // the roots that it asks for are still to come
	given := make([][]byte, len(asked.inputs))
	for i := range asked.inputs {
		in := &asked.inputs[i]
		if in.method == methods.ListRoots {
			roots, ok := lease.Roots()
			if !ok {
				return nil, nil, badInput("it asks for the roots, which are not served to it (\"roots\": \"none\")")
			}
			given[i] = roots
			rootsMissing = rootsMissing || lease.Key().Instance != "" && c.RootsMissing()
			continue
		}
		if refusal, ok := able.Refuses(in.questionMessage()); !ok {
			return nil, nil, badInput("it asks for what it was not offered: %s", jsonrpc.ParseError(refusal.Error).Message)
		}
		others = append(others, *in)
	}
	if len(others) > 0 || rootsMissing {
		if a, ok := c.ForwardInput(lease.Key().Child, func() []byte { return forwardedResult(asked, others) }, rootsMissing); ok {
			return nil, &a, nil
		}
	}
	switch {
	case len(others) > 0:
		if err := d.askInputs(ctx, asked.inputs, given); err != nil {
			return nil, nil, err
		}
	case idle > 0:
		if !worker.Sleep(ctx, min(5*time.Millisecond<<idle, 250*time.Millisecond)) {
			return nil, nil, context.Cause(ctx)
		}
	}
	r := &retry{state: asked.state}
	if len(asked.inputs) > 0 {
		var keys []string
		for i := range asked.inputs {
			keys = append(keys, asked.inputs[i].key)
		}
		r.responses = makeObject(keys, given)
	}
	return r, nil, nil
}

// makeObject returns a raw object of these members.
func makeObject(keys []string, values [][]byte) []byte {
	b := []byte{'{'}
	for i, key := range keys {
		b = jsonrpc.AppendMember(b, key, values[i])
	}
	return append(b, '}')
}

// askInputs asks a client of the handshake's era, on the way of its request, for what
// is not given yet, all at once. One that fails ends the others.
func (d *dialogue) askInputs(ctx context.Context, inputs []input, given [][]byte) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	errs := make([]error, len(inputs))
	var all sync.WaitGroup
	for i := range inputs {
		if given[i] != nil {
			continue
		}
		in := &inputs[i]
		all.Go(func() {
			m := in.questionMessage()
			if err := addElicitationID(m); err != nil {
				errs[i] = err
				cancel(err)
				return
			}
			a := d.Ask(ctx, m)
			defer a.Free()
			if a.Result == nil || !jsonrpc.IsObject(a.Result) {
				text := "with something that is no object"
				if a.Error != nil {
					text = "with an error: " + jsonrpc.ParseError(a.Error).Error()
				}
				errs[i] = badInput("it needs %s from the client, which answered %s", in.method, text)
				cancel(errs[i])
				return
			}
			given[i] = bytes.Clone(a.Result)
		})
	}
	all.Wait()
	if err := context.Cause(ctx); err != nil {
		if cause, ok := errors.AsType[*inputError](err); ok {
			return cause // the first one that failed, and not the ones that it ended
		}
		return err
	}
	size := 0
	for _, g := range given {
		size += len(g)
	}
	if size > maxResponses {
		return badInput("what it asked for has %d bytes, more than %d", size, maxResponses)
	}
	return errors.Join(errs...)
}

// readRetry returns what a client of the child's own era has sent for it with a retry,
// and the roots as they are now; nil for a request that brings nothing.
func (d *dialogue) readRetry() (*retry, error) {
	lease := d.Lease()
	state, responses, ok := d.client.RetryInput(lease.Key().Child)
	if !ok {
		return nil, nil
	}
	r := &retry{}
	var keys []string // of what the hub answers
	at := 0
	err := jsonrpc.Elements(state, func(v []byte) bool {
		if at++; at == 1 {
			if v[0] == '"' {
				r.state = v
			}
			return true
		}
		key, _ := jsonrpc.String(v)
		keys = append(keys, key)
		return true
	})
	if err != nil && state != nil {
		return nil, badInput("the requestState is none of its")
	}
	b := jsonrpc.AppendMembers([]byte{'{'}, responses, func(name string) bool { return !slices.Contains(keys, name) })
	if roots, ok := lease.Roots(); ok {
		for _, key := range keys {
			b = jsonrpc.AppendMember(b, key, roots)
		}
	}
	r.responses = append(b, '}')
	return r, nil
}
