package hub

import (
	"bytes"
	"context"
	"sync/atomic"

	"mcphub/internal/jsonrpc"
)

// An outbox holds what a client tells children, until the session's own goroutine
// has passed it on: in the order told, and not on the client's read loop. What
// there is no room for is dropped: a notification promises nobody anything.
type outbox struct {
	letters chan letter
	bytes   atomic.Int64
}

// A letter is one notification, and how it is passed on.
type letter struct {
	size int
	pass func(ctx context.Context)
}

// Bounds of what waits in one outbox.
const (
	mostLetters    = 64
	maxLetterBytes = 4 << 20
)

// put takes a letter in; false where there is no room.
func (o *outbox) put(size int, pass func(ctx context.Context)) bool {
	if o.bytes.Add(int64(size)) <= maxLetterBytes {
		select {
		case o.letters <- letter{size, pass}:
			return true
		default:
		}
	}
	o.bytes.Add(-int64(size))
	return false
}

// run passes on what is put until ctx ends.
func (o *outbox) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case l := <-o.letters:
			l.pass(ctx)
			o.bytes.Add(-int64(l.size))
		}
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
		ctx, cancel := context.WithTimeout(ctx, s.hub.now().startLimit(""))
		defer cancel()
		if a := s.recorded(ctx, own, s.extend); a.Error != nil {
			s.log.Debug().Str("method", shown(own.Method, 100)).Str("reason", jsonrpc.ParseError(a.Error).Message).Msg("notification of the client not passed on")
		}
	})
	if !ok {
		s.log.Warn().Str("method", shown(own.Method, 100)).Int("bytes", len(own.Frame)).Msg("notification of the client dropped: too many wait to be passed on")
	}
}
