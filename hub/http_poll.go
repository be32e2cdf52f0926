package hub

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// This file holds what a client says about streams, and the polling of them
// (2025-11-25, Sending Messages to the Server, 6; SEP-1699).

// retryTime is how long a client whose connection ended waits before it comes
// back for the rest of a stream.
const retryTime = time.Second

// prefersEvents reports whether the client would rather have a stream: by its
// quality values (RFC 9110, 12.4.2), or where they are equal by what it names
// first. The client then gets one from the start, which costs it a flush for
// each answer; all others get one only where something is said before the answer.
func prefersEvents(h http.Header) bool {
	best, events := 0.0, false
	for _, v := range h["Accept"] {
		if v == usualAccept {
			return false
		}
		for kind := range strings.SplitSeq(v, ",") {
			kind, params, _ := strings.Cut(kind, ";")
			kind = strings.ToLower(strings.TrimSpace(kind))
			stream := kind == "text/event-stream"
			if !stream && kind != "application/json" {
				continue
			}
			if q := quality(params); q > best {
				best, events = q, stream
			}
		}
	}
	return events
}

// quality is the q of a media range, 1 where it has none that can be read.
func quality(params string) float64 {
	for p := range strings.SplitSeq(params, ";") {
		name, value, _ := strings.Cut(p, "=")
		if strings.EqualFold(strings.TrimSpace(name), "q") {
			if q, err := strconv.ParseFloat(strings.TrimSpace(value), 64); err == nil {
				return q
			}
		}
	}
	return 1
}

// polls reports whether the connection of the exchange may end before the
// exchange does: the client was told where to go on and comes back.
func (x *exchange) polls() bool {
	return x.poll > 0 && x.events && primes(x.protocol)
}

// serveExchange serves the request on the goroutine of its POST, or where the client
// polls on one of its own, which may take longer than the connection lasts.
// detached: release is called later.
func (f *httpFront) serveExchange(x *exchange, release func(), serve func()) (detached bool) {
	if !x.polls() {
		serve()
		return false
	}
	ended := make(chan struct{})
	f.lives.Go(func() { // the POST is one of lives, so nobody has waited for them yet
		defer release()
		defer close(ended)
		serve()
	})
	select {
	case <-ended:
	case <-x.left:
	}
	return true
}

// write writes the stream to the connection of the POST, as long as that lasts.
func (x *exchange) write() {
	defer close(x.written)
	writeEvents(x.w)
	if !x.polls() {
		x.st.follow(x.ctx, x.w, 1, !x.lost && primes(x.protocol), nil)
		return
	}
	ctx, cancel := context.WithTimeout(x.ctx, x.poll)
	defer cancel()
	if x.st.follow(ctx, x.w, 1, true, nil) {
		return
	}
	x.mu.Lock() // tarry may be at the connection
	defer x.mu.Unlock()
	close(x.left)
}

// gone reports whether the connection was given back. The caller holds mu.
func (x *exchange) gone() bool {
	select {
	case <-x.left:
		return true
	default: // also where the exchange does not poll
		return false
	}
}
