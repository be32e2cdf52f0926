package httpfront

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"mcphub/internal/jsonrpc"
)

// Bounds of one stream of server-sent events, in bytes and time.
const (
	streamWaiting = 8 << 20          // waiting in all streams of a session; beyond it notifications are dropped, beyond twice that nothing is asked
	streamAlone   = 1 << 20          // notifications waiting for a client that has no stream of its own open
	streamReplay  = 64 << 10         // written and kept, should the client ask for it again
	heartbeat     = 15 * time.Second // of a stream on which nothing happens
)

// retryTime is how long a client whose connection ended waits before it comes
// back for the rest of a stream.
const retryTime = time.Second

// A stream is an ordered flow of events to one client. What is put in stays
// until it was written, and a while longer, so that a client whose connection
// broke can go on where it was (Last-Event-ID). One connection at a time
// follows it; who comes later takes it over.
type stream struct {
	id      string        // of this stream within its session; "": nobody comes back to it
	waiting *atomic.Int64 // unsent of all streams of the session
	lonely  int           // most bytes unsent while no connection follows; 0: streamWaiting

	mu     sync.Mutex
	events []event
	first  uint64    // number of events[0]; numbers start at 1
	held   int       // bytes in events
	unsent int       // bytes of them that were not written yet
	sent   uint64    // events below this number were written
	ended  bool      // no event follows
	over   time.Time // since when
	news   chan struct{}
	kick   chan struct{} // closed when the connection that follows has to leave; nil where there is none
}

// An event is one frame. Its parts are left to the garbage collector and never
// used again by others: a connection that was given up may still be writing them.
type event struct {
	parts [][]byte
	size  int
}

func newStream(id string, waiting *atomic.Int64) *stream {
	return &stream{id: id, waiting: waiting, first: 1, sent: 1, news: make(chan struct{})}
}

// weight is how much an event matters.
type weight int

const (
	asNote     weight = iota // dropped where there is no room
	asQuestion               // fails where the client has not read for long
	asReply                  // always taken in: its number is that of the requests
)

// room reports whether there is room for an event. The caller holds mu.
func (st *stream) room(size int, w weight) bool {
	waiting := st.waiting.Load()
	switch w {
	case asReply:
		return true
	case asQuestion:
		return waiting <= 2*streamWaiting
	}
	if st.lonely > 0 && st.kick == nil && st.unsent+size > st.lonely {
		return false
	}
	return waiting == 0 || waiting+int64(size) <= streamWaiting
}

// put adds an event; false: the stream has ended, or there was no room.
func (st *stream) put(e event, w weight) bool {
	for _, p := range e.parts {
		e.size += len(p)
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.ended || !st.room(e.size, w) {
		return false
	}
	st.events = append(st.events, e)
	st.held += e.size
	st.unsent += e.size
	st.waiting.Add(int64(e.size))
	st.wake()
	return true
}

// end says that nothing follows.
func (st *stream) end() {
	st.mu.Lock()
	defer st.mu.Unlock()
	if !st.ended {
		st.ended, st.over = true, time.Now()
		st.wake()
	}
}

func (st *stream) wake() {
	close(st.news)
	st.news = make(chan struct{})
}

// unread is the number of the first event that was not written yet.
func (st *stream) unread() uint64 {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.sent
}

// knows reports whether an event number was given out, or is the one before the
// first, which streams start with.
func (st *stream) knows(n uint64) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return n < st.first+uint64(len(st.events))
}

// complete reports whether nothing follows from an event number on.
func (st *stream) complete(from uint64) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.ended && from >= st.first+uint64(len(st.events))
}

// holds is how many bytes the stream keeps.
func (st *stream) holds() int {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.held
}

// live reports whether a connection follows the stream.
func (st *stream) live() bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.kick != nil
}

// drop ends the stream and lets go of everything that it holds.
func (st *stream) drop() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.waiting.Add(-int64(st.unsent))
	st.events, st.held, st.unsent, st.ended = nil, 0, 0, true
	st.first = st.sent
	st.wake()
}

// follow writes the stream to one connection: the events from number from on,
// as far as they are still held, and what comes, until the stream has ended
// and all is written (done), ctx ends, the client does not take it, or another
// connection takes over. started, where set, is called once the stream is live.
func (st *stream) follow(ctx context.Context, w http.ResponseWriter, from uint64, prime bool, started func()) (done bool) {
	kick := make(chan struct{})
	st.mu.Lock()
	if st.kick != nil {
		close(st.kick)
	}
	st.kick = kick
	from = max(from, st.first)
	st.mu.Unlock()
	defer func() {
		st.mu.Lock()
		if st.kick == kick {
			st.kick = nil
		}
		st.mu.Unlock()
	}()
	if started != nil {
		started()
	}
	out := &eventWriter{w: w, c: http.NewResponseController(w), stream: st.id}
	if prime && !out.prime(from-1) {
		return false
	}
	beat := time.NewTimer(heartbeat)
	defer beat.Stop()
	for {
		st.mu.Lock()
		var next []event
		if from = max(from, st.first); from-st.first < uint64(len(st.events)) {
			next = append(next, st.events[from-st.first:]...)
		}
		news, over := st.news, st.ended
		st.mu.Unlock()
		if len(next) > 0 {
			for _, e := range next {
				select {
				case <-kick: // what is left belongs to who took over
					return false
				default:
				}
				if !out.event(from, e) {
					return false
				}
				from++
				st.written(from)
			}
			if !out.flush() {
				return false
			}
			continue
		}
		if over {
			return true
		}
		beat.Reset(heartbeat)
		select {
		case <-news:
		case <-beat.C:
			if !out.comment() {
				return false
			}
		case <-kick:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// written notes that everything below a number is with the client, and lets go
// of what is more than a client may want again.
func (st *stream) written(below uint64) {
	st.mu.Lock()
	defer st.mu.Unlock()
	for n := max(st.sent, st.first); n < below && n-st.first < uint64(len(st.events)); n++ {
		st.unsent -= st.events[n-st.first].size
		st.waiting.Add(-int64(st.events[n-st.first].size))
	}
	st.sent = max(st.sent, below)
	keep := streamReplay
	if st.id == "" {
		keep = 0
	}
	for len(st.events) > 0 && st.first < st.sent && st.held-st.unsent > keep {
		st.held -= st.events[0].size
		st.events[0] = event{}
		st.events = st.events[1:]
		st.first++
	}
}

// eventWriter writes server-sent events.
type eventWriter struct {
	w      http.ResponseWriter
	c      *http.ResponseController
	stream string
	buf    []byte
}

// prime tells an id without a message, from which the client may go on should
// its connection end before there is one, and when (2025-11-25, Streamable HTTP).
func (o *eventWriter) prime(number uint64) bool {
	b := append(o.id(nil, number), "retry: "...)
	b = append(strconv.AppendInt(b, retryTime.Milliseconds(), 10), "\ndata: \n\n"...)
	return o.write(b) && o.flush()
}

func (o *eventWriter) id(b []byte, number uint64) []byte {
	if o.stream == "" {
		return b
	}
	b = append(append(append(b, "id: "...), o.stream...), '-')
	return append(strconv.AppendUint(b, number, 10), '\n')
}

func (o *eventWriter) event(number uint64, e event) bool {
	o.buf = append(o.id(append(o.buf[:0], "event: message\n"...), number), "data: "...)
	for _, p := range e.parts {
		// A line end in a frame stands between tokens; a field of an event ends
		// there, so the rest is another line of the same field.
		for {
			i := bytes.IndexAny(p, "\r\n")
			if i < 0 {
				break
			}
			if !o.part(p[:i]) {
				return false
			}
			o.buf = append(o.buf, "\ndata: "...)
			if p[i] == '\r' && i+1 < len(p) && p[i+1] == '\n' {
				i++
			}
			p = p[i+1:]
		}
		if !o.part(p) {
			return false
		}
	}
	o.buf = append(o.buf, "\n\n"...)
	b := o.buf
	o.buf = o.buf[:0]
	return o.write(b)
}

// part adds bytes of a frame: small ones are gathered, large ones written from
// where they are.
func (o *eventWriter) part(p []byte) bool {
	if len(p) <= 16<<10 {
		o.buf = append(o.buf, p...)
		return true
	}
	b := o.buf
	o.buf = o.buf[:0]
	return o.write(b) && o.write(p)
}

func (o *eventWriter) comment() bool { return o.write([]byte(": \n\n")) && o.flush() }

func (o *eventWriter) write(b []byte) bool { return writeChunks(o.w, o.c, b) }

func (o *eventWriter) flush() bool { return o.c.Flush() == nil }

// frameOf is the event of a request or notification of the hub.
func frameOf(id []byte, method string, params [][]byte) event {
	b := append([]byte(nil), `{"jsonrpc":"2.0",`...)
	if id != nil {
		b = append(append(append(b, `"id":`...), id...), ',')
	}
	b = jsonrpc.AppendString(append(b, `"method":`...), method)
	if n := len(bytes.Join(params, nil)); n > 0 {
		b = append(b, `,"params":`...)
		for _, p := range params {
			b = append(b, p...)
		}
	}
	return event{parts: [][]byte{append(b, '}')}}
}

// spare reports whether half of the session's room is free.
func (st *stream) spare() bool { return st.waiting.Load() <= streamWaiting/2 }
