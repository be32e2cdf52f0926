package call

import (
	"context"
	"errors"
	"fmt"

	"mcphub/hub/client"
	"mcphub/hub/configuration"
	"mcphub/hub/turns"
	"mcphub/internal/jsonrpc"
	"mcphub/validate/policy"
)

// This file has a call wait for its turn at a server to which hub.json lets only so many calls.

// judgeInTurn judges a call, has a person asked about it, and waits for its turn. A call that has waited is judged again: the roots,
// its child and the rules may be others by then. While it waits, for a person too, it holds neither a lease nor a turn.
func (c *Call) judgeInTurn(ctx context.Context) (*attempt, error) {
	for {
		att, err := c.prepareAttempt(ctx)
		if err == nil && att.verdict.Decision == policy.Escalate {
			c.endTurn()
			att, err = c.askApproval(ctx, att)
		}
		if err != nil || !att.isAllowed() || c.notification {
			return att, err
		}
		waited, err := c.takeTurn(ctx, att)
		if err != nil {
			c.sender.Approvals.Done(att.approval)
			return nil, err
		}
		if !waited {
			return att, nil
		}
	}
}

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
	turn, waits, err := line.TakeTurn(c.sender.ID, name)
	if err != nil {
		att.lease.Release()
		return false, err
	}
	c.turn = turn
	if !waits {
		return false, nil
	}
	att.lease.Release()
	att.client.YieldTurn()
	over := client.RequestOf(ctx).Notice.Waiting(func() string {
		place, of := turn.PlaceInLine()
		return fmt.Sprintf("waiting for a turn at %s: place %d of %d", att.child, place, of)
	})
	err = turn.AwaitBegin(ctx)
	over()
	return true, err
}

// A turnKeeper has the turn of a request that a reload has overtaken once its turn had come: looked up again, the request does not go
// back to the end of the line. It belongs to the goroutine of the request.
type turnKeeper struct{ turn *turns.Turn }

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

// retryOnReload makes a request, and makes it again if a reload came between.
func (s *Sender) retryOnReload(ctx context.Context, request func(context.Context) (jsonrpc.Answer, error)) jsonrpc.Answer {
	if s.Turns.BoundsAny() {
		kept := &turnKeeper{}
		defer func() { kept.turn.End() }()
		ctx = context.WithValue(ctx, turnKey{}, kept)
	}
	return configuration.RetryOnReload(func() (jsonrpc.Answer, error) { return request(ctx) })
}

// leaveTurn keeps the turn of a call that a reload has overtaken, and gives back the turn of any other.
func (c *Call) leaveTurn(ctx context.Context, err error) {
	if k := keptTurn(ctx); k != nil && errors.Is(err, configuration.ErrSuperseded) && c.turn != nil {
		k.turn.End()
		k.turn, c.turn = c.turn, nil
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
