package hub

import (
	"bytes"
	"context"
	"sync"
	"time"

	"mcphub/hub/tasks"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/printable"
	"mcphub/internal/worker"
)

// An outbox holds what a client tells children, until it was passed on: in the
// order told, and not on the client's read loop. What there is no room for is
// dropped: a notification promises nobody anything.
type outbox struct {
	passing worker.Worker // empties it

	mu      sync.Mutex
	pending []notification
	bytes   int
}

// A notification is one of the client, and how it is passed on.
type notification struct {
	size int
	pass func(ctx context.Context)
}

// Bounds of what waits in one outbox.
const (
	mostPending     = 64
	maxPendingBytes = 4 << 20
)

// put takes a notification in; false where there is no room.
func (o *outbox) put(size int, pass func(ctx context.Context)) bool {
	o.mu.Lock()
	room := len(o.pending) < mostPending && o.bytes+size <= maxPendingBytes
	if room {
		o.pending = append(o.pending, notification{size, pass})
		o.bytes += size
	}
	o.mu.Unlock()
	if room {
		o.passing.Wake()
	}
	return room
}

// empty passes on what is there until nothing is left, or ctx ends.
func (o *outbox) empty(ctx context.Context) {
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

// carry passes a notification that the protocol does not know on to the child
// that it belongs to.
func (s *Session) carry(m *jsonrpc.Message) {
	own := &jsonrpc.Message{}
	if jsonrpc.Split(bytes.Clone(m.Frame), true, own) != nil || !own.IsNotification() {
		return
	}
	ok := s.outbox.put(len(own.Frame), func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, s.hub.now().StartLimit(""))
		defer cancel()
		if a := s.calls.ServeExtension(ctx, own); a.Error != nil {
			s.log.Debug().Str("method", printable.Escape(own.Method, 100)).Str("reason", jsonrpc.ParseError(a.Error).Message).Msg("notification of the client not passed on")
		}
	})
	if !ok {
		s.log.Warn().Str("method", printable.Escape(own.Method, 100)).Int("bytes", len(own.Frame)).Msg("notification of the client dropped: too many wait to be passed on")
	}
}

// clientTold passes on what the client tells of a task that it made for a child.
// News that there is no room for are dropped: nobody may rely on them.
func (s *Session) clientTold(m *jsonrpc.Message) {
	id, _ := jsonrpc.String(m.Param("taskId"))
	k, ok := s.tasks.MadeFor(id)
	if !ok {
		return
	}
	params := bytes.Clone(m.Params)
	s.outbox.put(len(params), func(ctx context.Context) {
		if lease, ok := s.hub.sup.TryAcquire(k); ok {
			soon, cancel := context.WithTimeout(ctx, time.Second)
			_ = lease.Notify(soon, tasks.MethodStatus, params)
			cancel()
			lease.Release()
		}
	})
}
