package call

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"mcphub/children/link"
	"mcphub/children/spec"
	"mcphub/hub/configuration"
	"mcphub/hub/declaration"
	"mcphub/hub/modern"
	"mcphub/internal/jsonrpc"
	"mcphub/rootsmgr"
	"mcphub/validate"
	"mcphub/validate/policy"
)

// This file sees a request through with a child of the era without a handshake,
// which asks for what it needs by its result (2026-07-28, basic/patterns/mrtr):
// the request is sent again with the answers, as often as it takes.

// Bounds of one request and its rounds.
const (
	mostRounds   = 32        // results that ask, until the request is given up
	mostIdle     = 8         // of them in a row, that ask nothing and only say to come again
	mostInputs   = 32        // questions in one of them
	maxState     = 256 << 10 // bytes of a requestState
	maxResponses = 16 << 20  // bytes of what is answered in one round
)

// An inputError says why a child does not get what it asks for.
type inputError struct{ text string }

func (e *inputError) Error() string { return e.text }

func badInput(format string, args ...any) error { return &inputError{fmt.Sprintf(format, args...)} }

var errOther = badInput("it was replaced by another while it waited for input; make the request again")

// A deniedError is a request that was denied when it was judged once more.
type deniedError struct {
	verdict *validate.Verdict
	view    rootsmgr.View // that it was judged by then
}

func (e *deniedError) Error() string { return ErrDenied.Error() }

// Is makes it an ErrDenied.
func (e *deniedError) Is(target error) bool { return target == ErrDenied }

// applyTo makes it what became of the request.
func (e *deniedError) applyTo(j *attempt) { j.verdict, j.view = e.verdict, e.view }

// A dialogue is one judged request and its rounds.
type dialogue struct {
	s      *Session
	j      *attempt
	method string
	key    spec.Key                           // of the instance that has the request
	params func(v *validate.Verdict) [][]byte // the judged bytes
}

// exchange sends a judged request and sees it through. The error is one of
// Lease.Call, an inputError or a deniedError.
func (s *Session) exchange(ctx context.Context, j *attempt, method string, params func(v *validate.Verdict) [][]byte) (jsonrpc.Answer, error) {
	if !j.lease.Modern() {
		resp, err := j.lease.Call(ctx, method, params(j.verdict)...)
		if err != nil {
			return jsonrpc.Answer{}, err
		}
		return s.Offering.Catalog().WithApps(j.child, s.ClientOf(ctx).Answer(j.lease, method, resp)), nil
	}
	d := &dialogue{s: s, j: j, method: method, key: j.lease.Key(), params: params}
	add, err := d.retried(s.ClientOf(ctx))
	if err != nil {
		return jsonrpc.Answer{}, err
	}
	return d.run(ctx, add, nil)
}

// run sends the request, with what a retry adds, until the child does not ask
// any more. first, where set, is a result that asks already.
func (d *dialogue) run(ctx context.Context, add *retry, first []byte) (jsonrpc.Answer, error) {
	c := d.s.ClientOf(ctx)
	ctx = link.WithClient(ctx, c.Behalf())
	idle := 0
	for round := 0; ; round++ {
		result := first
		if first == nil {
			params, err := d.with(add)
			if err != nil {
				return jsonrpc.Answer{}, err
			}
			resp, err := d.j.lease.Call(ctx, d.method, params)
			if err != nil {
				return jsonrpc.Answer{}, err
			}
			if resp.Error != nil || !asksForInput(resp.Result) {
				return d.s.Offering.Catalog().WithApps(d.j.child, c.Answer(d.j.lease, d.method, resp)), nil
			}
			result = bytes.Clone(resp.Result)
			resp.Release()
		}
		first = nil
		if round == mostRounds {
			return jsonrpc.Answer{}, badInput("it has asked for more input %d times; the request was given up", mostRounds)
		}
		asked, err := readInput(result)
		if err != nil {
			return jsonrpc.Answer{}, err
		}
		if idle++; len(asked.inputs) > 0 {
			idle = 0
		}
		if idle > mostIdle {
			return jsonrpc.Answer{}, badInput("it has said %d times in a row to come again, and asked for nothing", mostIdle)
		}
		var answer *jsonrpc.Answer
		if add, answer, err = d.answer(ctx, asked, idle); err != nil {
			return jsonrpc.Answer{}, err
		}
		if answer != nil {
			return *answer, nil
		}
		if err := d.again(ctx); err != nil {
			return jsonrpc.Answer{}, err
		}
	}
}

// A retry is what a request is sent again with.
type retry struct {
	responses []byte // a raw object; nil for none
	state     []byte // a raw string, as it came; nil for none
}

// with is the params of the request and what a retry adds. A client of the other
// era has no such members to send: what it puts there would be taken for an
// answer that nobody gave, or for another's state.
func (d *dialogue) with(add *retry) ([]byte, error) {
	raw := bytes.TrimSpace(jsonrpc.Join(d.params(d.j.verdict)))
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

// answer gathers what a child asks for. An Answer is what its client gets now:
// it brings the rest with another request.
func (d *dialogue) answer(ctx context.Context, asked demand, idle int) (*retry, *jsonrpc.Answer, error) {
	c := d.s.ClientOf(ctx)
	able := c.Claims().Can
	var others []input
	lacking := false // the roots that it asks for are still to come
	given := make([][]byte, len(asked.inputs))
	for i := range asked.inputs {
		in := &asked.inputs[i]
		if in.method == declaration.MethodRootsList {
			roots, ok := d.j.lease.Roots()
			if !ok {
				return nil, nil, badInput("it asks for the roots, which are not served to it (\"roots\": \"none\")")
			}
			given[i] = roots
			lacking = lacking || d.j.lease.Key().Instance != "" && c.Rootless()
			continue
		}
		if refusal, ok := able.Refuses(in.message()); !ok {
			return nil, nil, badInput("it asks for what it was not offered: %s", jsonrpc.ParseError(refusal.Error).Message)
		}
		others = append(others, *in)
	}
	if len(others) > 0 || lacking {
		if a, ok := c.Pass(d.j.child, func() []byte { return passed(asked, others) }, lacking); ok {
			return nil, &a, nil
		}
	}
	switch {
	case len(others) > 0:
		if err := d.ask(ctx, asked.inputs, given); err != nil {
			return nil, nil, err
		}
	case idle > 0:
		pause := time.NewTimer(min(5*time.Millisecond<<idle, 250*time.Millisecond))
		defer pause.Stop()
		select {
		case <-pause.C:
		case <-ctx.Done():
			return nil, nil, context.Cause(ctx)
		}
	}
	r := &retry{state: asked.state}
	if len(asked.inputs) > 0 {
		var keys []string
		for i := range asked.inputs {
			keys = append(keys, asked.inputs[i].key)
		}
		r.responses = object(keys, given)
	}
	return r, nil, nil
}

// object is a raw object of these members.
func object(keys []string, values [][]byte) []byte {
	b := []byte{'{'}
	for i, key := range keys {
		b = jsonrpc.AppendMember(b, key, values[i])
	}
	return append(b, '}')
}

// ask asks a client of the handshake's era, on the way of its request, for what
// is not given yet, all at once. One that fails ends the others.
func (d *dialogue) ask(ctx context.Context, inputs []input, given [][]byte) error {
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
			m := in.message()
			if err := pushed(m); err != nil {
				errs[i] = err
				cancel(err)
				return
			}
			a := d.s.Ask(ctx, d.key, m)
			if a.Release != nil {
				defer a.Release()
			}
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
	var cause *inputError
	if err := context.Cause(ctx); err != nil {
		if errors.As(err, &cause) {
			return cause // the first one that failed, and not those that it ended
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

// retried is what a client of the child's own era has sent for it with a retry, and the
// roots as they are now; nil for a request that brings nothing.
func (d *dialogue) retried(c Client) (*retry, error) {
	state, responses, ok := c.Retried(d.j.child)
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
	if roots, ok := d.j.lease.Roots(); ok {
		for _, key := range keys {
			b = jsonrpc.AppendMember(b, key, roots)
		}
	}
	r.responses = append(b, '}')
	return r, nil
}

// again sees to it that the request may be sent once more: the answers may have
// taken long. The child may have been replaced meanwhile, but only by itself;
// and what the roots are now is what the request is judged by.
func (d *dialogue) again(ctx context.Context) error {
	j := d.j
	if !j.lease.Open() {
		if err := d.move(ctx); err != nil {
			return err
		}
	}
	if j.scan == nil || !j.scan.NeedsBoundary() {
		return nil
	}
	view, err := d.s.ClientOf(ctx).Boundary(ctx, d.s.Roots.NewWait())
	if err != nil {
		return err
	}
	j.view = view
	if d.s.judgeOnce(j); j.verdict.Decision != policy.Allow {
		return &deniedError{j.verdict, view}
	}
	return nil
}

// move takes the request to the process that has taken its child's place. One
// that is only being retired sees its requests through.
func (d *dialogue) move(ctx context.Context) error {
	j := d.j
	now := attempt{call: j.call}
	err := now.acquire(ctx)
	if err == nil && now.lease.Revision() == j.lease.Revision() && now.lease.Modern() {
		j.lease.Release()
		j.lease = now.lease
		return nil
	}
	now.lease.Release()
	if err != nil && !errors.Is(err, configuration.ErrSuperseded) {
		return err
	}
	if j.lease.Ended() {
		return errOther
	}
	return nil
}
