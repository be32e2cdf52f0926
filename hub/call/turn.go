package call

import (
	"context"
	"errors"
	"fmt"

	"mcphub/hub/client"
	"mcphub/hub/configuration"
	"mcphub/hub/turns"
	"mcphub/internal/jsonrpc"
)

// This file has a call wait for its turn at a server to which hub.json lets only so many calls.

// ensureTurn takes the turn of a call that is allowed, if it has none. If the turn had to be waited for, the lease of the attempt was given
// back, as with an error.
func (c *Call) ensureTurn(ctx context.Context, att *attempt) (waited bool, err error) {
	queue := c.sender.Turns.QueueOf(att.child)
	if queue == nil || c.serverTurn != nil {
		return false, nil
	}
	name := c.limitedName()
	if c.serverTurn = turnKeeperOf(ctx).takeKeptTurn(queue, name); c.serverTurn != nil {
		return false, nil
	}
	serverTurn, waits, err := queue.TakeTurn(c.sender.turnOwner(), name)
	if err != nil {
		att.lease.Release()
		return false, err
	}
	c.serverTurn = serverTurn
	if !waits {
		return false, nil
	}
	att.lease.Release()
	att.client.YieldChild()
	endNotice := client.RequestOf(ctx).Notice.Waiting(func() string {
		place, of := serverTurn.PlaceInQueue()
		return fmt.Sprintf("waiting for a turn at %s: place %d of %d", att.child, place, of)
	})
	err = serverTurn.AwaitBegin(ctx)
	endNotice()
	return true, err
}

// turnOwner returns whose turns the calls of the client are: more sessions of one principal have no more of them. The sessions of the local
// user are different programs, and each stands for itself.
func (s *Sender) turnOwner() turns.TurnOwner {
	if s.Principal.Local {
		return turns.TurnOwner{Session: s.ID}
	}
	return turns.TurnOwner{Principal: s.Principal.String(), Session: s.ID}
}

// A turnKeeper has the turn of a request that is judged again: because it has waited for its turn, or because a reload has overtaken it
// once its turn had come. The request takes that turn if it is allowed, and does not go back to the end of the queue. Whatever makes it wait
// before gives the turn back, so that no client and no person keeps others from the server. It belongs to the goroutine of the request.
type turnKeeper struct {
	serverTurn *turns.ServerTurn
	yielded    int
}

// maxYields bounds how often a request gives its turn back because it has to wait for its client or for a process: a client that never says
// what its roots are would not get beyond the queue as long as others wait.
const maxYields = 3

type turnKey struct{}

// turnKeeperOf returns the keeper of the request of ctx; nil: it has none.
func turnKeeperOf(ctx context.Context) *turnKeeper {
	k, _ := ctx.Value(turnKey{}).(*turnKeeper)
	return k
}

// takeKeptTurn returns the turn that was kept, if it is of that queue and of a request of that name; else nil.
func (k *turnKeeper) takeKeptTurn(queue *turns.ServerQueue, name string) (t *turns.ServerTurn) {
	if k == nil || !k.serverTurn.IsOf(queue, name) {
		return nil
	}
	t, k.serverTurn = k.serverTurn, nil
	return t
}

// hasTurn reports whether a turn is kept.
func (k *turnKeeper) hasTurn() bool { return k != nil && k.serverTurn != nil }

// yieldTurn gives the turn back before the request waits, but not more than maxYields times.
func (k *turnKeeper) yieldTurn() {
	if k.hasTurn() && k.yielded < maxYields {
		k.yielded++
		k.endTurn()
	}
}

// YieldTurn gives the turn back that the request of ctx has kept, before it waits.
func YieldTurn(ctx context.Context) { turnKeeperOf(ctx).yieldTurn() }

// endTurn gives the turn back.
func (k *turnKeeper) endTurn() {
	if k.hasTurn() {
		k.serverTurn.End()
		k.serverTurn = nil
	}
}

// retryOnReload makes a request, and makes it again if a reload came between.
func (s *Sender) retryOnReload(ctx context.Context, request func(context.Context) (jsonrpc.Answer, error)) jsonrpc.Answer {
	if s.Turns.BoundsAny() {
		keeper := &turnKeeper{}
		defer keeper.endTurn()
		ctx = context.WithValue(ctx, turnKey{}, keeper)
	}
	return configuration.RetryOnReload(func() (jsonrpc.Answer, error) { return request(ctx) })
}

// keepTurn has the turn kept while the call is judged again.
func (c *Call) keepTurn(ctx context.Context) {
	if k := turnKeeperOf(ctx); k != nil && c.serverTurn != nil {
		k.endTurn()
		k.serverTurn, c.serverTurn = c.serverTurn, nil
	}
}

// leaveTurn keeps the turn of a call that a reload has overtaken, and gives back the turn of any other.
func (c *Call) leaveTurn(ctx context.Context, err error) {
	if errors.Is(err, configuration.ErrSuperseded) {
		c.keepTurn(ctx)
	}
	c.endTurn()
}

// endTurn gives the turn back.
func (c *Call) endTurn() {
	c.serverTurn.End()
	c.serverTurn = nil
}

// limitedName returns the name by which limits of hub.json are for a call: the tool's own name, or the method.
func (c *Call) limitedName() string {
	if t, ok := c.target.(*toolTarget); ok {
		return t.tool.OwnName
	}
	return c.target.requestMethod()
}
