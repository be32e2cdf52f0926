package httpfront

import (
	"context"
)

// This file is about the polling of streams (2025-11-25, Sending Messages to the Server, 6; SEP-1699).

// polls reports whether the connection of the reply may end before the
// reply does: the client was told where to go on and comes back.
func (x *Reply) polls() bool {
	return x.poll > 0 && x.events && primes(x.protocol)
}

// write writes the stream to the connection of the POST, as long as that lasts.
func (x *Reply) write() {
	defer close(x.written)
	writeEvents(x.w)
	if !x.polls() {
		x.st.follow(x.ctx, x.w, 1, !x.unkept && primes(x.protocol), nil)
		return
	}
	ctx, cancel := context.WithTimeout(x.ctx, x.poll)
	defer cancel()
	if x.st.follow(ctx, x.w, 1, true, nil) {
		return
	}
	x.mu.Lock() // late may be at the connection
	defer x.mu.Unlock()
	close(x.left)
}

// gone reports whether the connection was given back. The caller holds mu.
func (x *Reply) gone() bool {
	select {
	case <-x.left:
		return true
	default: // also where the reply does not poll
		return false
	}
}

// primes reports whether a client of a protocol version expects streams to
// begin with an event without a message (2025-11-25; older ones may not read it).
func primes(protocol string) bool { return protocol >= "2025-11-25" }
