package run

import (
	"context"
	"errors"

	"mcphub/children/health"
	"mcphub/children/link"
	"mcphub/children/modernlink"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/jsonrpc/lines"
)

// This file is for callers that must not wait, such as the read loop of a client's
// connection. If a call cannot be sent at once, they use Call.

// starter is a Link that can send a request without waiting.
type starter interface {
	Prepare(s *jsonrpc.PendingCall, handler jsonrpc.ResponseHandler)
}

// An AsyncCall is a call under way that no goroutine waits for. The zero AsyncCall can be
// started, once.
type AsyncCall struct {
	run     *Run
	handler jsonrpc.ResponseHandler
	method  string
	client  *link.ClientProfile
	meta    *modernlink.Meta // of a child without a handshake
	pending jsonrpc.PendingCall
	waiting health.WaitingCall
}

// SetClient works like WithClient for a call that is not made yet.
func (c *AsyncCall) SetClient(client link.ClientProfile) { c.client = &client }

// CanStart reports whether StartCall may be tried: not every transport has it.
func (r *Run) CanStart() bool {
	_, can := r.link.(starter)
	return can
}

// StartCall works like Call without waiting. It returns false if nothing was sent; handler is
// then never called. Otherwise handler is called once with what Call would return. An answer
// comes on the goroutine that reads what the child sends, which handler must not block; an error
// comes on any. b is the Batch of the calling read loop, nil elsewhere. token is the raw
// progress token in the params, nil for none. The lease must not be given back before handler is
// called.
func (r *Run) StartCall(c *AsyncCall, handler jsonrpc.ResponseHandler, b *lines.Batch, method string, token []byte, params ...[]byte) bool {
	m, base := r.modernLink.Load(), r.link
	if m != nil {
		base = m.Base()
	}
	able, can := base.(starter)
	if !can {
		return false
	}
	c.run, c.handler, c.method = r, handler, method
	if m != nil {
		client := c.client
		if client == nil {
			own := r.instance.ClientProfile()
			client = &own
		}
		c.meta = m.Meta(*client)
		raw, err := c.meta.Params(params)
		if err != nil {
			return false
		}
		params = [][]byte{raw}
	}
	able.Prepare(&c.pending, (*startedCall)(c))
	r.Timers.Start(&c.waiting, max(0, r.spec.CallTimeout), string(token), (*startedCall)(c))
	if !c.pending.Start(b, method, params...) {
		r.Timers.End(&c.waiting)
		return false
	}
	return true
}

// Abandon ends the call with a cause, and tells the child.
func (c *AsyncCall) Abandon(cause error) { c.pending.Abandon(&abandoned{cause}) }

// startedCall is an AsyncCall as a ResponseHandler and an Expirer.
type startedCall AsyncCall

func (c *startedCall) Expired() {
	r := c.run
	(*AsyncCall)(c).Abandon(&TimeoutError{Child: r.spec.Name, Method: c.method, After: r.spec.CallTimeout})
}

// abandoned is the error of a call that was given up from this side.
type abandoned struct{ cause error }

func (a *abandoned) Error() string { return a.cause.Error() }

// Unwrap returns the cause.
func (a *abandoned) Unwrap() error { return a.cause }

// OnResponse passes the result of the link on.
func (c *startedCall) OnResponse(res *jsonrpc.Response, err error) {
	c.run.Timers.End(&c.waiting)
	if err == nil && c.meta != nil {
		if err = c.run.modernLink.Load().Check(c.meta, c.method, res); err != nil {
			res.Release()
			c.handler.OnResponse(nil, err)
			return
		}
	}
	if err == nil {
		c.handler.OnResponse(res, nil)
		return
	}
	if given, ok := errors.AsType[*abandoned](err); ok {
		c.handler.OnResponse(nil, given.cause)
		return
	}
	// Saying what became of the child may take a moment, and this is its read loop.
	go func() {
		c.handler.OnResponse(nil, c.run.failureError(context.Background(), link.Closed(context.Background(), err)))
	}()
}
