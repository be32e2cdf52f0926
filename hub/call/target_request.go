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
	call := &Call{sender: s, progressToken: progressTokenOf(m), splicing: splicingOf(m, quoted, ownName), target: t}
	return call.JudgeAndSend(ctx)
}

func (request *requestTarget) ownerChild() (*configuration.Configuration, string) {
	return request.conf, request.child
}

func (request *requestTarget) requestMethod() string { return request.method }

func (request *requestTarget) recordSubject() record.Subject {
	return record.Subject{Method: request.method, Child: request.child, Prompt: request.prompt}
}

func (request *requestTarget) approvalRequest(call *Call) approval.EscalatedRequest {
	params := jsonrpc.Join(call.childParams(nil, nil))
	return approval.EscalatedRequest{Name: request.method, Args: params, Digest: approval.DigestOf([]byte(request.method), nil, params), Unaskable: request.unaskable}
}

func (request *requestTarget) resetTarget() {}

func (request *requestTarget) renewTarget(context.Context, *Sender) error { return nil }

func (request *requestTarget) scanArguments(context.Context, *Call) (*validate.Scan, error) {
	return request.scanWith(request.templates)
}

// checkDefinition returns an error unless the child of a lease has the templates by which the request
// was scanned: those may have been remembered.
func (request *requestTarget) checkDefinition(_ *Call, lease *children.Lease) error {
	if !request.usesTemplates {
		return nil
	}
	now := catalog.TemplatesOf(lease.Offer())
	if slices.Equal(now, request.templates) {
		return nil
	}
	request.templates = now
	return errUnstable
}

func (request *requestTarget) beforeSend(lease *children.Lease) error {
	if request.before == nil {
		return nil
	}
	return request.before(lease)
}

func (request *requestTarget) listEntry() (offers.ListKind, string) {
	return request.kind, request.listed
}

func (request *requestTarget) denyAttempt(att *attempt) jsonrpc.Answer {
	return jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidParams, att.denialText(""))
}

func (request *requestTarget) failRequest(ctx context.Context, err error) jsonrpc.Answer {
	return failure.AnswerRequest(ctx, request.child, request.method, err)
}

func (request *requestTarget) pathEdits(*Sender, *validate.Verdict) []jsonrpc.Edit { return nil }
