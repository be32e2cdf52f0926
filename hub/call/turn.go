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

// ensureServerTurn takes the server turn of a call that is allowed, if it has none. If the turn had to be waited for, the lease of the attempt was given
// back, as with an error.
func (call *Call) ensureServerTurn(ctx context.Context, att *attempt) (waited bool, err error) {
	queue := call.sender.Turns.QueueOf(att.child)
	if queue == nil || call.serverTurn != nil {
		return false, nil
	}
	name := call.limitedName()
	if call.serverTurn = serverTurnKeeperOf(ctx).takeServerTurn(queue, name); call.serverTurn != nil {
		return false, nil
	}
	serverTurn, waits, err := queue.TakeTurn(call.sender.serverTurnOwner(), name)
	if err != nil {
		att.lease.Release()
		return false, err
	}
	call.serverTurn = serverTurn
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

// serverTurnOwner returns whose server turns the calls of the client are: more sessions of one principal have no more of them. The sessions of the local
// user are different programs, and each stands for itself.
func (s *Sender) serverTurnOwner() turns.TurnOwner {
	if s.Principal.Local {
		return turns.TurnOwner{Session: s.ID}
	}
	return turns.TurnOwner{Principal: s.Principal.String(), Session: s.ID}
}

// A serverTurnKeeper has the server turn of a request that is judged again: because it has waited for its turn, or because a reload has overtaken it
// once its turn had come. The request takes that turn if it is allowed, and does not go back to the end of the queue. Whatever makes it wait
// before gives the turn back, so that no client and no person keeps others from the server. It belongs to the goroutine of the request.
type serverTurnKeeper struct {
	serverTurn *turns.ServerTurn
	yielded    int
}

// maxYields bounds how often a request gives its server turn back because it has to wait for its client or for a process: a client that never says
// what its roots are would not get beyond the queue as long as others wait.
const maxYields = 3

type serverTurnKey struct{}

// serverTurnKeeperOf returns the keeper of the request of ctx; nil: it has none.
func serverTurnKeeperOf(ctx context.Context) *serverTurnKeeper {
	k, _ := ctx.Value(serverTurnKey{}).(*serverTurnKeeper)
	return k
}

// takeServerTurn returns the server turn that was kept, if it is of that queue and of a request of that name; else nil.
func (k *serverTurnKeeper) takeServerTurn(queue *turns.ServerQueue, name string) (t *turns.ServerTurn) {
	if k == nil || !k.serverTurn.IsOf(queue, name) {
		return nil
	}
	t, k.serverTurn = k.serverTurn, nil
	return t
}

// hasServerTurn reports whether a server turn is kept.
func (k *serverTurnKeeper) hasServerTurn() bool { return k != nil && k.serverTurn != nil }

// yieldServerTurn gives the server turn back before the request waits, but not more than maxYields times.
func (k *serverTurnKeeper) yieldServerTurn() {
	if k.hasServerTurn() && k.yielded < maxYields {
		k.yielded++
		k.endServerTurn()
	}
}

// YieldServerTurn gives the server turn back that the request of ctx has kept, before it waits.
func YieldServerTurn(ctx context.Context) { serverTurnKeeperOf(ctx).yieldServerTurn() }

// endServerTurn gives the server turn back.
func (k *serverTurnKeeper) endServerTurn() {
	if k.hasServerTurn() {
		k.serverTurn.End()
		k.serverTurn = nil
	}
}

// retryOnReload makes a request, and makes it again if a reload came between.
func (s *Sender) retryOnReload(ctx context.Context, request func(context.Context) (jsonrpc.Answer, error)) jsonrpc.Answer {
	if s.Turns.BoundsAny() {
		keeper := &serverTurnKeeper{}
		defer keeper.endServerTurn()
		ctx = context.WithValue(ctx, serverTurnKey{}, keeper)
	}
	return configuration.RetryOnReload(func() (jsonrpc.Answer, error) { return request(ctx) })
}

// keepServerTurn has the server turn kept while the call is judged again.
func (call *Call) keepServerTurn(ctx context.Context) {
	if k := serverTurnKeeperOf(ctx); k != nil && call.serverTurn != nil {
		k.endServerTurn()
		k.serverTurn, call.serverTurn = call.serverTurn, nil
	}
}

// keepOrEndServerTurn keeps the server turn of a call that a reload has overtaken, and gives back the turn of any other.
func (call *Call) keepOrEndServerTurn(ctx context.Context, err error) {
	if errors.Is(err, configuration.ErrSuperseded) {
		call.keepServerTurn(ctx)
	}
	call.endServerTurn()
}

// endServerTurn gives the server turn back.
func (call *Call) endServerTurn() {
	call.serverTurn.End()
	call.serverTurn = nil
}

// limitedName returns the name by which limits of hub.json are for a call: the tool's own name, or the method.
func (call *Call) limitedName() string {
	if t, ok := call.target.(*toolTarget); ok {
		return t.tool.OwnName
	}
	return call.target.requestMethod()
}
