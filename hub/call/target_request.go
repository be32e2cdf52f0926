package call

import (
	"context"
	"slices"

	"mcphub/children"
	"mcphub/hub/approval"
	"mcphub/hub/catalog"
	"mcphub/hub/configuration"
	"mcphub/hub/failure"
	"mcphub/hub/record"
	"mcphub/internal/jsonrpc"
	"mcphub/validate"
)

// A RequestTarget is a request for one child that is no call of a tool: it is
// refused with an error instead of a result.
type RequestTarget struct {
	By     *configuration.Configuration
	Child  string
	Method string // the method
	// Scan finds what is to be judged, by these templates of the child.
	Scan      func(templates []string) (*validate.Scan, error)
	Templates []string
	Follows   bool // what Scan finds depends on the roots
	// Before, where set, is called with the right to call the instance that is sent
	// the request, and then nothing is sent where it returns an error.
	Before func(*children.Lease) error
	// Unaskable says why nobody is asked where a rule escalates the request; "" where
	// a person is.
	Unaskable string
}

func (t *RequestTarget) owner() (*configuration.Configuration, string) { return t.By, t.Child }

func (t *RequestTarget) method() string { return t.Method }

func (t *RequestTarget) subject() record.Subject {
	return record.Subject{Method: t.Method, Child: t.Child}
}

func (t *RequestTarget) asked(c *Call) approval.Request {
	params := jsonrpc.Join(c.params(nil, nil))
	return approval.Request{Name: t.Method, Args: params, Digest: approval.DigestOf([]byte(t.Method), nil, params), Unaskable: t.Unaskable}
}

func (t *RequestTarget) reset() {}

func (t *RequestTarget) renew(context.Context, *Session) error { return nil }

func (t *RequestTarget) scan(context.Context, *Call) (*validate.Scan, error) {
	return t.Scan(t.Templates)
}

// fits reports whether the child of a lease has the templates by which the request
// was scanned: they may have been remembered.
func (t *RequestTarget) fits(_ *Call, lease *children.Lease) error {
	if !t.Follows {
		return nil
	}
	now := catalog.TemplatesOf(lease.Offer())
	if slices.Equal(now, t.Templates) {
		return nil
	}
	t.Templates = now
	return errRestless
}

func (t *RequestTarget) mayGo(lease *children.Lease) error {
	if t.Before == nil {
		return nil
	}
	return t.Before(lease)
}

func (t *RequestTarget) settle(_ context.Context, _ *Session, _ *children.Lease, a jsonrpc.Answer, drop func()) jsonrpc.Answer {
	drop()
	return a
}

func (t *RequestTarget) deny(j *attempt) jsonrpc.Answer {
	return jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidParams, j.text(""))
}

func (t *RequestTarget) fail(ctx context.Context, err error) jsonrpc.Answer {
	return failure.OfRequest(ctx, t.Child, t.Method, err)
}

func (t *RequestTarget) edits(*Session, *validate.Verdict) []jsonrpc.Edit { return nil }
