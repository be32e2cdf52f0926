package call

import (
	"bytes"
	"context"
	"errors"

	"mcphub/children"
	"mcphub/hub/audit"
	"mcphub/hub/client"
	"mcphub/hub/failure"
	"mcphub/hub/inflight"
	"mcphub/hub/record"
	"mcphub/hub/rounds"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/jsonrpc/lines"
	"mcphub/internal/methods"
)

// In this file a request of a client leaves the hub for its child. It is sent by a lease, whose methods (children/lease.go) lead
// to the connection of the process that runs now. Each request but the ones of RelayAboutTask was judged before, and
// recorded if there is a record.
//
//   - allowedCall.sendAndAwait: a goroutine waits for the answer. It is the goroutine of the waiting path, or one that sendAsync has started
//     because the pipe was full. It calls Lease.Call, or package rounds, which calls Lease.Call for each round.
//   - fastCall.sendAsync: a call on the fast path, which holds no goroutine of its own. It calls Lease.StartCall, on the goroutine that
//     has written the line of this call and of all that came with it (audit.GroupCommit). All these calls leave in one write (lines.Batch).
//   - Call.sendNotification: a notification. It calls Lease.Notify.
//   - Sender.RelayAboutTask: a request about a task that the session has already. It calls Lease.Call.

// sendAllowed has the child do what was let through and recorded, and returns the answer as
// allowedCall.settleAnswer has it.
func (call *Call) sendAllowed(ctx context.Context, att *attempt, ticket record.Ticket) (jsonrpc.Answer, error) {
	s, allowed, serverTurn := call.sender, &call.allowed, call.serverTurn
	call.serverTurn = nil // if it is judged again it takes another one
	defer serverTurn.End()
	*allowed = allowedCall{sender: s, target: call.target, attempt: att, verdict: att.verdict, lease: att.lease, ticket: ticket}
	allowed.enterInFlight(Requester{att.client, att}, call.progressToken)
	defer allowed.releaseCall(errBroken)
	call.splicing.traceForChild = ticket.BeginClientSpan(call.splicing.carrier.Context, att.lease.Protocol())
	answer, err := allowed.sendAndAwait(allowed.childContext(ctx))
	if err == nil {
		answer = allowed.settleAnswer(ctx, answer, allowed.recordAnswer(answer))
		allowed.releaseCall(nil)
		return answer, nil
	}
	for _, noticeSent := range allowed.releaseCall(err) {
		<-noticeSent
	}
	if late, ok := errors.AsType[*deniedError](err); ok {
		att.verdict, att.roots, att.lease = late.verdict, late.rootsView, allowed.lease
		ticket.RecordOutcome(audit.ResultError)                     // the child has it, and did not get what it asked for
		_, _ = call.recordDecision(context.WithoutCancel(ctx), att) // a second line: what was sent had one
		return call.denyCall(att)
	}
	ticket.RecordOutcome(failure.Outcome(err))
	serverTurn.End() // a person may take minutes to log in
	if !call.loginOffered {
		if err = s.logIn(ctx, att.conf, att.child, err); err == nil {
			call.loginOffered = true
			return call.JudgeAndSend(ctx) // its server has refused it without looking at it
		}
	}
	return call.target.failRequest(ctx, &failure.SentError{Err: err}), nil
}

// sendAsync sends the call, unless no caller waits for it any more. If there is no room for it at
// once, a goroutine waits. If the call is given up while it is being sent, OnCancel calls Abandon at
// once.
func (fast *fastCall) sendAsync(b *lines.Batch, params [][]byte) {
	if cause := fast.receiver.Cause(); cause != nil {
		fast.endCall(jsonrpc.Answer{}, cause)
		return
	}
	pooled, asksAgain := fast.pooled, fast.body != nil
	if !asksAgain {
		fast.pooled = nil
	}
	fast.wasSent = true
	fast.timing.StartServerTime(fast.lease.Protocol())
	fast.startedAsync = fast.lease.StartCall(&fast.childCall, fast, b, methods.CallTool, fast.hubProgressToken, params...)
	if !fast.startedAsync {
		fast.body = jsonrpc.Join(params)
		fast.makeContext()
	}
	fast.receiver.OnCancel(fast)
	if !fast.startedAsync {
		go fast.awaitAndEnd(func() (jsonrpc.Answer, error) { return fast.allowedCall.sendAndAwait(fast.ctx) })
	}
	if !asksAgain {
		pooled.freeCall()
	}
}

// Abandon gives up a call that is with the child, or waits to be.
func (fast *fastCall) Abandon(cause error) {
	if fast.cancel != nil {
		fast.cancel(cause)
	}
	if fast.startedAsync {
		fast.childCall.Abandon(cause)
	}
}

// OnResponse takes the answer of the child, on its read loop, behind all progress of
// the call. If the child asks for more, a goroutine goes on.
func (fast *fastCall) OnResponse(res *jsonrpc.Response, err error) {
	switch {
	case err != nil:
		fast.endCall(jsonrpc.Answer{}, err)
	case fast.body != nil && res.Error == nil && rounds.AsksForInput(res.Result):
		result := bytes.Clone(res.Result)
		res.Release()
		go fast.awaitAndEnd(func() (jsonrpc.Answer, error) {
			return rounds.Continue(fast.ctx, fast, fast.client(), methods.CallTool, result)
		})
	default:
		answer := fast.ShapeAnswer(res)
		todo := fast.recordAnswer(answer)
		if todo == (followUp{}) {
			fast.endCall(answer, nil)
			return
		}
		answer.Detach()
		go fast.settleAndEnd(answer, todo)
	}
}

// awaitAndEnd ends the call with what answer returns. It is for a goroutine.
func (fast *fastCall) awaitAndEnd(answer func() (jsonrpc.Answer, error)) {
	fast.guardPanic(func() {
		answer, err := answer()
		if err == nil {
			answer = fast.settleAnswer(fast.ctx, answer, fast.recordAnswer(answer))
		}
		fast.endCall(answer, err)
	})
}

// settleAndEnd ends the call with what settleAnswer returns. It is for a goroutine.
func (fast *fastCall) settleAndEnd(answer jsonrpc.Answer, todo followUp) {
	ctx := fast.ctx
	if ctx == nil {
		ctx = context.Background()
	}
	fast.guardPanic(func() { fast.endCall(fast.settleAnswer(ctx, answer, todo), nil) })
}

// guardPanic ends the call if f panics.
func (fast *fastCall) guardPanic(f func()) {
	if !jsonrpc.Guard(fast.sender.Log, &jsonrpc.Message{Method: methods.CallTool, ID: []byte{'0'}}, f) {
		fast.endCall(jsonrpc.Answer{}, errBroken)
	}
}

// endCall is the one end of a call: it gives back what the call holds, and has it answered. err is why there is no
// answer of the child. The client is told about the end of what was asked on account of the call first. Only the
// first end counts. After a panic another goroutine may still use the attempt, so it is not used again.
func (fast *fastCall) endCall(answer jsonrpc.Answer, err error) {
	if fast.ended.Swap(true) {
		return
	}
	if err != nil {
		asSentError := func(err error) error { return err }
		if fast.wasSent {
			asSentError = func(err error) error { return &failure.SentError{Err: err} }
		}
		answer = fast.target.failRequest(context.Background(), asSentError(err))
		fast.resultWord = record.ResultWord(answer.Result, answer.Error)
		if gone := fast.receiver.Cause(); gone != nil {
			answer = failure.AnswerEnded(context.Background(), asSentError(gone))
			fast.resultWord = audit.ResultCancelled
		}
		fast.ticket.RecordOutcome(failure.Outcome(err))
	}
	fast.timing.EndRequest(methods.CallTool, fast.resultWord, answer.Error)
	notices := fast.releaseCall(err)
	if fast.cancel != nil {
		fast.cancel(nil)
	}
	if fast.pooled != nil && err != errBroken && err != audit.ErrGroup {
		fast.pooled.freeCall()
		fast.pooled = nil
	}
	if len(notices) == 0 {
		fast.receiver.Answer(answer)
		return
	}
	go func() {
		for _, noticeSent := range notices {
			<-noticeSent
		}
		fast.receiver.Answer(answer)
	}()
}

// sendNotification works like sendAllowed for a notification, which has no answer.
func (call *Call) sendNotification(ctx context.Context, att *attempt, ticket record.Ticket) jsonrpc.Answer {
	if err := att.lease.Notify(ctx, call.target.requestMethod(), call.childParams(nil, nil)...); err != nil {
		ticket.RecordOutcome(failure.Outcome(err))
		return call.target.failRequest(ctx, err)
	}
	ticket.RecordOutcome(audit.ResultOK)
	return jsonrpc.Answer{}
}

// A request of the client that is with a child, and all of them.
type (
	OpenRequest  = inflight.OpenRequest[Requester]
	OpenRequests = inflight.OpenRequests[Requester]
)

// A Requester is the client that made a request, and the attempt that allowed it.
type Requester struct {
	client.Client
	attempt *attempt // nil: none, it was judged no more
}

// RelayAboutTask sends a request about what the session has already, with edits of its params:
// it is judged no more. With an error, the child did not answer.
func (s *Sender) RelayAboutTask(ctx context.Context, lease *children.Lease, m *jsonrpc.Message, edits []jsonrpc.Edit) (jsonrpc.Answer, error) {
	r, timing, allowed := splicingOf(m, nil, ""), client.RequestOf(ctx).Timing, &allowedCall{sender: s, lease: lease}
	allowed.enterInFlight(Requester{Client: s.ClientOf(ctx)}, r.progressToken)
	defer allowed.releaseCall(errBroken)
	r.traceForChild = timing.BeginClientSpan(r.traceForChild, lease.Protocol())
	edits = append(edits, r.traceEdit(allowed.hubProgressToken))
	resp, err := lease.Call(allowed.childContext(ctx), m.Method, jsonrpc.Splice(m.Params, edits...)...)
	if err != nil {
		for _, noticeSent := range allowed.releaseCall(err) {
			<-noticeSent
		}
		timing.EndServerTime(failure.Outcome(err), nil)
		return failure.AnswerRequest(ctx, allowed.inFlight.Key.Child, m.Method, &failure.SentError{Err: err}), err
	}
	timing.EndServerTime(record.ResultWord(resp.Result, resp.Error), resp.Error)
	answer := allowed.client().ShapeAnswer(lease, m.Method, resp)
	allowed.releaseCall(nil)
	return answer, nil
}
