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
	// slotTime bounds how long a child that starts keeps others from starting.
	slotTime = 3 * time.Second
	// loadTime bounds how long one is taken to keep a processor busy.
	loadTime = 200 * time.Millisecond
)

// StartSlots bound how many children start at a time: in all, and of them the ones
// that are loading their programs. More of the latter than the processors can
// do would make the first one ready as late as the last.
type StartSlots struct {
	starting, loading *queue
}

// NewStartSlots returns the ones that let so many start at a time; 0: DefaultMaxStarting.
func NewStartSlots(most int) StartSlots {
	if most <= 0 {
		most = DefaultMaxStarting
	}
	return StartSlots{starting: newQueue(most), loading: newQueue(min(most, 2*runtime.GOMAXPROCS(0)))}
}

// A StartSlot is the right of one child to start.
type StartSlot struct {
	held []heldSlot
}

// A heldSlot ends once, by its timer or by StartSlot.End.
type heldSlot struct {
	timer *time.Timer
	give  func()
}

// Take waits for a slot; nil when ctx ends first. waits is called if there is none at once. A
// slot ends early for a child that takes long: being slow delays no one. A free slot goes to the
// waiting owner that has the fewest. So an owner who starts many children delays another by one
// slot at most. Owner "" is no one in particular.
func (all StartSlots) Take(ctx context.Context, owner string, waits func()) *StartSlot {
	t := &StartSlot{}
	for _, of := range []struct {
		queue *queue
		most  time.Duration
	}{{all.starting, slotTime}, {all.loading, loadTime}} {
		if !of.queue.takeSlot(ctx, owner, waits) {
			t.End()
			return nil
		}
		give := func() { of.queue.giveSlot(owner) }
		t.held = append(t.held, heldSlot{time.AfterFunc(of.most, give), give})
	}
	return t
}

// End gives back what time has not taken. Calling it again does nothing.
func (t *StartSlot) End() {
	for _, h := range t.held {
		if h.timer.Stop() {
			h.give()
		}
	}
	t.held = nil
}

// A queue is a number of slots, and who waits for one. None is free while someone waits.
type queue struct {
	mu      sync.Mutex
	free    int
	held    map[string]int       // slots of each owner
	waiting map[string][]*waiter // of each owner, the first one first
	count   uint64               // of those who have waited
}

// A waiter is told by its channel that it has a slot.
type waiter struct {
	number uint64
	slot   chan struct{}
}

func newQueue(slots int) *queue {
	return &queue{free: slots, held: map[string]int{}, waiting: map[string][]*waiter{}}
}

// takeSlot waits for a slot; false when ctx ends first.
func (q *queue) takeSlot(ctx context.Context, owner string, waits func()) bool {
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
	case <-w.slot:
		return true
	case <-ctx.Done():
	}
	if !q.leaveQueue(owner, w) { // it was given one meanwhile
		q.giveSlot(owner)
	}
	return false
}

// leaveQueue takes a waiter out; false if it has a slot.
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

// giveSlot hands a slot of an owner to who waits and has the fewest, the longest one of several.
func (q *queue) giveSlot(owner string) {
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
	close(q.waiting[next][0].slot)
	q.setWaiting(next, q.waiting[next][1:])
}
