package events

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

// Bounds of one stream, in bytes and time.
const (
	MaxWaiting = 8 << 20         // waiting in all streams of a session; beyond it notifications are dropped, beyond twice that nothing is asked
	MaxAlone   = 1 << 20         // notifications waiting for a client that has no stream of its own open
	replay     = 64 << 10        // written and kept, should the client ask for it again
	Heartbeat  = 8 * time.Second // of a stream on which nothing happens: proxies end a connection that is silent for ten to fifteen seconds
)

// retryTime is how long a client whose connection ended waits before it comes
// back for the rest of a stream.
const retryTime = time.Second

// A Stream is an ordered flow of events to one client. What is put in stays
// until it was written, and a while longer, so that a client whose connection
// broke can go on where it was (Last-Event-ID). One connection at a time
// follows it; who comes later takes it over.
type Stream struct {
	ID              string        // of this stream within its session; "": no one comes back to it
	waiting         *atomic.Int64 // unsent of all streams of the session
	UnfollowedLimit int           // most bytes unsent while no connection follows; 0: MaxWaiting

	mu     sync.Mutex
	events []Event
	first  uint64    // number of events[0]; numbers start at 1
	held   int       // bytes in events
	unsent int       // bytes of them that were not written yet
	sent   uint64    // events below this number were written
	ended  bool      // no event follows
	over   time.Time // since when
	news   chan struct{}
	kick   chan struct{} // closed when the connection that follows has to leave; nil if there is none
}

// An Event is one frame. Its Parts are left to the garbage collector and never
// used again by others: a connection that was given up may still be writing them.
type Event struct {
	Parts [][]byte
	size  int
}

// New makes a stream. waiting counts the bytes that wait in all streams of its session.
func New(id string, waiting *atomic.Int64) *Stream {
	return &Stream{ID: id, waiting: waiting, first: 1, sent: 1, news: make(chan struct{})}
}

// A Weight is how much an event matters.
type Weight int

const (
	MayDrop     Weight = iota // dropped if there is no room
	MustDeliver               // fails if the client has not read for long
	FinalAnswer               // always taken in: there is one for each request, and requests are bounded
)

// hasRoom reports whether there is room for an event. The caller holds mu.
func (st *Stream) hasRoom(size int, w Weight) bool {
	waiting := st.waiting.Load()
	switch w {
	case FinalAnswer:
		return true
	case MustDeliver:
		return waiting <= 2*MaxWaiting
	}
	if st.UnfollowedLimit > 0 && st.kick == nil && st.unsent+size > st.UnfollowedLimit {
		return false
	}
	return waiting == 0 || waiting+int64(size) <= MaxWaiting
}

// Put adds an event; false: the stream has ended, or there was no room.
func (st *Stream) Put(e Event, w Weight) bool {
	for _, p := range e.Parts {
		e.size += len(p)
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.ended || !st.hasRoom(e.size, w) {
		return false
	}
	st.events = append(st.events, e)
	st.held += e.size
	st.unsent += e.size
	st.waiting.Add(int64(e.size))
	st.wakeFollowers()
	return true
}

// End reports that nothing follows.
func (st *Stream) End() {
	st.mu.Lock()
	defer st.mu.Unlock()
	if !st.ended {
		st.ended, st.over = true, time.Now()
		st.wakeFollowers()
	}
}

func (st *Stream) wakeFollowers() {
	close(st.news)
	st.news = make(chan struct{})
}

// Unread returns the number of the first event that was not written yet.
func (st *Stream) Unread() uint64 {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.sent
}

// Knows reports whether an event number was given out, or is the one before the
// first, which streams start with.
func (st *Stream) Knows(n uint64) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return n < st.first+uint64(len(st.events))
}

// IsComplete reports whether nothing follows from an event number on.
func (st *Stream) IsComplete(from uint64) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.ended && from >= st.first+uint64(len(st.events))
}

// Bytes returns how many bytes the stream keeps.
func (st *Stream) Bytes() int {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.held
}

// HasFollower reports whether a connection follows the stream.
func (st *Stream) HasFollower() bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.kick != nil
}

// Drop ends the stream and lets go of everything that it holds.
func (st *Stream) Drop() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.waiting.Add(-int64(st.unsent))
	st.events, st.held, st.unsent, st.ended = nil, 0, 0, true
	st.first = st.sent
	st.wakeFollowers()
}

// Follow writes the stream to one connection: the events from number from on,
// as far as they are still held, and what comes, until the stream has ended
// and all is written (done), ctx ends, the client does not take it, or another
// connection takes over. started, if set, is called when this connection has the
// stream and before anything is written; false from it ends Follow.
func (st *Stream) Follow(ctx context.Context, w http.ResponseWriter, from uint64, prime bool, started func() bool) (done bool) {
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
	if started != nil && !started() {
		return false
	}
	out := &eventWriter{w: w, c: http.NewResponseController(w), stream: st.ID}
	if prime && !out.writePrime(from-1) {
		return false
	}
	beat := time.NewTimer(Heartbeat)
	defer beat.Stop()
	silent := !prime // nothing was written
	for {
		st.mu.Lock()
		var next []Event
		if from = max(from, st.first); from-st.first < uint64(len(st.events)) {
			next = append(next, st.events[from-st.first:]...)
		}
		news, over := st.news, st.ended
		st.mu.Unlock()
		if len(next) > 0 {
			silent = false
			for _, e := range next {
				select {
				case <-kick: // what is left belongs to who took over
					return false
				default:
				}
				if !out.writeEvent(from, e) {
					return false
				}
				from++
				st.noteWritten(from)
			}
			if !out.flushBytes() {
				return false
			}
			continue
		}
		if over {
			return true
		}
		if silent { // the head would wait for the first event
			silent = false
			if !out.writeComment() {
				return false
			}
		}
		beat.Reset(Heartbeat)
		select {
		case <-news:
		case <-beat.C:
			if !out.writeComment() {
				return false
			}
		case <-kick:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// noteWritten remembers that everything below a number is with the client, and
// lets go of what is more than a client may want again.
func (st *Stream) noteWritten(below uint64) {
	st.mu.Lock()
	defer st.mu.Unlock()
	for n := max(st.sent, st.first); n < below && n-st.first < uint64(len(st.events)); n++ {
		st.unsent -= st.events[n-st.first].size
		st.waiting.Add(-int64(st.events[n-st.first].size))
	}
	st.sent = max(st.sent, below)
	keep := replay
	if st.ID == "" {
		keep = 0
	}
	for len(st.events) > 0 && st.first < st.sent && st.held-st.unsent > keep {
		st.held -= st.events[0].size
		st.events[0] = Event{}
		st.events = st.events[1:]
		st.first++
	}
}

// HasUndelivered reports whether the stream has ended since then with something in it that its
// client has not got yet: it may come back for that.
func (st *Stream) HasUndelivered(since time.Time) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.over.After(since) && st.sent < st.first+uint64(len(st.events))
}

// Message returns the event of a request or notification of the hub.
func Message(id []byte, method string, params [][]byte) Event {
	return Event{Parts: [][]byte{jsonrpc.Join(jsonrpc.RequestParts(id, method, params))}}
}

// HasSpare reports whether half of the session's room is free.
func (st *Stream) HasSpare() bool { return st.waiting.Load() <= MaxWaiting/2 }

// WriteTimeout is how long a client may take none of what is written.
const WriteTimeout = 30 * time.Second

// writeChunk is how much is written under one WriteTimeout, in bytes.
const writeChunk = 256 << 10

// eventWriter writes server-sent events.
type eventWriter struct {
	w      http.ResponseWriter
	c      *http.ResponseController
	stream string
	buf    []byte
}

// writePrime returns an id without a message, from which the client may go on
// should its connection end before there is one, and when (2025-11-25, Streamable
// HTTP).
func (w *eventWriter) writePrime(number uint64) bool {
	b := append(w.appendID(nil, number), "retry: "...)
	b = append(strconv.AppendInt(b, retryTime.Milliseconds(), 10), "\ndata: \n\n"...)
	return w.writeBytes(b) && w.flushBytes()
}

func (w *eventWriter) appendID(b []byte, number uint64) []byte {
	if w.stream == "" {
		return b
	}
	b = append(append(append(b, "id: "...), w.stream...), '-')
	return append(strconv.AppendUint(b, number, 10), '\n')
}

func (w *eventWriter) writeEvent(number uint64, e Event) bool {
	w.buf = append(w.appendID(append(w.buf[:0], "event: message\n"...), number), "data: "...)
	for _, p := range e.Parts {
		// A line end in a frame stands between tokens; a field of an event ends
		// there, so the rest is another line of the same field.
		for {
			i := bytes.IndexAny(p, "\r\n")
			if i < 0 {
				break
			}
			if !w.writePart(p[:i]) {
				return false
			}
			w.buf = append(w.buf, "\ndata: "...)
			if p[i] == '\r' && i+1 < len(p) && p[i+1] == '\n' {
				i++
			}
			p = p[i+1:]
		}
		if !w.writePart(p) {
			return false
		}
	}
	w.buf = append(w.buf, "\n\n"...)
	b := w.buf
	w.buf = w.buf[:0]
	return w.writeBytes(b)
}

// writePart adds bytes of a frame: small ones are gathered, large ones written from
// where they are.
func (w *eventWriter) writePart(p []byte) bool {
	if len(p) <= 16<<10 {
		w.buf = append(w.buf, p...)
		return true
	}
	b := w.buf
	w.buf = w.buf[:0]
	return w.writeBytes(b) && w.writeBytes(p)
}

func (w *eventWriter) writeComment() bool { return w.writeBytes([]byte(": \n\n")) && w.flushBytes() }

func (w *eventWriter) writeBytes(b []byte) bool { return Write(w.w, w.c, b) }

func (w *eventWriter) flushBytes() bool { return w.c.Flush() == nil }

// WriteHeader begins a response that is a stream.
func WriteHeader(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
}

// Write writes to a client that may be slow but must go on taking.
func Write(w http.ResponseWriter, c *http.ResponseController, b []byte) bool {
	for len(b) > 0 {
		n := min(len(b), writeChunk)
		_ = c.SetWriteDeadline(time.Now().Add(WriteTimeout))
		if _, err := w.Write(b[:n]); err != nil {
			return false
		}
		b = b[n:]
	}
	return true
}
