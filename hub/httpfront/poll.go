package httpfront

import (
	"context"

	"mcphub/hub/httpfront/events"
)

// This file is about the polling of streams (2025-11-25, Sending Messages to the Server, 6; SEP-1699).

// polls reports whether the connection of the reply may end before the
// reply does: the client was told where to go on and comes back.
func (reply *Reply) polls() bool {
	return reply.poll > 0 && reply.events && primes(reply.protocol)
}

// write writes the stream to the connection of the POST, as long as that lasts.
func (reply *Reply) write() {
	defer close(reply.written)
	events.WriteHeader(reply.w)
	if !reply.polls() {
		reply.st.Follow(reply.ctx, reply.w, 1, !reply.unkept && primes(reply.protocol), nil)
		return
	}
	ctx, cancel := context.WithTimeout(reply.ctx, reply.poll)
	defer cancel()
	if reply.st.Follow(ctx, reply.w, 1, true, nil) {
		return
	}
	reply.mu.Lock() // late may be at the connection
	defer reply.mu.Unlock()
	close(reply.left)
}

// gone reports whether the connection was given back. The caller holds mu.
func (reply *Reply) gone() bool {
	select {
	case <-reply.left:
		return true
	default: // also where the reply does not poll
		return false
	}
}

// primes reports whether a client of a protocol version expects streams to
// begin with an event without a message (2025-11-25; older ones may not read it).
func primes(protocol string) bool { return protocol >= "2025-11-25" }
