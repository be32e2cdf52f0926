package limits

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"
)

// DefaultMaxStarting bounds how many children start at a time.
const DefaultMaxStarting = 8

const (
	// turnTime bounds how long a child that starts keeps others from starting.
	turnTime = 3 * time.Second
	// loadTime bounds how long one is taken to keep a processor busy.
	loadTime = 200 * time.Millisecond
)

// Turns bound how many children start at a time: in all, and of them the ones
// that are loading their programs. More of the latter than the processors can
// do would make the first one ready as late as the last.
type Turns struct {
	starting, loading *queue
}

// NewTurns returns the ones that let so many start at a time; 0: DefaultMaxStarting.
func NewTurns(most int) Turns {
	if most <= 0 {
		most = DefaultMaxStarting
	}
	return Turns{starting: newQueue(most), loading: newQueue(min(most, 2*runtime.GOMAXPROCS(0)))}
}

// A Turn is the right of one child to start.
type Turn struct {
	held []heldTurn
}

// A heldTurn ends once, by its timer or by Turn.End.
type heldTurn struct {
	timer *time.Timer
	give  func()
}

// Take waits for a turn; nil when ctx ends first. waits is called if there is none at once. A
// turn ends early for a child that takes long: being slow delays no one. A free turn goes to the
// waiting owner that has the fewest. So an owner who starts many children delays another by one
// turn at most. Owner "" is no one in particular.
func (all Turns) Take(ctx context.Context, owner string, waits func()) *Turn {
	t := &Turn{}
	for _, of := range []struct {
		queue *queue
		most  time.Duration
	}{{all.starting, turnTime}, {all.loading, loadTime}} {
		if !of.queue.takeTurn(ctx, owner, waits) {
			t.End()
			return nil
		}
		give := func() { of.queue.giveTurn(owner) }
		t.held = append(t.held, heldTurn{time.AfterFunc(of.most, give), give})
	}
	return t
}

// End gives back what time has not taken. Calling it again does nothing.
func (t *Turn) End() {
	for _, h := range t.held {
		if h.timer.Stop() {
			h.give()
		}
	}
	t.held = nil
}

// A queue is a number of turns, and who waits for one. None is free while someone waits.
type queue struct {
	mu      sync.Mutex
	free    int
	held    map[string]int       // turns of each owner
	waiting map[string][]*waiter // of each owner, the first one first
	count   uint64               // of those who have waited
}

// A waiter is told by its channel that it has a turn.
type waiter struct {
	number uint64
	turn   chan struct{}
}

func newQueue(turns int) *queue {
	return &queue{free: turns, held: map[string]int{}, waiting: map[string][]*waiter{}}
}

// takeTurn waits for a turn; false when ctx ends first.
func (q *queue) takeTurn(ctx context.Context, owner string, waits func()) bool {
	q.mu.Lock()
	if q.free > 0 {
		q.free--
		q.held[owner]++
		q.mu.Unlock()
		return true
	}
	q.count++
	w := &waiter{q.count, make(chan struct{})}
	q.waiting[owner] = append(q.waiting[owner], w)
	q.mu.Unlock()
	waits()
	select {
	case <-w.turn:
		return true
	case <-ctx.Done():
	}
	if !q.leaveQueue(owner, w) { // it was given one meanwhile
		q.giveTurn(owner)
	}
	return false
}

// leaveQueue takes a waiter out; false if it has a turn.
func (q *queue) leaveQueue(owner string, w *waiter) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.waiting[owner], w)
	if i >= 0 {
		q.setWaiting(owner, slices.Delete(q.waiting[owner], i, i+1))
	}
	return i >= 0
}

// setWaiting expects the caller to hold mu.
func (q *queue) setWaiting(owner string, all []*waiter) {
	if len(all) == 0 {
		delete(q.waiting, owner)
		return
	}
	q.waiting[owner] = all
}

// giveTurn hands a turn of an owner to who waits and has the fewest, the longest one of several.
func (q *queue) giveTurn(owner string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.held[owner]--; q.held[owner] == 0 {
		delete(q.held, owner)
	}
	next, found := "", false
	for o, all := range q.waiting {
		if !found || q.held[o] < q.held[next] || q.held[o] == q.held[next] && all[0].number < q.waiting[next][0].number {
			next, found = o, true
		}
	}
	if !found {
		q.free++
		return
	}
	q.held[next]++
	close(q.waiting[next][0].turn)
	q.setWaiting(next, q.waiting[next][1:])
}
