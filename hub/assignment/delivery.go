package assignment

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"mcphub/internal/worker"
	"mcphub/rootsmgr"
)

// A DeliveredRoots describes what the children of a session were given last. The zero
// value is for a session whose children were given nothing yet.
type DeliveredRoots struct {
	Given         bool
	Configuration uint64 // number of the one that they were given it by
	Roots         rootsmgr.RootsMark
	Grants        uint64 // version of what people have granted
	FromCalls     uint64 // of what came with calls the last; see CallRoots.Number
}

// CallRoots are the roots that came with a call for one child.
type CallRoots struct {
	Set       string // digest
	RootsView rootsmgr.RootsView
	Number    uint64 // counts what came with calls
}

// RootsDelivery describes which roots the children of one session were given. The
// session's goroutine for that calls Set; all methods may be called by any
// goroutine.
type RootsDelivery struct {
	wanted chan struct{} // capacity 1
	given  atomic.Pointer[deliveredState]

	mu        sync.Mutex
	fromCalls map[string]CallRoots
	count     uint64 // Number of the last in fromCalls
}

// deliveredState is what the children were given last. next is closed when another takes its place.
type deliveredState struct {
	DeliveredRoots
	next chan struct{}
}

// NewRootsDelivery returns a RootsDelivery to children that were given nothing.
func NewRootsDelivery() *RootsDelivery {
	s := &RootsDelivery{wanted: make(chan struct{}, 1)}
	s.given.Store(&deliveredState{next: make(chan struct{})})
	return s
}

// Wanted holds a token while roots that came with a call are to be given.
func (d *RootsDelivery) Wanted() <-chan struct{} { return d.wanted }

// Set reports what the children have been given now.
func (d *RootsDelivery) Set(now DeliveredRoots) {
	close(d.given.Swap(&deliveredState{now, make(chan struct{})}).next)
}

// Now returns what the children were given last. next is closed when they have
// been given something else.
func (d *RootsDelivery) Now() (now DeliveredRoots, next <-chan struct{}) {
	last := d.given.Load()
	return last.DeliveredRoots, last.next
}

// Await waits until enough accepts what the children were given, or until limit has
// passed, which is no error. A negative limit has no end. Being given roots is not
// having applied them: a child's lease waits for that.
func (d *RootsDelivery) Await(ctx context.Context, limit time.Duration, enough func(DeliveredRoots) bool) error {
	var over <-chan time.Time
	for {
		now, next := d.Now()
		if enough(now) {
			return nil
		}
		if over == nil && limit >= 0 {
			timer := time.NewTimer(limit)
			defer timer.Stop()
			over = timer.C
		}
		select {
		case <-next:
		case <-over:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Request asks that a child be given the roots that came with a call. They are given
// once DeliveredRoots.FromCalls has reached the number.
func (d *RootsDelivery) Request(child, set string, rootsView rootsmgr.RootsView) (number uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if last, ok := d.fromCalls[child]; ok && last.Set == set {
		return last.Number
	}
	if d.fromCalls == nil {
		d.fromCalls = map[string]CallRoots{}
	}
	d.count++
	d.fromCalls[child] = CallRoots{set, rootsView, d.count}
	worker.Signal(d.wanted)
	return d.count
}

// FromCalls returns what came with calls last for a child; false if
// nothing did.
func (d *RootsDelivery) FromCalls(child string) (CallRoots, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	b, ok := d.fromCalls[child]
	return b, ok
}

// GivenFromCalls reports whether a child was given the roots that came with calls last for
// it, if any.
func (d *RootsDelivery) GivenFromCalls(child string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.given.Load().FromCalls >= d.fromCalls[child].Number
}

// LastFromCalls returns the Number of the newest roots that came with calls for any child.
func (d *RootsDelivery) LastFromCalls() uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.count
}
