package call

import (
	"context"
	"errors"

	"mcphub/children"
	"mcphub/children/offers"
	"mcphub/hub/approval"
	"mcphub/hub/audit"
	"mcphub/hub/client"
	"mcphub/hub/configuration"
	"mcphub/hub/failure"
	"mcphub/hub/record"
	"mcphub/hub/tracing"
	"mcphub/hub/turns"
	"mcphub/internal/jsonrpc"
	"mcphub/rootsmgr"
	"mcphub/validate"
	"mcphub/validate/policy"
)

// A Call is one thing that a client asks of a child: a tool, a prompt, a resource,
// a completion, a subscription, something of an extension. Whatever it is, it takes
// the same steps, each of which has one body: see doc.go.
type Call struct {
	sender        *Sender
	target        callTarget
	progressToken []byte // the client's progress token, raw; nil when it gave none
	notification  bool   // it is a notification: nothing is answered
	// buildParams, if set, builds what the child is sent instead of the splicing: see
	// childParams.
	buildParams  func(own []byte, edits []jsonrpc.Edit) [][]byte
	splicing     splicing
	earlierScan  scanResult           // by an earlier attempt
	approval     *approval.Approval   // a person's, of this very call; nil: none
	serverTurn   *turns.ServerTurn    // at its server; nil: nothing bounds it, or it has none yet
	loginOffered bool                 // a login was offered on account of what its server answered
	rootsWait    *rootsmgr.WaitBudget // the time that it may wait for roots, over all attempts

	onFastPath   bool     // on the fast path: an attempt ends with errWouldBlock if it would have to wait
	spareAttempt *attempt // for the next attempt; nil: none

	allowed allowedCall // once it is let through
}

// scanResult is what an attempt found. It is of the very bytes that the call has.
type scanResult struct {
	tool *validate.Tool
	scan *validate.Scan
}

// A callTarget is what a Call asks for. Looking up its name has made it. The steps of the Call may replace what it
// holds by what the running child defines.
type callTarget interface {
	// ownerChild returns the configuration that the request is judged by, and the name of the child that it is for.
	ownerChild() (*configuration.Configuration, string)
	requestMethod() string
	recordSubject() record.Subject
	// approvalRequest returns how a person is asked about it. Its digest is of all that
	// would be sent.
	approvalRequest(call *Call) approval.EscalatedRequest
	// resetTarget goes back to what was looked up.
	resetTarget()
	// renewTarget finds it as the instance has it that serves the session now.
	renewTarget(ctx context.Context, s *Sender) error
	// scanArguments finds what is to be judged.
	scanArguments(ctx context.Context, call *Call) (*validate.Scan, error)
	// checkDefinition returns an error if the child of a lease defines it differently from what was scanned.
	// If scanning again may help, the error is an errScanAgain.
	checkDefinition(call *Call, lease *children.Lease) error
	// beforeSend is called after the decision is on record. If it returns an error, nothing is sent.
	beforeSend(lease *children.Lease) error
	// pathEdits returns what the verdict makes of the params.
	pathEdits(s *Sender, v *validate.Verdict) []jsonrpc.Edit
	// listEntry names what it is on a list of the child, by the child's own name; "" if it is on none.
	listEntry() (kind offers.ListKind, name string)
	// denyAttempt returns the answer to a request that was denied.
	denyAttempt(att *attempt) jsonrpc.Answer
	// failRequest returns the answer to a request that could not be judged or sent, or that the child has not answered.
	failRequest(ctx context.Context, err error) jsonrpc.Answer
}

// splicing rewrites the client's params for the child: quotedName, the client's name for
// something, becomes ownName, progressToken the hub's, and the context of a trace that of
// the hub's span, if there is one.
type splicing struct {
	raw, quotedName, progressToken []byte
	ownName                        string
	carrier                        tracing.Carrier // of the client's _meta
	traceForChild                  tracing.Context // what the child is told about a trace
}

// splicingOf is for the params of m, where quoted is what its child calls ownName. As much of a
// context as is valid is passed on.
func splicingOf(m *jsonrpc.Message, quoted []byte, ownName string) splicing {
	carrier := tracing.ParseMeta(m.Param("_meta"))
	return splicing{m.Params, quoted, progressTokenOf(m), ownName, carrier, carrier.Context}
}

// traceEdit returns the edit that _meta needs; hubToken is the hub's progress token, nil for none.
func (r *splicing) traceEdit(hubToken []byte) jsonrpc.Edit {
	return r.carrier.Edit(r.raw, r.progressToken, hubToken, r.traceForChild)
}

// childParams returns what the child is sent: the judged bytes, with the edits that
// the verdict made of them, and the hub's own progress token.
func (call *Call) childParams(hubToken []byte, edits []jsonrpc.Edit) [][]byte {
	if call.buildParams != nil {
		return call.buildParams(hubToken, edits)
	}
	r := &call.splicing
	edits = append(edits, jsonrpc.Edit{Old: r.quotedName, With: jsonrpc.AppendString(nil, r.ownName)}, r.traceEdit(hubToken))
	return jsonrpc.Splice(r.raw, edits...)
}

// progressTokenOf returns the progress token of a request, raw; nil if it has none.
func progressTokenOf(m *jsonrpc.Message) []byte {
	return jsonrpc.Get(m.Param("_meta"), "progressToken")
}

var (
	// errScanAgain means that nothing was sent, and that the target has to be scanned again.
	errScanAgain = errors.New("it has changed since it was looked at")
	// errUnstable is an errScanAgain too. Another process serves the session now, or the target is not defined as it
	// was when it was scanned. If that happens at every attempt, the client gets this text.
	errUnstable error = scanAgainError{errors.New("it changes what it offers again and again")}
	// errDenied comes with the answer to a request that was denied: see Call.JudgeAndSend.
	errDenied = errors.New("the request was denied")
)

// A scanAgainError is an errScanAgain with a text of its own.
type scanAgainError struct{ error }

func (scanAgainError) Is(target error) bool { return target == errScanAgain }
func (e scanAgainError) Unwrap() error      { return e.error }

// JudgeAndSend judges a call and, if it is allowed, sends it to the child. It always returns an answer. If the error is
// ErrSuperseded, a reload has replaced the child or the rules, and nothing was sent: the caller looks the name up again
// and makes the call again. If it is errDenied, the answer is a denial, or a refusal of the
// arguments, and the caller must not try another child.
func (call *Call) JudgeAndSend(ctx context.Context) (jsonrpc.Answer, error) {
	s, t := call.sender, call.target
	ctx = s.contextWithNotice(ctx, call.progressToken)
	t.resetTarget()
	call.approval = nil // one that a reload has overtaken was of other rules
	var err error
	defer func() { call.keepOrEndServerTurn(ctx, err) }()
	var att *attempt
	att, err = call.judgeUntilServerTurn(ctx)
	switch {
	case errors.Is(err, configuration.ErrSuperseded) && ctx.Err() == nil:
		return t.failRequest(ctx, err), configuration.ErrSuperseded
	case err != nil:
		kind := failure.KindOf(ctx, err)
		s.Records.WriteRefusal(ctx, client.RequestOf(ctx).Record, t.recordSubject(), kind.Code())
		if kind == failure.Arguments {
			return t.failRequest(ctx, err), errDenied
		}
		return t.failRequest(ctx, err), nil
	}
	defer s.Approvals.Done(att.approval)
	defer att.lease.Release()
	ticket, err := call.recordDecision(ctx, att)
	switch {
	case !att.isAllowed():
		return call.denyCall(att)
	case err != nil:
		return t.failRequest(ctx, err), nil
	}
	if err := t.beforeSend(att.lease); err != nil {
		ticket.RecordOutcome(audit.ResultNotSent)
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidParams, err.Error()), nil
	}
	if call.notification {
		return call.sendNotification(ctx, att, ticket), nil
	}
	return call.sendAllowed(ctx, att, ticket)
}

// judgeUntilServerTurn judges a call, has a person asked about it, and waits for its turn. A call that has waited is judged again: the roots,
// its child and the rules may be others by then. While it waits, for a person too, it holds neither a lease nor a turn. If judging it
// again has to wait, it takes another turn afterwards: see serverTurnKeeper.
func (call *Call) judgeUntilServerTurn(ctx context.Context) (*attempt, error) {
	for {
		att, err := call.judgeWithRetries(ctx)
		if err == nil && att.verdict.Decision == policy.Escalate {
			call.endServerTurn()
			serverTurnKeeperOf(ctx).endServerTurn()
			att, err = call.askApproval(ctx, att)
		}
		if err != nil || !att.isAllowed() || call.notification {
			return att, err
		}
		waited, err := call.ensureServerTurn(ctx, att)
		if err != nil {
			call.sender.Approvals.Done(att.approval)
			return nil, err
		}
		if !waited {
			return att, nil
		}
		call.keepServerTurn(ctx)
	}
}

func (call *Call) denyCall(att *attempt) (jsonrpc.Answer, error) {
	subject := call.target.recordSubject()
	call.sender.Log.Info().Str("child", subject.Child).Str("tool", subject.Tool).Str("method", call.target.requestMethod()).
		Str("rule", att.verdict.Rule).Uint64("generation", att.verdict.Generation).Msg("call denied")
	return call.target.denyAttempt(att), errDenied
}

// recordDecision writes the decision. If there is an error, nothing may be sent.
func (call *Call) recordDecision(ctx context.Context, att *attempt) (record.Ticket, error) {
	return call.sender.Records.WriteDecision(ctx, client.RequestOf(ctx).Record, call.target.recordSubject(), att.recordedDecision())
}
