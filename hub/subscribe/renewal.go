package subscribe

import (
	"context"
	"sync"
	"time"

	"mcphub/children"
	"mcphub/children/spec"
)

// This file makes the subscriptions of a session again at children that do not know them.

// A term is one instance for as long as it remembers subscriptions.
type term struct {
	key  spec.Key
	made children.Term
}

// A renewal knows at which term of each child all subscriptions were made. Its mutex is a leaf: a call that may not wait asks for it.
type renewal struct {
	mu    sync.Mutex
	last  map[string]term          // by child
	under map[string]chan struct{} // by child, at which they are being made; closed at the end
}

// isBehind reports whether subscriptions are still to be made at a term.
func (r *renewal) isBehind(at term) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.under[at.key.Child] != nil || r.last[at.key.Child] != at
}

// beginRenewal waits for another renewal at the same child. end reports that all subscriptions are made at the term. ok is false if ctx has
// ended.
func (r *renewal) beginRenewal(ctx context.Context, at term) (end func(), ok bool) {
	child := at.key.Child
	r.mu.Lock()
	for r.under[child] != nil {
		other := r.under[child]
		r.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, false
		}
		r.mu.Lock()
	}
	defer r.mu.Unlock()
	if r.under == nil {
		r.last, r.under = map[string]term{}, map[string]chan struct{}{}
	}
	done := make(chan struct{})
	r.under[child] = done
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.under, child)
		r.last[child] = at
		close(done)
	}, true
}

// IsBehind reports whether a child has yet to learn of subscriptions that an earlier process had. A call to it waits for Renew, or the
// notices of what it changes would be lost. It does not wait.
func (n *Notifier) IsBehind(k spec.Key, made children.Term) bool {
	return n.rows.Load() > 0 && n.renewal.isBehind(term{k, made})
}

// renewTime bounds how long a call waits for subscriptions.
const renewTime = 2 * time.Second

type renewKey struct{}

// Renew subscribes again at a child that is behind, and waits for its answers for a moment. A request of the renewal itself,
// which its ctx shows, waits for nothing.
func (n *Notifier) Renew(ctx context.Context, k spec.Key, made children.Term) {
	if ctx.Value(renewKey{}) != nil || !n.IsBehind(k, made) {
		return
	}
	done := make(chan struct{})
	n.worker.Go(func() { // a call that is given up ends no subscription
		defer close(done)
		n.renewAt(n.ctx, term{k, made})
	})
	limit := time.NewTimer(renewTime)
	defer limit.Stop()
	select {
	case <-done:
	case <-limit.C:
	case <-ctx.Done():
	}
}

// renewAt subscribes at an instance that was started again, or that the session has
// moved to, to what was asked for in an earlier Term of the child. A request that
// the child was started for is under way by itself. A URI that is outside the
// boundary by now is left out. What was wanted of a child that is not configured
// any more waits until it is again.
func (n *Notifier) renewAt(ctx context.Context, at term) {
	end, ok := n.renewal.beginRenewal(ctx, at)
	if !ok {
		return
	}
	defer end()
	ctx = context.WithValue(ctx, renewKey{}, true)
	for _, w := range n.table.findSubscriptions(n, func(r resource, _ *subscriber, sub subscription) bool {
		return r.key.Child == at.key.Child && (r.key != at.key || sub.made != at.made)
	}) {
		n.resubscribeOne(ctx, w)
	}
}
