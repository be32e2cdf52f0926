package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"mcphub/children/health"
	"mcphub/children/link"
	"mcphub/children/modernlink"
	"mcphub/children/spec"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/jsonrpc/lines"
)

// Notify sends a notification to the child.
func (r *Run) Notify(ctx context.Context, method string, params ...[]byte) error {
	if err := r.Connection().Notify(ctx, method, params...); err != nil {
		return r.failureError(ctx, err)
	}
	return nil
}

// Call sends a request. params are parts of one raw JSON value, written one after the other. The
// error is the cause of ctx when that ended (the child is told), a *TimeoutError when nothing was
// heard for Spec.CallTimeout (progress that it reports for this call starts the time again), a
// *jsonrpc.BrokenError when its answer could not be read or is none of its protocol version, a *link.StatusError when a
// remote child has refused the request by its status, and an *UnavailableError when it is gone. An error object that the child
// answered with is no error: it is in the Response.
func (r *Run) Call(ctx context.Context, method string, params ...[]byte) (*jsonrpc.Response, error) {
	limit := max(0, r.spec.CallTimeout)
	if _, hasNoTimeout := ctx.Value(noTimeoutKey{}).(bool); hasNoTimeout {
		limit = 0
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var waiting health.WaitingCall
	r.Timers.Start(&waiting, limit, progressToken(ctx, params), health.ExpireFunc(func() {
		cancel(&TimeoutError{Child: r.spec.Name, Method: method, After: limit})
	}))
	defer r.Timers.End(&waiting)
	res, err := r.Connection().Call(ctx, method, params...)
	if err != nil {
		return nil, r.failureError(ctx, err)
	}
	if ctx.Err() != nil { // cancelled before the answer came: the result must not depend on which is seen first
		res.Release()
		return nil, context.Cause(ctx)
	}
	return res, nil
}

// failureError turns an error of the connection into one that reports what became of
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

// startsAgain is told behind the reason why a child is gone. The next start has a delay, which grows with each end
// in a row. A call waits for it if the delay is short, and is refused otherwise: see health.History.
const startsAgain = "; the next call starts it again, after a delay if it ends again and again"

// goneError returns the error of a call whose run has ended.
func (r *Run) goneError(cause error) *UnavailableError {
	e := NewUnavailable(r.spec, cause.Error(), r.Facts().Stderr, cause)
	if closed, ok := errors.AsType[*jsonrpc.ClosedError](cause); ok {
		e.Unsent = closed.Unsent
	}
	switch {
	case r.hung.Load():
		e.Reason, e.Err = ErrHung.Error()+startsAgain, ErrHung
	case r.HasEnded():
		e.Reason = "was stopped during the call"
		if r.err != nil {
			e.Reason, e.Err = r.err.Error()+r.refusedReason(), r.err
		}
		e.Reason += startsAgain
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

// asyncConnection is a ChildConnection that can send a request without waiting.
type asyncConnection interface {
	Prepare(s *jsonrpc.PreparedCall, handler jsonrpc.ResponseHandler)
}

// An AsyncCall is a call under way that no goroutine waits for: its caller must not wait, as the read loop of a client's connection must
// not. If the call cannot be sent at once, the caller uses Call. The zero AsyncCall can be
// started, once.
type AsyncCall struct {
	run     *Run
	handler jsonrpc.ResponseHandler
	method  string
	client  *link.ClientProfile
	meta    *modernlink.ClientMeta // of a child without a handshake
	pending jsonrpc.PreparedCall
	waiting health.WaitingCall
}

// SetClient works like WithClient for a call that is not made yet.
func (call *AsyncCall) SetClient(client link.ClientProfile) { call.client = &client }

// CanStart reports whether StartCall may be tried: not every transport has it.
func (r *Run) CanStart() bool {
	_, isAsync := r.connection.(asyncConnection)
	return isAsync
}

// StartCall works like Call without waiting. It returns false if nothing was sent; handler is
// then never called. Otherwise handler is called once with what Call would return. An answer
// comes on the goroutine that reads what the child sends, which handler must not block; an error
// comes on any. b is the Batch of the calling read loop, nil elsewhere. token is the raw
// progress token in the params, nil for none. The lease must not be given back before handler is
// called.
func (r *Run) StartCall(call *AsyncCall, handler jsonrpc.ResponseHandler, b *lines.Batch, method string, token []byte, params ...[]byte) bool {
	m, base := r.modernConnection.Load(), r.connection
	if m != nil {
		base = m.Base()
	}
	connection, isAsync := base.(asyncConnection)
	if !isAsync {
		return false
	}
	call.run, call.handler, call.method = r, handler, method
	if m != nil {
		client := call.client
		if client == nil {
			own := r.instance.ClientProfile()
			client = &own
		}
		call.meta = m.Meta(*client)
		raw, err := call.meta.Params(params)
		if err != nil {
			return false
		}
		params = [][]byte{raw}
	}
	connection.Prepare(&call.pending, (*startedCall)(call))
	r.Timers.Start(&call.waiting, max(0, r.spec.CallTimeout), string(token), (*startedCall)(call))
	if !call.pending.Start(b, method, params...) {
		r.Timers.End(&call.waiting)
		return false
	}
	return true
}

// Abandon ends the call with a cause, and tells the child.
func (call *AsyncCall) Abandon(cause error) { call.pending.Abandon(&abandoned{cause}) }

// startedCall is an AsyncCall as a ResponseHandler and an Expirer.
type startedCall AsyncCall

func (started *startedCall) Expired() {
	r := started.run
	(*AsyncCall)(started).Abandon(&TimeoutError{Child: r.spec.Name, Method: started.method, After: r.spec.CallTimeout})
}

// abandoned is the error of a call that was given up from this side.
type abandoned struct{ cause error }

func (a *abandoned) Error() string { return a.cause.Error() }

// Unwrap returns the cause.
func (a *abandoned) Unwrap() error { return a.cause }

// OnResponse passes the result of the connection on.
func (started *startedCall) OnResponse(res *jsonrpc.Response, err error) {
	started.run.Timers.End(&started.waiting)
	if err == nil && started.meta != nil {
		if err = started.run.modernConnection.Load().Check(started.meta, started.method, res); err != nil {
			res.Release()
			started.handler.OnResponse(nil, err)
			return
		}
	}
	if err == nil {
		started.handler.OnResponse(res, nil)
		return
	}
	if given, ok := errors.AsType[*abandoned](err); ok {
		started.handler.OnResponse(nil, given.cause)
		return
	}
	// Saying what became of the child may take a moment, and this is its read loop.
	go func() {
		started.handler.OnResponse(nil, started.run.failureError(context.Background(), link.Closed(context.Background(), err)))
	}()
}

// ErrHung is why a child was stopped that answers nothing.
var ErrHung = errors.New("hung: it answered neither its calls nor the question whether it is there, and was stopped")

// An UnavailableError reports why a child cannot be called, or did not
// answer: what happened, the end of its stderr, and when to try again.
type UnavailableError struct {
	Child      string
	Reason     string        // "exited with status 1", "did not start within 60s", ...
	Stderr     string        // tail of its stderr, plain text, may be ""; for the operator
	RetryAfter time.Duration // 0: the next call starts it again
	Err        error         // the cause, if there is one
	Unsent     bool          // it ended before the call was written to it

	own bool // it is one session's own child: Error quotes Stderr
}

func (e *UnavailableError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "server %q is not available: %s", e.Child, e.Reason)
	if e.RetryAfter > 0 {
		fmt.Fprintf(&b, "; it is not started again for %s, a call after that starts it", e.RetryAfter.Round(time.Second/10))
	}
	// The reason may hold this text already.
	if said := strings.TrimSpace(e.Stderr); e.own && said != "" && !strings.Contains(e.Reason, said) {
		fmt.Fprintf(&b, "; the end of its stderr:\n%s", lastLines(e.Stderr, 10))
	}
	return b.String()
}

// NewUnavailable returns why a child cannot be called. Its stderr is quoted only if the
// child belongs to one session.
func NewUnavailable(s spec.Spec, reason, stderr string, cause error) *UnavailableError {
	return &UnavailableError{Child: s.Name, Reason: reason, Stderr: stderr, Err: cause, own: s.Share == spec.ShareSession}
}

// Unwrap returns the cause.
func (e *UnavailableError) Unwrap() error { return e.Err }

// A TimeoutError ends a call for which nothing was heard of the child for too long.
type TimeoutError struct {
	Child  string
	Method string
	After  time.Duration
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("server %q did not answer %s within %s, nor report progress; raise \"timeout\": {\"call\": ...} of this server where that is too short", e.Child, e.Method, e.After)
}

// Timeout marks e as a timeout.
func (e *TimeoutError) Timeout() bool { return true }

func lastLines(s string, n int) string {
	lines := strings.Split(s, "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
