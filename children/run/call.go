package run

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"mcphub/children/health"
	"mcphub/children/link"
	"mcphub/internal/jsonrpc"
)

// Notify sends a notification to the child.
func (r *Run) Notify(ctx context.Context, method string, params ...[]byte) error {
	if err := r.Link().Notify(ctx, method, params...); err != nil {
		return r.failureError(ctx, err)
	}
	return nil
}

// Call sends a request. params are parts of one raw JSON value, written one after the other. The
// error is the cause of ctx when that ended (the child is told), a *TimeoutError when nothing was
// heard for Spec.CallTimeout (progress that it reports for this call starts the time again), a
// *jsonrpc.BrokenError when its answer could not be read or is none of its protocol version, and an
// *UnavailableError when it is gone. An error object that the child answered with is no error: it is
// in the Response.
func (r *Run) Call(ctx context.Context, method string, params ...[]byte) (*jsonrpc.Response, error) {
	limit := max(0, r.spec.CallTimeout)
	if _, endless := ctx.Value(noTimeoutKey{}).(bool); endless {
		limit = 0
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var waiting health.WaitingCall
	r.Timers.Start(&waiting, limit, progressToken(ctx, params), health.ExpireFunc(func() {
		cancel(&TimeoutError{Child: r.spec.Name, Method: method, After: limit})
	}))
	defer r.Timers.End(&waiting)
	res, err := r.Link().Call(ctx, method, params...)
	if err != nil {
		return nil, r.failureError(ctx, err)
	}
	if ctx.Err() != nil { // cancelled before the answer came: the result must not depend on which is seen first
		res.Release()
		return nil, context.Cause(ctx)
	}
	return res, nil
}

// failureError turns an error of the link into one that reports what became of
// the child.
func (r *Run) failureError(ctx context.Context, err error) error {
	if _, ok := errors.AsType[*jsonrpc.BrokenError](err); ok {
		return err
	}
	if ctx.Err() != nil {
		// The call was cancelled; the child has not ended. The cause may be a closed
		// connection too, but a client's.
		return context.Cause(ctx)
	}
	var refused *link.StatusError
	var lost *link.LostError
	switch {
	case errors.As(err, &refused):
		return err
	case errors.As(err, &lost):
		// The connection is of no use any more. The next call makes another.
		r.cancel(err)
		r.endedWithin(r.spec.StopTimeout)
		return &UnavailableError{Child: r.spec.Name, Reason: err.Error() + "; the next call connects again", Err: err}
	}
	if !r.hung.Load() && !r.endedWithin(time.Second) {
		// The process lives on without its pipes, so this run is of no use any more.
		r.cancel(errDeafInput)
		r.endedWithin(r.spec.StopTimeout)
	}
	return r.goneError(err)
}

// goneError returns the error of a call whose run has ended.
func (r *Run) goneError(cause error) *UnavailableError {
	e := Unavailable(r.spec, cause.Error(), r.Facts().Stderr, cause)
	if closed, ok := errors.AsType[*jsonrpc.ClosedError](cause); ok {
		e.Unsent = closed.Unsent
	}
	switch {
	case r.hung.Load():
		e.Reason, e.Err = ErrHung.Error()+"; the next call starts it again", ErrHung
	case r.HasEnded():
		e.Reason = "was stopped during the call"
		if r.err != nil {
			e.Reason, e.Err = r.err.Error()+r.refusedReason(), r.err
		}
		e.Reason += "; the next call starts it again"
	}
	return e
}

type noTimeoutKey struct{}

// WithoutTimeout lets Call wait as long as ctx lasts. It is for requests that are
// answered when something else has ended, such as tasks/result.
func WithoutTimeout(ctx context.Context) context.Context {
	return context.WithValue(ctx, noTimeoutKey{}, true)
}

type progressKey struct{}

// WithProgressToken tells Call the raw progress token that the params hold, so
// that Call need not look for it. nil reports that there is none.
func WithProgressToken(ctx context.Context, raw []byte) context.Context {
	return context.WithValue(ctx, progressKey{}, string(raw))
}

// progressToken returns the raw token under which the child reports progress
// for these params, "" if there is none.
func progressToken(ctx context.Context, params [][]byte) string {
	if known, ok := ctx.Value(progressKey{}).(string); ok {
		return known
	}
	const name = `"progressToken"`
	if !slices.ContainsFunc(params, func(p []byte) bool { return bytes.Contains(p, []byte(name)) }) {
		return ""
	}
	return string(jsonrpc.Get(jsonrpc.Get(bytes.Join(params, nil), "_meta"), "progressToken"))
}
