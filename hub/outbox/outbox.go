package outbox

import (
	"context"
	"sync"

	"mcphub/internal/worker"
)

// An Outbox holds what a client tells children, until it was passed on.
type Outbox struct {
	worker worker.Worker // empties it

	mu      sync.Mutex
	pending []notification
	bytes   int
}

// A notification is one of the client, and how it is passed on.
type notification struct {
	size int
	pass func(ctx context.Context)
}

// Bounds of what waits in one Outbox.
const (
	maxPending      = 64
	maxPendingBytes = 4 << 20
)

// Start has what is put in passed on. ctx is what it is passed on with.
func (o *Outbox) Start(ctx context.Context) {
	o.worker.Do = o.drainUntil
	o.worker.Start(ctx)
}

// Stop returns when nothing is passed on any more. End the context given to Start first.
func (o *Outbox) Stop() { o.worker.Stop() }

// Put takes a notification of so many bytes in; false if there is no room. Before Start it
// waits.
func (o *Outbox) Put(size int, pass func(ctx context.Context)) bool {
	o.mu.Lock()
	room := len(o.pending) < maxPending && o.bytes+size <= maxPendingBytes
	if room {
		o.pending = append(o.pending, notification{size, pass})
		o.bytes += size
	}
	o.mu.Unlock()
	if room {
		o.worker.Wake()
	}
	return room
}

// drainUntil passes on what is there until nothing is left, or ctx ends.
func (o *Outbox) drainUntil(ctx context.Context) {
	for ctx.Err() == nil {
		o.mu.Lock()
		if len(o.pending) == 0 {
			o.pending = nil
			o.mu.Unlock()
			return
		}
		n := o.pending[0]
		o.pending = o.pending[1:]
		o.mu.Unlock()
		n.pass(ctx)
		o.mu.Lock()
		o.bytes -= n.size
		o.mu.Unlock()
	}
}
