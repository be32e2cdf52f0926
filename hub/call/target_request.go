package call

import (
	"context"
	"slices"

	"mcphub/children"
	"mcphub/children/offers"
	"mcphub/hub/approval"
	"mcphub/hub/catalog"
	"mcphub/hub/configuration"
	"mcphub/hub/failure"
	"mcphub/hub/record"
	"mcphub/internal/jsonrpc"
	"mcphub/validate"
)

// A requestTarget is a request for one child that is no call of a tool: it is
// refused with an error instead of a result.
type requestTarget struct {
	conf   *configuration.Configuration
	child  string
	method string // the method
	prompt string // its own name; "" if it is of none
	// listed is what the child has listed of a kind, by its own name or URI; "" if the
	// request is about nothing that is on a list.
	listed string
	kind   offers.ListKind
	// scanWith finds what is to be judged, by these templates of the child.
	scanWith      func(templates []string) (*validate.Scan, error)
	templates     []string
	usesTemplates bool // what scanWith finds depends on the child's templates: see checkDefinition
	// before, where set, is called with the right to call the instance that is sent
	// the request, and then nothing is sent if it returns an error.
	before func(*children.Lease) error
	// unaskable reports why no one is asked if a rule escalates the request; "" if a
	// person is.
	unaskable string
}

// sendRequest sends m to a target, with ownName instead of quoted, the client's name for it.
// It returns the answer and the error of Call.JudgeAndSend.
func (s *Sender) sendRequest(ctx context.Context, m *jsonrpc.Message, quoted []byte, ownName string, t *requestTarget) (jsonrpc.Answer, error) {
	c := &Call{sender: s, progressToken: progressTokenOf(m), splicing: splicingOf(m, quoted, ownName), target: t}
	return c.JudgeAndSend(ctx)
}

func (t *requestTarget) ownerChild() (*configuration.Configuration, string) { return t.conf, t.child }

func (t *requestTarget) requestMethod() string { return t.method }

func (t *requestTarget) recordSubject() record.Subject {
	return record.Subject{Method: t.method, Child: t.child, Prompt: t.prompt}
}

func (t *requestTarget) approvalRequest(c *Call) approval.EscalatedRequest {
	params := jsonrpc.Join(c.childParams(nil, nil))
	return approval.EscalatedRequest{Name: t.method, Args: params, Digest: approval.DigestOf([]byte(t.method), nil, params), Unaskable: t.unaskable}
}

func (t *requestTarget) resetTarget() {}

func (t *requestTarget) renewTarget(context.Context, *Sender) error { return nil }

func (t *requestTarget) scanArguments(context.Context, *Call) (*validate.Scan, error) {
	return t.scanWith(t.templates)
}

// checkDefinition returns an error unless the child of a lease has the templates by which the request
// was scanned: those may have been remembered.
func (t *requestTarget) checkDefinition(_ *Call, lease *children.Lease) error {
	if !t.usesTemplates {
		return nil
	}
	now := catalog.TemplatesOf(lease.Offer())
	if slices.Equal(now, t.templates) {
		return nil
	}
	t.templates = now
	return errUnstable
}

func (t *requestTarget) beforeSend(lease *children.Lease) error {
	if t.before == nil {
		return nil
	}
	return t.before(lease)
}

func (t *requestTarget) listEntry() (offers.ListKind, string) { return t.kind, t.listed }

func (t *requestTarget) denyAttempt(att *attempt) jsonrpc.Answer {
	return jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidParams, att.denialText(""))
}

func (t *requestTarget) failRequest(ctx context.Context, err error) jsonrpc.Answer {
	return failure.AnswerRequest(ctx, t.child, t.method, err)
}

func (t *requestTarget) pathEdits(*Sender, *validate.Verdict) []jsonrpc.Edit { return nil }
