package call

import (
	"context"
	"strings"
	"time"

	"mcphub/hub/approval"
	"mcphub/hub/audit"
	"mcphub/hub/client"
	"mcphub/hub/record"
	"mcphub/internal/principal"
	"mcphub/internal/printable"
)

// This file has a person asked about a Call that a rule escalates.

// askApproval asks a person about a call that a rule escalates. It returns the last attempt. If the
// person allowed the call, that attempt was judged with the approval, and the approval is used up.
// Otherwise its refusal reports why not. The caller ends the approval with the call.
func (call *Call) askApproval(ctx context.Context, att *attempt) (*attempt, error) {
	owner := &approvalOwner{call, att}
	refusal, err := call.sender.Approvals.Ask(ctx, call.approvalRequest(), owner.last.approvalJudgement(), owner)
	if err != nil {
		return nil, err
	}
	if owner.last.whyUnapproved = refusal; refusal == "" && owner.last.approval != nil {
		// The digest is made again, of what is sent.
		if err := owner.last.approval.Spend(call.approvalRequest().Digest, time.Now()); err != nil {
			owner.last.whyUnapproved = err.Error()
		}
	}
	return owner.last, nil
}

// approvalRequest returns the call as a person is asked about it.
func (call *Call) approvalRequest() *approval.EscalatedRequest {
	_, child := call.target.ownerChild()
	r := call.target.approvalRequest(call)
	r.Digest = approval.DigestOf([]byte(call.sender.ID), []byte(child), r.Digest[:])
	return &r
}

// approvalOwner is a call as the [approval.RequestOwner] of its request.
type approvalOwner struct {
	call *Call
	last *attempt // the last one
}

// approvalJudgement returns what a question goes by.
func (att *attempt) approvalJudgement() *approval.Judgement {
	return &approval.Judgement{
		Child: &att.conf.Child(att.child).Spec, Checker: att.conf.Checker, Verdict: att.verdict, RootsView: *att.relevantRoots(), StartLimit: att.conf.StartLimit(att.child),
	}
}

func (owner *approvalOwner) Judge(ctx context.Context, a *approval.Approval) (*approval.Judgement, error) {
	owner.call.approval = a
	owner.call.target.resetTarget()
	att, err := owner.call.judgeWithRetries(ctx)
	if err != nil {
		return nil, err
	}
	owner.last = att
	return owner.last.approvalJudgement(), nil
}

func (owner *approvalOwner) Release(context.Context) {
	owner.last.lease.Release()
	owner.last.client.YieldChild()
}

func (owner *approvalOwner) Waiting(ctx context.Context, what string) (endNotice func()) {
	return client.RequestOf(ctx).Notice.Waiting(func() string { return what })
}

// Asker returns all whom approval.from names and who can be asked: of clients, one that can
// show a form.
func (owner *approvalOwner) Asker(context.Context) approval.Asker {
	s := owner.call.sender
	c := owner.last.client
	caps := c.Claims()
	named := *s.Current.InForce().Approval.From
	may := named
	may.Client = may.Client && caps.Can.Form
	var askers []approval.Asker
	if may.Client {
		askers = append(askers, client.Asker{To: c})
	}
	if may.Terminal || may.Console {
		from := s.Asking
		from.Session, from.Client, from.Token = s.ID[:8], printable.Escape(strings.TrimSpace(caps.Name+" "+caps.Version), 60), s.Principal.Key()
		askers = append(askers, s.Terminal.Asker(from, may, s.Current.InForce().Approval.Quiet, s.Log))
	}
	if len(askers) == 0 {
		return approval.Nobody{From: named}
	}
	return approval.AskAll(askers...)
}

// AwaitServed waits until the session's children have been given the grants of a
// version, or newer ones. Being given is not having applied them, which Acquire
// waits for. After the timeout of the roots the hub alone judges.
func (owner *approvalOwner) AwaitServed(ctx context.Context, version uint64) error {
	return owner.call.sender.Instances.AwaitGrants(ctx, max(owner.last.conf.Roots.Timeout, 0), version)
}

// approverName returns the name of the person who has answered: of whose session it is, or of the account of the user of this machine.
func (s *Sender) approverName(by string) string {
	switch by {
	case approval.AskedClient:
		if !s.Principal.Local {
			return s.Principal.String()
		}
		return principal.Account()
	case approval.AskedTerminal, approval.AskedConsole:
		return principal.Account()
	}
	return ""
}

// Record writes a line of its own about a question.
func (owner *approvalOwner) Record(ctx context.Context, ev *approval.QuestionEvent) {
	q := record.QuestionFields{What: ev.What, Why: ev.Why, By: ev.By}
	if ev.What != approval.EventAsked {
		q.Approver = owner.call.sender.approverName(ev.By)
	}
	for _, g := range ev.Granted {
		opened := audit.Granted{Directory: g.Path, Roles: g.Roles.String()}
		if g.File {
			opened.File, opened.Directory = g.Path, ""
		}
		q.Granted = append(q.Granted, opened)
	}
	owner.call.sender.Records.WriteQuestion(ctx, client.RequestOf(ctx).Record, owner.call.target.recordSubject(), owner.last.recordedDecision(), q)
}
