package hub

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"mcphub/children"
	"mcphub/hub/approval"
	"mcphub/hub/catalog"
	"mcphub/hub/configuration"
	"mcphub/hub/record"
	"mcphub/internal/jsonrpc"
	"mcphub/rootsmgr"
	"mcphub/validate"
)

// A requestTarget is a request for one child that is no call of a tool: it is
// refused with an error instead of a result.
type requestTarget struct {
	gen   *configuration.Configuration
	child string
	name  string // the method
	// look finds what is to be judged, by these templates of the child.
	look      func(templates []string) (*validate.Scan, error)
	templates []string
	follows   bool // look depends on them
	// before, where set, is called with the right to call the instance that is sent
	// the request, and then nothing is sent where it returns an error.
	before func(*children.Lease) error
	// unaskable says why nobody is asked where a rule escalates the request; "" where
	// a person is.
	unaskable string
}

func (t *requestTarget) owner() (*configuration.Configuration, string) { return t.gen, t.child }

func (t *requestTarget) method() string { return t.name }

func (t *requestTarget) subject() record.Subject {
	return record.Subject{Method: t.name, Child: t.child}
}

func (t *requestTarget) asked(c *Call) approval.Request {
	params := jsonrpc.Join(c.params(nil, nil))
	return approval.Request{Name: t.name, Args: params, Digest: approval.DigestOf([]byte(t.name), nil, params), Unaskable: t.unaskable}
}

func (t *requestTarget) anew() {}

func (t *requestTarget) renew(context.Context, *Session) error { return nil }

func (t *requestTarget) scan(context.Context, *Call) (*validate.Scan, error) {
	return t.look(t.templates)
}

// fits reports whether the child of a lease has the templates by which the request
// was scanned: they may have been remembered.
func (t *requestTarget) fits(_ *Call, lease *children.Lease) error {
	if !t.follows {
		return nil
	}
	now := catalog.TemplatesOf(lease.Offer())
	if slices.Equal(now, t.templates) {
		return nil
	}
	t.templates = now
	return errRestless
}

func (t *requestTarget) mayGo(lease *children.Lease) error {
	if t.before == nil {
		return nil
	}
	return t.before(lease)
}

func (t *requestTarget) settle(_ context.Context, _ *Session, _ *children.Lease, a jsonrpc.Answer, drop func()) jsonrpc.Answer {
	drop()
	return a
}

func (t *requestTarget) deny(j *judgement) jsonrpc.Answer {
	return jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidParams, j.denial(""))
}

func (t *requestTarget) refuse(ctx context.Context, err error) jsonrpc.Answer {
	return noAnswer(ctx, t.child, t.name, err)
}

func (t *requestTarget) edits(*Session, *validate.Verdict) []jsonrpc.Edit { return nil }

// noAnswer answers a request that was not judged, or that the child did not
// answer.
func noAnswer(ctx context.Context, child, method string, err error) jsonrpc.Answer {
	var args *validate.ArgumentsError
	var down *children.UnavailableError
	var unrecorded *record.UnrecordedError
	switch {
	case errors.As(err, &unrecorded):
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInternal, err.Error())
	case errors.As(err, &args):
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidParams, "refused: "+err.Error())
	case ctx.Err() != nil, errors.Is(err, rootsmgr.ErrClosed):
		return gone(ctx, err)
	case errors.As(err, &down):
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInternal, down.Error())
	}
	return jsonrpc.ErrorAnswer(jsonrpc.CodeInternal, fmt.Sprintf("the server %q did not answer %s: %s", child, method, err))
}
