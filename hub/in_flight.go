package hub

import (
	"context"

	"mcphub/children"
	"mcphub/hub/inflight"
)

// A request of the client that is with a child, and all of them.
type (
	inFlight  = inflight.Request[onBehalf]
	inFlights = inflight.Requests[onBehalf]
)

// onBehalf is whose request is with a child.
type onBehalf struct {
	client
	judged *judgement // that it was let through by; nil: none
}

// track notes that a request, judged by j or not at all, is with a child until back
// is called with what became of it. The context is for Lease.Call.
func (s *Session) track(ctx context.Context, t *inFlight, k children.Key, j *judgement) (_ context.Context, back func(err error)) {
	t.Key, t.Client = k, onBehalf{s.clientOf(ctx), j}
	return s.inFlight.Track(ctx, t)
}
