package call

import (
	"context"
	"strings"
	"time"

	"mcphub/hub/approval"
	"mcphub/hub/client"
	"mcphub/hub/record"
	"mcphub/internal/audit"
	"mcphub/internal/principal"
	"mcphub/internal/printable"
)

// This file has a person asked about a Call that a rule escalates.

// askApproval asks a person about a call that a rule escalates. It returns the last attempt. If the
// person allowed the call, that attempt was judged with the approval, and the approval is used up.
// Otherwise its refusal reports why not. The caller ends the approval with the call.
func (c *Call) askApproval(ctx context.Context, att *attempt) (*attempt, error) {
	e := &approvalCaller{c, att}
	refusal, err := c.sender.Approvals.Ask(ctx, c.approvalRequest(), e.last.forApproval(), e)
	if err != nil {
		return nil, err
	}
	if e.last.whyUnapproved = refusal; refusal == "" && e.last.approval != nil {
		// The digest is made again, of what is sent.
		if err := e.last.approval.Spend(c.approvalRequest().Digest, time.Now()); err != nil {
			e.last.whyUnapproved = err.Error()
		}
	}
	return e.last, nil
}

// approvalRequest returns the call as a person is asked about it.
func (c *Call) approvalRequest() *approval.Request {
	_, child := c.target.ownerChild()
	r := c.target.approvalRequest(c)
	r.Digest = approval.DigestOf([]byte(c.sender.ID), []byte(child), r.Digest[:])
	return &r
}

// approvalCaller is the Caller of a call.
type approvalCaller struct {
	call *Call
	last *attempt // the last one
}

// forApproval returns what a question goes by.
func (att *attempt) forApproval() *approval.Judgement {
	return &approval.Judgement{
		Child: &att.conf.Child(att.child).Spec, Checker: att.conf.Checker, Verdict: att.verdict, View: *att.relevantRoots(), StartLimit: att.conf.StartLimit(att.child),
	}
}

func (e *approvalCaller) Judge(ctx context.Context, a *approval.Approval) (*approval.Judgement, error) {
	e.call.approval = a
	e.call.target.resetTarget()
	att, err := e.call.prepareAttempt(ctx)
	if err != nil {
		return nil, err
	}
	e.last = att
	return e.last.forApproval(), nil
}

func (e *approvalCaller) Release(context.Context) {
	e.last.lease.Release()
	e.last.client.YieldChild()
}

func (e *approvalCaller) Waiting(ctx context.Context, what string) (over func()) {
	return client.RequestOf(ctx).Notice.Waiting(func() string { return what })
}

// Asker returns all whom approval.from names and who can be asked: of clients, one that can
// show a form.
func (e *approvalCaller) Asker(context.Context) approval.Asker {
	s := e.call.sender
	c := e.last.client
	caps := c.Claims()
	named := *s.Current.InForce().Approval.From
	may := named
	may.Client = may.Client && caps.Can.Form
	var all []approval.Asker
	if may.Client {
		all = append(all, client.Asker{To: c})
	}
	if may.Terminal || may.Console {
		from := s.Asking
		from.Session, from.Client, from.Token = s.ID[:8], printable.Escape(strings.TrimSpace(caps.Name+" "+caps.Version), 60), s.Principal.Key()
		all = append(all, s.Terminal.Asker(from, may, s.Current.InForce().Approval.Quiet, s.Log))
	}
	if len(all) == 0 {
		return approval.Nobody{From: named}
	}
	return approval.AskAll(all...)
}

// AwaitServed waits until the session's children have been given the grants of a
// version, or newer ones. Being given is not having applied them, which Acquire
// waits for. After the timeout of the roots the hub alone judges.
func (e *approvalCaller) AwaitServed(ctx context.Context, version uint64) error {
	return e.call.sender.Instances.AwaitGrants(ctx, max(e.last.conf.Roots.Timeout, 0), version)
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
func (e *approvalCaller) Record(ctx context.Context, ev *approval.Event) {
	q := record.Question{What: ev.What, Why: ev.Why, By: ev.By}
	if ev.What != approval.EventAsked {
		q.Approver = e.call.sender.approverName(ev.By)
	}
	for _, g := range ev.Granted {
		opened := audit.Granted{Directory: g.Path, Roles: g.Roles.String()}
		if g.File {
			opened.File, opened.Directory = g.Path, ""
		}
		q.Granted = append(q.Granted, opened)
	}
	e.call.sender.Records.WriteQuestion(ctx, client.RequestOf(ctx).Record, e.call.target.recordSubject(), e.last.recordedDecision(), q)
}
