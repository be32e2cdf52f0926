package call

import (
	"context"
	"errors"

	"mcphub/children"
	"mcphub/hub/client"
	"mcphub/hub/failure"
	"mcphub/hub/inflight"
	"mcphub/hub/record"
	"mcphub/internal/audit"
	"mcphub/internal/jsonrpc"
)

// In this file a request of a client leaves the hub for its child. It is sent by a lease, whose methods (children/lease.go) lead
// to the connection of the process that runs now. Each request but the ones of RelayAboutTask was judged and recorded before.
//
//   - sentCall.awaitAnswer: a goroutine waits for the answer. It is the goroutine of the waiting path, or one that sendAsync has started
//     because the pipe was full. It calls Lease.Call, or package rounds, which calls Lease.Call for each round.
//   - asyncCall.sendAsync: a call on the fast path, for whose answer no goroutine waits. It calls Lease.StartCall, on the goroutine that
//     has written the line of this call and of all that came with it (audit.GroupCommit). All these calls leave in one write (lines.Batch).
//   - Call.sendNotification: a notification. It calls Lease.Notify.
//   - Sender.RelayAboutTask: a request about a task that the session has already. It calls Lease.Call.

// sendAllowed has the child do what was let through and recorded, and brings its answer
// back as it is.
func (c *Call) sendAllowed(ctx context.Context, att *attempt, ticket record.Ticket) (jsonrpc.Answer, error) {
	s, sent, turn := c.sender, &c.sent, c.turn
	c.turn = nil // if it is judged again it takes another one
	defer turn.End()
	*sent = sentCall{s: s, target: c.target, attempt: att, verdict: att.verdict, lease: att.lease, ticket: ticket}
	sent.enterInFlight(Requester{att.client, att}, c.token)
	defer sent.giveBack(errBroken)
	c.splicing.traceForChild = ticket.BeginClientSpan(c.splicing.carrier.Context, att.lease.Protocol())
	a, err := sent.awaitAnswer(sent.context(ctx))
	if err == nil {
		a = sent.settleAnswer(ctx, a, sent.recordAnswer(a))
		sent.giveBack(nil)
		return a, nil
	}
	for _, told := range sent.giveBack(err) {
		<-told
	}
	if late, ok := errors.AsType[*deniedError](err); ok {
		att.verdict, att.roots, att.lease = late.verdict, late.view, sent.lease
		ticket.RecordOutcome(audit.ResultError)                  // the child has it, and did not get what it asked for
		_, _ = c.recordDecision(context.WithoutCancel(ctx), att) // a second line: what was sent had one
		return c.denyCall(att)
	}
	ticket.RecordOutcome(failure.Outcome(err))
	turn.End() // a person may take minutes to log in
	if !c.loginOffered {
		if err = s.logIn(ctx, att.conf, att.child, err); err == nil {
			c.loginOffered = true
			return c.JudgeAndSend(ctx) // its server has refused it without looking at it
		}
	}
	return c.target.failRequest(ctx, &failure.SentError{Err: err}), nil
}

// sendNotification works like sendAllowed for a notification, which has no answer.
func (c *Call) sendNotification(ctx context.Context, att *attempt, ticket record.Ticket) jsonrpc.Answer {
	if err := att.lease.Notify(ctx, c.target.requestMethod(), c.childParams(nil, nil)...); err != nil {
		ticket.RecordOutcome(failure.Outcome(err))
		return c.target.failRequest(ctx, err)
	}
	ticket.RecordOutcome(audit.ResultOK)
	return jsonrpc.Answer{}
}

// A request of the client that is with a child, and all of them.
type (
	OpenRequest  = inflight.OpenRequest[Requester]
	OpenRequests = inflight.OpenRequests[Requester]
)

// Requester is the client that made a request, and the attempt that allowed it.
type Requester struct {
	client.Client
	judged *attempt // nil: none, it was judged no more
}

// RelayAboutTask sends a request about what the session has already, with edits of its params:
// it is judged no more. With an error, the child did not answer.
func (s *Sender) RelayAboutTask(ctx context.Context, lease *children.Lease, m *jsonrpc.Message, edits []jsonrpc.Edit) (jsonrpc.Answer, error) {
	r, timing, sent := splicingOf(m, nil, ""), client.RequestOf(ctx).Timing, &sentCall{s: s, lease: lease}
	sent.enterInFlight(Requester{Client: s.ClientOf(ctx)}, r.token)
	defer sent.giveBack(errBroken)
	r.traceForChild = timing.BeginClientSpan(r.traceForChild, lease.Protocol())
	edits = append(edits, r.traceEdit(sent.hubToken))
	resp, err := lease.Call(sent.context(ctx), m.Method, jsonrpc.Splice(m.Params, edits...)...)
	if err != nil {
		for _, told := range sent.giveBack(err) {
			<-told
		}
		timing.EndServerTime(failure.Outcome(err), nil)
		return failure.AnswerRequest(ctx, sent.inFlight.Key.Child, m.Method, &failure.SentError{Err: err}), err
	}
	timing.EndServerTime(record.Result(resp.Result, resp.Error), resp.Error)
	a := sent.client().Answer(lease, m.Method, resp)
	sent.giveBack(nil)
	return a, nil
}
