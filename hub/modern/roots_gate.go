package modern

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"mcphub/children/run"
	"mcphub/rootsmgr"
)

// This file is about calls over HTTP that bring their own roots: one instance of a
// child serves them all. The call that is admitted to an instance reports which
// roots it is served, and stays admitted until the work on its request has ended.

const (
	// maxWaiting bounds how many calls wait for one instance.
	maxWaiting = 256
	// GateTime bounds how long one of them waits.
	GateTime = time.Minute
	// GivesWayAfter is how long a call that waits for its client keeps an instance that
	// others wait for, counted from when both do: time is left for the caller that
	// has waited to be served its roots.
	GivesWayAfter = GateTime / 2
)

var errGateTime = fmt.Errorf("they were in use for more than %s; send the call again, or give each client a token of its own", GateTime)

// rootsGate lets calls that bring their own roots into one instance of a child: those
// with the same roots together, those with others after them. Calls that wait are
// let in in the order of arrival; with the first one come all others that bring the
// same roots. A call that arrives later is let in no sooner, so a call waits for no
// more sets than there were calls before it. The call that is admitted reports which
// roots the instance is served.
type rootsGate struct {
	most int // that may wait

	mu     sync.Mutex
	set    string // the roots of those inside
	inside int
	queue  []*gateWaiter
}

// A gateWaiter is one call that is admitted, or waits for that.
type gateWaiter struct {
	set      string
	admitted chan struct{} // closed when it is admitted
	in       bool
}

var errGateFull = errors.New("too many calls with other roots wait for it already; send it again later, or give each client a token of its own")

func newRootsGate(most int) *rootsGate { return &rootsGate{most: most} }

// enterGate admits a call that brings a set of roots. Without an error
// the caller has it until it calls leaveGate. Before it waits, it calls the function waits. While it waits
// it calls hurry after GivesWayAfter, and every few seconds from then on. Both may be nil.
func (gate *rootsGate) enterGate(ctx context.Context, set string, waits, hurry func()) error {
	waiter, ok := gate.lineUp(set)
	if !ok {
		return errGateFull
	}
	select {
	case <-waiter.admitted:
		return nil
	default:
	}
	if waits != nil {
		waits()
	}
	wait := time.NewTimer(GivesWayAfter)
	defer wait.Stop()
	for {
		select {
		case <-waiter.admitted:
			return nil
		case <-ctx.Done():
			gate.quitGate(waiter)
			return context.Cause(ctx)
		case <-wait.C:
			if hurry != nil {
				hurry()
			}
			wait.Reset(GivesWayAfter / 10)
		}
	}
}

// lineUp lines up a call; false: too many wait.
func (gate *rootsGate) lineUp(set string) (*gateWaiter, bool) {
	gate.mu.Lock()
	defer gate.mu.Unlock()
	waiter := &gateWaiter{set: set, admitted: make(chan struct{})}
	switch isFree := gate.inside == 0 || gate.set == set && len(gate.queue) == 0; {
	case isFree:
		gate.set = set
		gate.admitWaiter(waiter)
	case len(gate.queue) >= gate.most:
		return nil, false
	default:
		gate.queue = append(gate.queue, waiter)
	}
	return waiter, true
}

// changeSet changes the set of roots, if no other call is admitted.
func (gate *rootsGate) changeSet(set string) bool {
	gate.mu.Lock()
	defer gate.mu.Unlock()
	if gate.inside != 1 {
		return false
	}
	gate.set = set
	gate.admitNext()
	return true
}

// leaveGate ends an admission.
func (gate *rootsGate) leaveGate() {
	gate.mu.Lock()
	defer gate.mu.Unlock()
	gate.inside--
	gate.admitNext()
}

// quitGate takes out a call that waits no more, or ends its admission if that
// has come meanwhile.
func (gate *rootsGate) quitGate(waiter *gateWaiter) {
	gate.mu.Lock()
	defer gate.mu.Unlock()
	if waiter.in {
		gate.inside--
	} else if i := slices.Index(gate.queue, waiter); i >= 0 {
		gate.queue = slices.Delete(gate.queue, i, i+1)
	}
	gate.admitNext()
}

// admitNext lets in the calls that come next. The caller holds mu.
func (gate *rootsGate) admitNext() {
	if len(gate.queue) == 0 || gate.inside > 0 && gate.queue[0].set != gate.set {
		return
	}
	gate.set = gate.queue[0].set
	gate.queue = slices.DeleteFunc(gate.queue, func(waiter *gateWaiter) bool {
		if waiter.set != gate.set {
			return false
		}
		gate.admitWaiter(waiter)
		return true
	})
}

// admitWaiter expects the caller to hold mu.
func (gate *rootsGate) admitWaiter(waiter *gateWaiter) {
	gate.inside++
	waiter.in = true
	close(waiter.admitted)
}

// gates are the gates of a Server's children, made when first needed. The
// mutex is a leaf.
type gates struct {
	mu      sync.Mutex
	byChild map[string]*rootsGate
}

func (g *gates) gateOf(child string) *rootsGate {
	g.mu.Lock()
	defer g.mu.Unlock()
	gate := g.byChild[child]
	if gate == nil {
		gate = newRootsGate(maxWaiting)
		if g.byChild == nil {
			g.byChild = map[string]*rootsGate{}
		}
		g.byChild[child] = gate
	}
	return gate
}

// A gateAdmission lets a request use a child. The zero value is none.
type gateAdmission struct {
	child string
	gate  *rootsGate
}

// enterChild waits until a child is served the roots that this request is judged
// by, or brought, and keeps it so. A request without any takes the child as it
// finds it. No request has two admissions, or two requests could wait for each other.
func (c *Client) enterChild(ctx context.Context, child string) error {
	rootsView := c.judging.rootsView
	if rootsView == nil {
		rootsView = c.input.roots
	}
	if now := c.admissionNow(); now.gate != nil && now.child == child {
		return nil // one request brings one set
	}
	var set string
	var serve rootsmgr.RootsView
	switch {
	case rootsView != nil:
		serve = *rootsView
		set = rootsmgr.RootSetID("", rootsView.Snapshot.Roots())
	case c.judging.provisional: // what was looked for among the roots served is to stay so
		set, serve = c.server.options.Host.Served(child)
	default:
		return nil
	}
	c.leaveChild()
	gate := c.server.gates.gateOf(child)
	soon, cancel := context.WithTimeoutCause(ctx, GateTime, errGateTime)
	defer cancel()
	if err := c.enterGate(soon, gate, set); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return &run.UnavailableError{Child: child, Reason: "calls of the same token use it with other roots: " + err.Error()}
	}
	c.swapAdmission(gateAdmission{child, gate})
	if set == "" {
		return nil // no call has brought any yet
	}
	return c.server.options.Host.ServeRoots(ctx, child, set, serve)
}

// enterGate waits at a gate, and has calls give way that are admitted and
// wait for their clients meanwhile.
func (c *Client) enterGate(ctx context.Context, gate *rootsGate, set string) error {
	return gate.enterGate(ctx, set, func() { c.server.options.Host.BeforeWait(ctx) }, func() { c.server.calls.giveWay(gate, time.Now().Add(-GivesWayAfter)) })
}

// admissionNow returns the admission that the request has.
func (c *Client) admissionNow() gateAdmission {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state.admission
}

// swapAdmission remembers an admission and returns the one before.
func (c *Client) swapAdmission(next gateAdmission) (had gateAdmission) {
	c.mu.Lock()
	defer c.mu.Unlock()
	had, c.state.admission = c.state.admission, next
	return had
}

// leaveChild ends the admission of the request, if any.
func (c *Client) leaveChild() {
	if had := c.swapAdmission(gateAdmission{}); had.gate != nil {
		had.gate.leaveGate()
	}
}
