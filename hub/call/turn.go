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

// takeTurn takes the turn of a call that is allowed, if it has none. If the turn had to be waited for, the lease of the attempt was given
// back, as with an error.
func (c *Call) takeTurn(ctx context.Context, att *attempt) (waited bool, err error) {
	line := c.sender.Turns.Line(att.child)
	if line == nil || c.turn != nil {
		return false, nil
	}
	name := c.limitedName()
	if c.turn = keptTurn(ctx).takeTurn(line, name); c.turn != nil {
		return false, nil
	}
	turn, waits, err := line.TakeTurn(c.sender.turnOwner(), name)
	if err != nil {
		att.lease.Release()
		return false, err
	}
	c.turn = turn
	if !waits {
		return false, nil
	}
	att.lease.Release()
	att.client.YieldChild()
	over := client.RequestOf(ctx).Notice.Waiting(func() string {
		place, of := turn.PlaceInLine()
		return fmt.Sprintf("waiting for a turn at %s: place %d of %d", att.child, place, of)
	})
	err = turn.AwaitBegin(ctx)
	over()
	return true, err
}

// turnOwner returns whose turns the calls of the client are: more sessions of one principal have no more of them. The sessions of the local
// user are different programs, and each stands for itself.
func (s *Sender) turnOwner() turns.Owner {
	if s.Principal.Local {
		return turns.Owner{Session: s.ID}
	}
	return turns.Owner{Principal: s.Principal.String(), Session: s.ID}
}

// A turnKeeper has the turn of a request that is judged again: because it has waited for its turn, or because a reload has overtaken it
// once its turn had come. The request takes that turn if it is allowed, and does not go back to the end of the line. Whatever makes it wait
// before gives the turn back, so that no client and no person keeps others from the server. It belongs to the goroutine of the request.
type turnKeeper struct {
	turn    *turns.Turn
	yielded int
}

// maxYields bounds how often a request gives its turn back because it has to wait for its client or for a process: a client that never says
// what its roots are would not get beyond the line as long as others wait.
const maxYields = 3

type turnKey struct{}

// keptTurn returns the keeper of the request of ctx; nil: it has none.
func keptTurn(ctx context.Context) *turnKeeper {
	k, _ := ctx.Value(turnKey{}).(*turnKeeper)
	return k
}

// takeTurn returns the turn that was kept, if it is of that line and of a request of that name; else nil.
func (k *turnKeeper) takeTurn(line *turns.Line, name string) (t *turns.Turn) {
	if k == nil || !k.turn.IsOf(line, name) {
		return nil
	}
	t, k.turn = k.turn, nil
	return t
}

// hasTurn reports whether a turn is kept.
func (k *turnKeeper) hasTurn() bool { return k != nil && k.turn != nil }

// yieldTurn gives the turn back before the request waits, but not more than maxYields times.
func (k *turnKeeper) yieldTurn() {
	if k.hasTurn() && k.yielded < maxYields {
		k.yielded++
		k.endTurn()
	}
}

// YieldTurn gives the turn back that the request of ctx has kept, before it waits.
func YieldTurn(ctx context.Context) { keptTurn(ctx).yieldTurn() }

// endTurn gives the turn back.
func (k *turnKeeper) endTurn() {
	if k.hasTurn() {
		k.turn.End()
		k.turn = nil
	}
}

// retryOnReload makes a request, and makes it again if a reload came between.
func (s *Sender) retryOnReload(ctx context.Context, request func(context.Context) (jsonrpc.Answer, error)) jsonrpc.Answer {
	if s.Turns.BoundsAny() {
		kept := &turnKeeper{}
		defer kept.endTurn()
		ctx = context.WithValue(ctx, turnKey{}, kept)
	}
	return configuration.RetryOnReload(func() (jsonrpc.Answer, error) { return request(ctx) })
}

// keepTurn has the turn kept while the call is judged again.
func (c *Call) keepTurn(ctx context.Context) {
	if k := keptTurn(ctx); k != nil && c.turn != nil {
		k.endTurn()
		k.turn, c.turn = c.turn, nil
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
	c.turn.End()
	c.turn = nil
}

// limitedName returns the name by which limits of hub.json are for a call: the tool's own name, or the method.
func (c *Call) limitedName() string {
	if t, ok := c.target.(*toolTarget); ok {
		return t.tool.Remote
	}
	return c.target.requestMethod()
}
