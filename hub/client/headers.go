package client

import (
	"context"

	"mcphub/internal/jsonrpc"
	"mcphub/internal/mirror"
)

// headers are those of a request that repeat parts of it.
type headers interface {
	// Fits compares them with the arguments of a call, once it is known which
	// parameters they repeat. ok false: refusal is the answer.
	Fits(mirrors []mirror.Mark, args []byte) (refusal jsonrpc.Answer, ok bool)
}

type headersKey struct{}

// WithHeaders marks the context of a request with its headers.
func WithHeaders(ctx context.Context, h headers) context.Context {
	return context.WithValue(ctx, headersKey{}, h)
}

// FitHeaders compares the arguments of a call with the headers that came with it,
// if any. A tool that the front knew was compared by that already.
func FitHeaders(ctx context.Context, mirrors []mirror.Mark, args []byte) (refusal jsonrpc.Answer, ok bool) {
	h, there := ctx.Value(headersKey{}).(headers)
	if !there {
		return jsonrpc.Answer{}, true
	}
	return h.Fits(mirrors, args)
}
