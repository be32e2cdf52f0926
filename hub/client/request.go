package client

import (
	"context"

	"mcphub/hub/inflight"
	"mcphub/hub/record"
	"mcphub/hub/telemetry"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/mirror"
)

// A Request is what the context of the work on one request of a client has of it. The zero Request is of work that the hub
// begins by itself.
type Request struct {
	Client      Client           // nil: the request has no way of its own to its client
	Headers     headers          // that repeat its arguments; nil for none
	Record      *record.Request  // nil: it is neither recorded nor counted
	Timing      *telemetry.Call  // of a request that has no Record; nil for none
	Notice      *inflight.Notice // tells the client what the request waits for; nil: the client gave no progress token
	OffersLogin bool             // a login is offered if a server asks for one
}

type requestKey struct{}

// NewContext returns the context of the work on a request.
func NewContext(ctx context.Context, r Request) context.Context {
	return context.WithValue(ctx, requestKey{}, &r)
}

// RequestOf returns the request of ctx.
func RequestOf(ctx context.Context) Request {
	if r, ok := ctx.Value(requestKey{}).(*Request); ok {
		return *r
	}
	return Request{}
}

// headers are the headers of a request that repeat parts of it.
type headers interface {
	// Fits compares them with the arguments of a call, once it is known which
	// parameters they repeat. ok false: refusal is the answer.
	Fits(mirrors []mirror.Mark, args []byte) (refusal jsonrpc.Answer, ok bool)
}

// FitHeaders compares the arguments of a call with the headers that came with it,
// if any. A tool that the front knew was compared by that already.
func (r *Request) FitHeaders(mirrors []mirror.Mark, args []byte) (refusal jsonrpc.Answer, ok bool) {
	if r.Headers == nil {
		return jsonrpc.Answer{}, true
	}
	return r.Headers.Fits(mirrors, args)
}
