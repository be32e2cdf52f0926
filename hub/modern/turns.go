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
// child serves them all. The one who has the turn of an instance reports which
// roots it is served, and has the turn until the work on its request has ended.

const (
	// maxTurns bounds how many calls wait for the turn of one instance.
	maxTurns = 256
	// TurnTime bounds how long one of them waits.
	TurnTime = time.Minute
	// GivesWayAfter is how long a call that waits for its client keeps a turn that
	// others wait for, counted from when both do: time is left for the caller that
	// has waited to be served its roots.
	GivesWayAfter = TurnTime / 2
)

var errTurnTime = fmt.Errorf("they were in use for more than %s; send the call again, or give each client a token of its own", TurnTime)

// turnGate lets calls that bring their own roots into one instance of a child: those
// with the same roots together, those with others after them. Calls that wait are
// let in in the order of arrival; with the first one come all others that bring the
// same roots. A call that arrives later is let in no sooner, so a call waits for no
// more turns than there were calls before it. The one who has the turn reports which
// roots the instance is served.
type turnGate struct {
	most int // that may wait

	mu     sync.Mutex
	set    string // the roots of those inside
	inside int
	queue  []*ticket
}

// A ticket is one call that has its turn, or waits for it.
type ticket struct {
	set  string
	turn chan struct{} // closed when the turn has come
	in   bool
}

var errTurns = errors.New("too many calls with other roots wait for it already; send it again later, or give each client a token of its own")

func newTurns(most int) *turnGate { return &turnGate{most: most} }

// enterGate waits for the turn of a call that brings a set of roots. Without an error
// the caller has it until it calls leaveGate. Before it waits, it calls the function waits. While it waits
// it calls hurry after GivesWayAfter, and every few seconds from then on. Both may be nil.
func (t *turnGate) enterGate(ctx context.Context, set string, waits, hurry func()) error {
	k, ok := t.lineUp(set)
	if !ok {
		return errTurns
	}
	select {
	case <-k.turn:
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
		case <-k.turn:
			return nil
		case <-ctx.Done():
			t.quitGate(k)
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
func (t *turnGate) lineUp(set string) (*ticket, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := &ticket{set: set, turn: make(chan struct{})}
	switch free := t.inside == 0 || t.set == set && len(t.queue) == 0; {
	case free:
		t.set = set
		t.admitTicket(k)
	case len(t.queue) >= t.most:
		return nil, false
	default:
		t.queue = append(t.queue, k)
	}
	return k, true
}

// changeSet makes a turn one for another set of roots, if no one else has one.
func (t *turnGate) changeSet(set string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.inside != 1 {
		return false
	}
	t.set = set
	t.admitNext()
	return true
}

// leaveGate gives a turn back.
func (t *turnGate) leaveGate() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.inside--
	t.admitNext()
}

// quitGate takes out a call that waits no more, or gives its turn back if that
// has come meanwhile.
func (t *turnGate) quitGate(k *ticket) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if k.in {
		t.inside--
	} else if i := slices.Index(t.queue, k); i >= 0 {
		t.queue = slices.Delete(t.queue, i, i+1)
	}
	t.admitNext()
}

// admitNext lets in the one whose turn it is. The caller holds mu.
func (t *turnGate) admitNext() {
	if len(t.queue) == 0 || t.inside > 0 && t.queue[0].set != t.set {
		return
	}
	t.set = t.queue[0].set
	t.queue = slices.DeleteFunc(t.queue, func(k *ticket) bool {
		if k.set != t.set {
			return false
		}
		t.admitTicket(k)
		return true
	})
}

// admitTicket expects the caller to hold mu.
func (t *turnGate) admitTicket(k *ticket) {
	t.inside++
	k.in = true
	close(k.turn)
}

// gates are the gates of a Server's children, made when first needed. The
// mutex is a leaf.
type gates struct {
	mu sync.Mutex
	by map[string]*turnGate
}

func (g *gates) gateOf(child string) *turnGate {
	g.mu.Lock()
	defer g.mu.Unlock()
	t := g.by[child]
	if t == nil {
		t = newTurns(maxTurns)
		if g.by == nil {
			g.by = map[string]*turnGate{}
		}
		g.by[child] = t
	}
	return t
}

// A turn is what a request has of a child. The zero value is none.
type turn struct {
	child string
	gate  *turnGate
}

// takeTurn waits until a child is served the roots that this request is judged
// by, or brought, and keeps it so. A request without any takes the child as it
// finds it. No one has two turns, or two requests could wait for each other.
func (c *Client) takeTurn(ctx context.Context, child string) error {
	view := c.judging.view
	if view == nil {
		view = c.input.roots
	}
	if now := c.turnNow(); now.gate != nil && now.child == child {
		return nil // one request brings one set
	}
	var set string
	var serve rootsmgr.View
	switch {
	case view != nil:
		serve = *view
		set = rootsmgr.RootSetID("", view.Snapshot.Roots())
	case c.judging.provisional: // what was looked for among the roots served is to stay so
		set, serve = c.server.o.Host.Served(child)
	default:
		return nil
	}
	c.leaveTurn()
	gate := c.server.gates.gateOf(child)
	soon, cancel := context.WithTimeoutCause(ctx, TurnTime, errTurnTime)
	defer cancel()
	if err := c.enterGate(soon, gate, set); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return &run.UnavailableError{Child: child, Reason: "calls of the same token use it with other roots: " + err.Error()}
	}
	c.swapTurn(turn{child, gate})
	if set == "" {
		return nil // no call has brought any yet
	}
	return c.server.o.Host.ServeRoots(ctx, child, set, serve)
}

// enterGate waits for the turn of a gate, and has calls give way that have it and
// wait for their clients meanwhile.
func (c *Client) enterGate(ctx context.Context, gate *turnGate, set string) error {
	return gate.enterGate(ctx, set, func() { c.server.o.Host.BeforeWait(ctx) }, func() { c.server.calls.giveWay(gate, time.Now().Add(-GivesWayAfter)) })
}

// turnNow returns the turn that the request has.
func (c *Client) turnNow() turn {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state.turn
}

// swapTurn remembers a turn and returns the one before.
func (c *Client) swapTurn(t turn) (had turn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	had, c.state.turn = c.state.turn, t
	return had
}

// leaveTurn gives the turn back that the request has, if any.
func (c *Client) leaveTurn() {
	if had := c.swapTurn(turn{}); had.gate != nil {
		had.gate.leaveGate()
	}
}
