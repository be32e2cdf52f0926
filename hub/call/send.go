package call

import (
	"bytes"
	"context"
	"errors"

	"mcphub/children"
	"mcphub/children/link"
	"mcphub/children/run"
	"mcphub/hub/client"
	"mcphub/hub/failure"
	"mcphub/hub/inflight"
	"mcphub/hub/record"
	"mcphub/hub/rounds"
	"mcphub/hub/telemetry"
	"mcphub/internal/audit"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/jsonrpc/lines"
	"mcphub/internal/methods"
	"mcphub/validate"
)

// This file is where what a client asks leaves the hub for its child: by a lease, whose methods (children/lease.go) lead
// to the connection of the process that runs now. All of it was judged and recorded before, but for what Relay says.
//
//	Call.send       the goroutine of the request waits for the answer: Lease.Call, or package rounds, which calls it
//	                once for each round
//	Call.notify     a notification: Lease.Notify
//	asyncCall.send  a call on the fast path, for whose answer nobody waits: Lease.StartCall. It is called by Recorded,
//	                on the goroutine that has written the line of this call and of all that came with it
//	                (audit.GroupCommit). What it sends then leaves in one write, with that of the others (lines.Batch)
//	Sender.Relay    a request about a task, which the session has already: Lease.Call

// send has the child do what was let through and recorded, and brings its answer
// back as it is.
func (c *Call) send(ctx context.Context, att *attempt, ticket record.Ticket) (jsonrpc.Answer, error) {
	s, t := c.sender, c.target
	var own []byte
	drop := func() {}
	if c.token != nil {
		own = s.Progress.Add(att.lease.Key(), s.ClientOf(ctx), bytes.Clone(c.token))
		drop = func() { s.Progress.Remove(own) }
	}
	c.splicing.traceForChild = ticket.BeginClientSpan(c.splicing.carrier.Context, att.lease.Protocol())
	callCtx, done := s.track(run.WithProgressToken(ctx, own), &c.inFlight, att.lease, att)
	e := &exchange{s, att, s.ClientOf(ctx), t.method(), att.lease.Key(), func(v *validate.Verdict) [][]byte { return c.params(own, t.edits(s, v)) }}
	a, err := e.send(callCtx)
	done(err)
	var late *deniedError
	switch {
	case errors.As(err, &late):
		drop()
		late.applyTo(att)
		ticket.Outcome(audit.ResultError)                // the child has it, and did not get what it asked for
		_, _ = c.record(context.WithoutCancel(ctx), att) // a second line: what was sent had one
		return c.deny(att)
	case err != nil:
		drop()
		ticket.Outcome(failure.Outcome(err))
		att.lease.Release() // a person may take long
		if !c.loginOffered && s.logIn(ctx, att.conf, att.child, err) {
			c.loginOffered = true
			return c.Do(ctx) // its server has refused it without looking at it
		}
		return t.fail(ctx, &failure.SentError{Err: err}), nil
	}
	word := ticket.Answered(a)
	if failure.MayBeKernelRefusal(att.lease, word, a) {
		a = failure.ExplainKernelRefusal(s.Records, t.subject(), att.lease, word, failure.NamedPaths(att.verdict), a)
	}
	return t.settle(ctx, s, att, a, drop), nil
}

// send sends the request and sees it through. The error is one of Lease.Call, a
// deniedError, or says why the child does not get what it asks for.
func (e *exchange) send(ctx context.Context) (jsonrpc.Answer, error) {
	if e.attempt.lease.Modern() {
		return rounds.Run(ctx, e, e.from, e.method)
	}
	resp, err := e.attempt.lease.Call(ctx, e.method, e.Params()...)
	if err != nil {
		return jsonrpc.Answer{}, err
	}
	return e.Answer(resp), nil
}

// notify is send for a notification, which has no answer.
func (c *Call) notify(ctx context.Context, att *attempt, ticket record.Ticket) jsonrpc.Answer {
	if err := att.lease.Notify(ctx, c.target.method(), c.params(nil, nil)...); err != nil {
		ticket.Outcome(failure.Outcome(err))
		return c.target.fail(ctx, err)
	}
	ticket.Outcome(audit.ResultOK)
	return jsonrpc.Answer{}
}

// send sends the call, unless nobody waits for it any more. Where there is no room for it at once,
// that is waited for on a goroutine. If the call is given up while it is being sent, OnCancel calls
// Abandon at once.
func (c *asyncCall) send(b *lines.Batch, params [][]byte) {
	if cause := c.reply.Cause(); cause != nil {
		c.end(jsonrpc.Answer{}, cause)
		return
	}
	pooled, followsUp := c.pooled, c.followUp != nil
	if !followsUp {
		c.pooled = nil
	}
	c.sent = true
	c.timing.Sent(c.lease.Protocol())
	c.started = c.lease.StartCall(&c.call, c, b, methods.CallTool, c.hubToken, params...)
	if c.started {
		c.reply.OnCancel(c)
	} else {
		ctx, whole := c.context(), jsonrpc.Join(params)
		c.reply.OnCancel(c)
		go func() { c.OnResponse(c.lease.Call(run.WithProgressToken(ctx, c.hubToken), methods.CallTool, whole)) }()
	}
	if !followsUp {
		pooled.free()
	}
}

// context is for what can only be ended by one.
func (c *asyncCall) context() context.Context {
	if c.followUp != nil {
		return link.WithClient(c.followUp.ctx, c.inFlight.Client.Client.ClientProfile())
	}
	ctx := inflight.NewContext(client.NewContext(context.Background(), c.inFlight.Client.Client), &c.inFlight)
	ctx, c.cancel = context.WithCancelCause(ctx)
	return ctx
}

// A request of the client that is with a child, and all of them.
type (
	Request  = inflight.Request[Requester]
	Requests = inflight.Requests[Requester]
)

// Requester is the client that made a request, and the attempt that allowed it.
type Requester struct {
	client.Client
	judged *attempt // nil: none, it was judged no more
}

// Relay sends a request about what the session has already, with edits of its params:
// it is judged no more. With an error, the child did not answer.
func (s *Sender) Relay(ctx context.Context, lease *children.Lease, m *jsonrpc.Message, edits []jsonrpc.Edit) (jsonrpc.Answer, error) {
	k, from := lease.Key(), s.ClientOf(ctx)
	r, timing := splicingOf(m, nil, ""), telemetry.CallOf(ctx)
	var own []byte
	if r.token != nil {
		own = s.Progress.Add(k, from, bytes.Clone(r.token))
		defer s.Progress.Remove(own)
	}
	r.traceForChild = timing.BeginClientSpan(r.traceForChild, lease.Protocol())
	edits = append(edits, r.trace(own))
	callCtx, done := s.track(run.WithProgressToken(ctx, own), &Request{}, lease, nil)
	resp, err := lease.Call(callCtx, m.Method, jsonrpc.Splice(m.Params, edits...)...)
	done(err)
	if err != nil {
		timing.ServerAnswered(failure.Outcome(err), nil)
		return failure.AnswerRequest(ctx, k.Child, m.Method, &failure.SentError{Err: err}), err
	}
	timing.ServerAnswered(record.Result(resp.Result, resp.Error), resp.Error)
	return from.Answer(lease, m.Method, resp), nil
}

// track notes that a request, judged by att or not at all, is with a child until done
// is called with what became of it. The context is for Lease.Call.
func (s *Sender) track(ctx context.Context, t *Request, lease *children.Lease, att *attempt) (_ context.Context, done func(err error)) {
	t.Key, t.Client = lease.Instance(), Requester{s.ClientOf(ctx), att}
	return s.InFlight.Track(ctx, t)
}
