package hub

import (
	"bytes"
	"context"
	"net/http"
	"sync"
	"time"

	"mcphub/internal/jsonrpc"
)

// An exchange is one request of the client and everything that is said on its
// account. It is the peer of whatever the request causes. The goroutine of the
// POST serves the request; what has to be said before the answer opens a stream,
// written by a goroutine of its own.
type exchange struct {
	c        *httpClient
	client   handshakeClient // who made the request, unless of the modern era
	lost     bool            // what was said is not kept for who comes back: the modern era
	id       []byte          // raw
	events   bool            // the client takes a stream of events as the answer
	ctx      context.Context // of the connection
	w        http.ResponseWriter
	protocol string
	began    time.Time
	late     lateness
	poll     time.Duration // its connection lasts no longer; 0: as long as the request
	left     chan struct{} // closed when the connection ended before the request; nil where the client does not poll

	mu      sync.Mutex
	st      *stream       // nil until something is said before the answer
	over    bool          // it was answered
	written chan struct{} // closed when nothing writes to w any more; nil without a stream
}

func newExchange(c *httpClient, id []byte, events bool) *exchange {
	x := &exchange{c: c, id: id, events: events}
	x.client = handshakeClient{x, c.s}
	return x
}

// begin gives the exchange the connection that its request came on.
func (x *exchange) begin(ctx context.Context, w http.ResponseWriter, protocol string) {
	x.ctx, x.w, x.protocol, x.began = ctx, w, protocol, time.Now()
	x.c.watch.add(x)
}

// tarry notes that the answer takes its time: the time for reading the request
// no longer counts, and the client is shown that there is life.
func (x *exchange) tarry() {
	x.mu.Lock()
	if !x.over && !x.gone() { // else the connection serves another request
		_ = http.NewResponseController(x.w).SetReadDeadline(time.Time{})
	}
	x.mu.Unlock()
	x.flow()
}

// flow returns the stream of the exchange, opened now if need be; nil where
// there can be none.
func (x *exchange) flow() *stream {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case x.over || !x.events:
		return nil
	case x.st != nil:
		return x.st
	case x.ctx.Err() != nil: // the connection broke; what has no stream by then gets none
		return nil
	}
	if x.lost {
		x.st = newStream("", &x.c.unsent)
	} else {
		x.st = x.c.flow()
	}
	x.written = make(chan struct{})
	go x.write()
	return x.st
}

// finish answers the request on its stream, which ends, and returns when that
// is written or the connection gone; false: there is none. Nothing is said for
// a request that was cancelled.
func (x *exchange) finish(a jsonrpc.Answer, cancelled bool) bool {
	x.c.watch.remove(x)
	x.mu.Lock()
	x.over = true
	st := x.st
	x.mu.Unlock()
	if st == nil {
		return false
	}
	if !cancelled {
		parts := answerParts(bytes.Clone(x.id), a) // x.id is a part of the request, which would be kept with it
		st.put(event{parts: parts[:]}, asReply)
	}
	st.end()
	<-x.written
	if x.lost {
		st.drop()
	} else {
		x.c.finish(st)
	}
	return true
}

// lend lets the hub's own questions go on the exchange (R2).
func (x *exchange) lend() (back func()) {
	x.c.mu.Lock()
	x.c.tab.lent = append(x.c.tab.lent, x)
	x.c.mu.Unlock()
	x.c.news()
	return func() {
		x.c.mu.Lock()
		defer x.c.mu.Unlock()
		for i, l := range x.c.tab.lent {
			if l == x {
				x.c.tab.lent = append(x.c.tab.lent[:i:i], x.c.tab.lent[i+1:]...)
				return
			}
		}
	}
}

// Reaches reports whether the client takes a stream.
func (x *exchange) Reaches() bool { return x.events }

// TryNotify puts a notification before the answer; on the client's own stream
// where this request can have none.
func (x *exchange) TryNotify(method string, params ...[]byte) bool {
	if st := x.flow(); st != nil {
		return st.put(frameOf(nil, method, params), asNote)
	}
	return x.c.TryNotify(method, params...)
}

// Notify is TryNotify for one that must arrive.
func (x *exchange) Notify(ctx context.Context, method string, params ...[]byte) error {
	if st := x.flow(); st != nil && st.put(frameOf(nil, method, params), asQuestion) {
		return nil
	}
	return x.c.Notify(ctx, method, params...)
}

// Call asks the client before the answer. Where the request can have no stream
// the question goes on the client's own; one that is not opened in time ends it.
func (x *exchange) Call(ctx context.Context, method string, params ...[]byte) (*jsonrpc.Response, error) {
	if st := x.flow(); st != nil {
		return x.c.ask(ctx, st, method, params)
	}
	wait, cancel := context.WithTimeout(ctx, streamWait)
	defer cancel()
	st, err := x.c.way(wait)
	if err != nil {
		return nil, err
	}
	return x.c.ask(ctx, st, method, params)
}
