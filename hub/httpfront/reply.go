package httpfront

import (
	"bytes"
	"context"
	"net/http"
	"sync"
	"time"

	"mcphub/internal/jsonrpc"
)

// A Reply is the answer to one request of a client, and everything that is said on
// its account. The goroutine of the POST serves the request; what has to be said
// before the answer opens a stream, written by a goroutine of its own.
type Reply struct {
	c        *Peer
	id       []byte          // raw
	events   bool            // the client takes a stream of events as the answer
	unkept   bool            // what was said is not kept for a client that comes back
	ctx      context.Context // of the connection
	w        http.ResponseWriter
	protocol string
	started  time.Time
	slow     link[Reply]
	poll     time.Duration // its connection lasts no longer; 0: as long as the request
	left     chan struct{} // closed when the connection ended before the request; nil where the client does not poll

	mu      sync.Mutex
	st      *stream       // nil until something is said before the answer
	over    bool          // it was answered
	written chan struct{} // closed when nothing writes to w any more; nil without a stream
}

// start gives the reply the connection that its request came on.
func (x *Reply) start(ctx context.Context, w http.ResponseWriter, protocol string) {
	x.ctx, x.w, x.protocol, x.started = ctx, w, protocol, time.Now()
	x.c.slow.add(x)
}

// extendWrite gives an answer that comes late its time to be written.
func (x *Reply) extendWrite(w http.ResponseWriter) {
	if time.Since(x.started) > writeTimeout/2 {
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout))
	}
}

// late notes that the answer takes its time: the time for reading the request no
// longer counts, and the client is shown that there is life.
func (x *Reply) late() {
	x.mu.Lock()
	if !x.over && !x.gone() { // else the connection serves another request
		_ = http.NewResponseController(x.w).SetReadDeadline(time.Time{})
	}
	x.mu.Unlock()
	x.flow()
}

// flow returns the stream of the reply, opened now if need be; nil where
// there can be none.
func (x *Reply) flow() *stream {
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
	if x.unkept {
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
func (x *Reply) finish(a jsonrpc.Answer, cancelled bool) bool {
	x.c.slow.remove(x)
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
	if x.unkept {
		st.drop()
	} else {
		x.c.finish(st)
	}
	return true
}

// Lend lets the hub's own questions go on this reply, where the client has no stream
// of its own, until back is called.
func (x *Reply) Lend() (back func()) {
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

// Reaches reports whether the client takes a stream, and so can be told anything
// before the answer.
func (x *Reply) Reaches() bool { return x.events }

// TryNotify puts a notification before the answer; on the client's own stream
// where this request can have none.
func (x *Reply) TryNotify(method string, params ...[]byte) bool {
	if st := x.flow(); st != nil {
		return st.put(frameOf(nil, method, params), asNote)
	}
	return x.c.TryNotify(method, params...)
}

// Notify is TryNotify for one that must arrive.
func (x *Reply) Notify(ctx context.Context, method string, params ...[]byte) error {
	if st := x.flow(); st != nil && st.put(frameOf(nil, method, params), asQuestion) {
		return nil
	}
	return x.c.Notify(ctx, method, params...)
}

// TrySpare is TryNotify where half of the room of the stream is free.
func (x *Reply) TrySpare(method string, params ...[]byte) bool {
	if st := x.flow(); st != nil {
		return st.spare() && st.put(frameOf(nil, method, params), asNote)
	}
	return x.c.TrySpare(method, params...)
}

// Call asks the client before the answer; where the request can have no stream, on
// the client's own.
func (x *Reply) Call(ctx context.Context, method string, params ...[]byte) (*jsonrpc.Response, error) {
	if st := x.flow(); st != nil {
		return x.c.ask(ctx, st, method, params)
	}
	return x.c.Call(ctx, method, params...)
}
