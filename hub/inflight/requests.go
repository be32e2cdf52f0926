package inflight

import (
	"context"
	"sync"

	"mcphub/children/spec"
)

// A RequestClient is whose request it is.
type RequestClient interface {
	// Reaches reports whether it can be told anything before its request is answered.
	Reaches() bool
}

// OpenRequests are the requests of one session that are with a child, and what the
// children ask meanwhile. The zero value is ready.
type OpenRequests[C RequestClient] struct {
	mu    sync.Mutex
	last  *OpenRequest[C] // the newest; a list by older and newer
	count uint64          // of all that were started

	asked   map[*question[C]]struct{}
	byToken map[string]*question[C] // by the progress token that the client was given
	token   uint64                  // the last one given
}

// An OpenRequest is one that is with a child. Key and Client are set before Start. The
// rest belongs to OpenRequests.
type OpenRequest[C RequestClient] struct {
	Key    *spec.Key // of the instance that has it; not changed
	Client C

	older, newer *OpenRequest[C]
	started      bool
}

type contextKey[C RequestClient] struct{}

// NewContext marks a context with the request that is sent by it.
func NewContext[C RequestClient](ctx context.Context, r *OpenRequest[C]) context.Context {
	return context.WithValue(ctx, contextKey[C]{}, r)
}

// FromContext returns the request that a context is marked with, nil for none.
func FromContext[C RequestClient](ctx context.Context) *OpenRequest[C] {
	r, _ := ctx.Value(contextKey[C]{}).(*OpenRequest[C])
	return r
}

// Start enters a request.
func (rs *OpenRequests[C]) Start(r *OpenRequest[C]) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	r.started = true
	rs.count++
	if r.older = rs.last; r.older != nil {
		r.older.newer = r
	}
	rs.last = r
}

// End takes a request out. If it was given up that ends what was asked on its
// account: each of the channels is closed when the child was told so, which comes
// before the request is answered. A question whose request was answered goes on by
// itself.
func (rs *OpenRequests[C]) End(r *OpenRequest[C], givenUp bool) (ending []<-chan struct{}) {
	rs.mu.Lock()
	if r.newer != nil {
		r.newer.older = r.older
	} else {
		rs.last = r.older
	}
	if r.older != nil {
		r.older.newer = r.newer
	}
	r.older, r.newer, r.started = nil, nil, false
	var over []*question[C]
	for q := range rs.asked {
		if q.on != r {
			continue
		}
		q.on = nil
		if givenUp {
			over = append(over, q)
			ending = append(ending, q.over)
		}
	}
	rs.mu.Unlock()
	for _, q := range over {
		q.cancel(errRequestOver)
	}
	return ending
}

// Started returns how many requests have gone on to children.
func (rs *OpenRequests[C]) Started() uint64 {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	return rs.count
}

// Find finds the request that something of a child belongs to: the one that it came on, if the
// transport tells, else the only one that is with the child. If the request is not known, on is
// nil, and to is the client of the newest request of the child whose client can be reached. ok is
// false if there is none.
func (rs *OpenRequests[C]) Find(k spec.Key, came *OpenRequest[C]) (on *OpenRequest[C], to C, ok bool) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	return rs.findRequest(k, came)
}

// findRequest works like Find for callers that hold mu.
func (rs *OpenRequests[C]) findRequest(k spec.Key, came *OpenRequest[C]) (on *OpenRequest[C], to C, ok bool) {
	if came != nil && came.started && *came.Key == k {
		return came, came.Client, true
	}
	n := 0
	for r := rs.last; r != nil; r = r.older {
		if *r.Key != k {
			continue
		}
		n++
		on = r
		if !ok && r.Client.Reaches() {
			to, ok = r.Client, true
		}
	}
	if n == 1 {
		return on, on.Client, true
	}
	return nil, to, ok
}

// Candidates returns all requests that something of a child may belong to, the
// likeliest first: the one that it came on, else all that are with the child.
func (rs *OpenRequests[C]) Candidates(k spec.Key, came *OpenRequest[C]) (all []*OpenRequest[C]) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if came != nil && came.started && *came.Key == k {
		return []*OpenRequest[C]{came}
	}
	for r := rs.last; r != nil; r = r.older {
		if *r.Key == k {
			all = append(all, r)
		}
	}
	return all
}
