package client

import (
	"context"

	"mcphub/hub/inflight"
	"mcphub/hub/record"
	"mcphub/hub/telemetry"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/mirror"
)

// A RequestContext is what the context of the work on one request of a client has of it. The zero RequestContext is of work that the hub
// begins by itself.
type RequestContext struct {
	Client      Client                   // nil: the request has no way of its own to its client
	Headers     headers                  // that repeat its arguments; nil for none
	Record      *record.RequestRecord    // nil: it is neither recorded nor counted
	Timing      *telemetry.RequestTiming // of a request that has no Record; nil for none
	Notice      *inflight.Notice         // tells the client what the request waits for; nil: the client gave no progress token
	OffersLogin bool                     // a login is offered if a server asks for one
}

type requestKey struct{}

// NewContext returns the context of the work on a request.
func NewContext(ctx context.Context, r RequestContext) context.Context {
	return context.WithValue(ctx, requestKey{}, &r)
}

// RequestOf returns the request of ctx.
func RequestOf(ctx context.Context) RequestContext {
	if r, ok := ctx.Value(requestKey{}).(*RequestContext); ok {
		return *r
	}
	return RequestContext{}
}

// headers are the headers of a request that repeat parts of it.
type headers interface {
	// CheckHeaders compares them with the arguments of a call, once it is known which
	// parameters they repeat. ok false: refusal is the answer.
	CheckHeaders(mirrors []mirror.Mark, args []byte) (refusal jsonrpc.Answer, ok bool)
}

// CheckHeaders compares the arguments of a call with the headers that came with it,
// if any. A tool that the front knew was compared by that already.
func (r *RequestContext) CheckHeaders(mirrors []mirror.Mark, args []byte) (refusal jsonrpc.Answer, ok bool) {
	if r.Headers == nil {
		return jsonrpc.Answer{}, true
	}
	return r.Headers.CheckHeaders(mirrors, args)
}
