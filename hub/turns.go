package hub

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// turns lets calls that bring their own roots into one instance of a child:
// those with the same roots together, those with others after them (C5). Who
// waits is let in in the order of arrival, but for this: with the first one that
// has its turn come all others that bring the same. Nobody who arrives later is
// let in before that, so a call waits for no more turns than there were calls
// before it. What the instance is served belongs to whoever has the turn.
type turns struct {
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

func newTurns(most int) *turns { return &turns{most: most} }

// enter waits for the turn of a call that brings a set of roots. Without an
// error the caller has it until it calls leave. While it waits hurry, where it is not
// nil, is called after givesWayAfter, and every few seconds from then on.
func (t *turns) enter(ctx context.Context, set string, hurry func()) error {
	k, ok := t.arrive(set)
	if !ok {
		return errTurns
	}
	select {
	case <-k.turn:
		return nil
	default:
	}
	patience := time.NewTimer(givesWayAfter)
	defer patience.Stop()
	for {
		select {
		case <-k.turn:
			return nil
		case <-ctx.Done():
			t.quit(k)
			return context.Cause(ctx)
		case <-patience.C:
			if hurry != nil {
				hurry()
			}
			patience.Reset(givesWayAfter / 10)
		}
	}
}

// arrive lines up a call; false: too many wait.
func (t *turns) arrive(set string) (*ticket, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := &ticket{set: set, turn: make(chan struct{})}
	switch free := t.inside == 0 || t.set == set && len(t.queue) == 0; {
	case free:
		t.set = set
		t.admit(k)
	case len(t.queue) >= t.most:
		return nil, false
	default:
		t.queue = append(t.queue, k)
	}
	return k, true
}

// change makes a turn one for another set of roots, where nobody else has one.
func (t *turns) change(set string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.inside != 1 {
		return false
	}
	t.set = set
	t.next()
	return true
}

// leave gives a turn back.
func (t *turns) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.inside--
	t.next()
}

// quit takes out a call that waits no more, or gives its turn back where that
// has come meanwhile.
func (t *turns) quit(k *ticket) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if k.in {
		t.inside--
	} else if i := slices.Index(t.queue, k); i >= 0 {
		t.queue = slices.Delete(t.queue, i, i+1)
	}
	t.next()
}

// next lets in whoever's turn it is. The caller holds mu.
func (t *turns) next() {
	if len(t.queue) == 0 || t.inside > 0 && t.queue[0].set != t.set {
		return
	}
	t.set = t.queue[0].set
	t.queue = slices.DeleteFunc(t.queue, func(k *ticket) bool {
		if k.set != t.set {
			return false
		}
		t.admit(k)
		return true
	})
}

// admit is for callers that hold mu.
func (t *turns) admit(k *ticket) {
	t.inside++
	k.in = true
	close(k.turn)
}
