package httpfront

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"mcphub/hub/httpfront/events"
	"mcphub/internal/jsonrpc"
)

// A Reply is the answer to one request of a client, and everything that is said on
// its account. The goroutine of the POST, or one that it waits for, serves the request; what has to be said
// before the answer opens a stream, written by a goroutine of its own.
type Reply struct {
	session     *FrontSession
	id          []byte          // raw
	events      bool            // the client takes a stream of events as the answer
	unresumable bool            // what was said is not kept for a client that comes back
	ctx         context.Context // of the connection
	response    http.ResponseWriter
	protocol    string
	started     time.Time
	slow        chainNode[Reply]
	pollTime    time.Duration // its connection lasts no longer; 0: as long as the request
	left        chan struct{} // closed when the connection ended before the request; nil if the client does not poll

	mu       sync.Mutex
	stream   *events.Stream // nil until something is said before the answer
	answered bool           // it was answered
	written  chan struct{}  // closed when nothing writes to response any more; nil without a stream
}

// startReply gives the reply the connection that its request came on.
func (reply *Reply) startReply(ctx context.Context, w http.ResponseWriter, protocol string) {
	reply.ctx, reply.response, reply.protocol, reply.started = ctx, w, protocol, time.Now()
	reply.session.slow.addReply(reply)
}

// extendWrite gives an answer that comes late its time to be written.
func (reply *Reply) extendWrite(w http.ResponseWriter) {
	if time.Since(reply.started) > events.WriteTimeout/2 {
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(events.WriteTimeout))
	}
}

// noteLate remembers that the answer takes its time: the time for reading the
// request no longer counts, and the client is shown that there is life.
func (reply *Reply) noteLate() {
	reply.mu.Lock()
	if !reply.answered && !reply.isGone() { // else the connection serves another request
		_ = http.NewResponseController(reply.response).SetReadDeadline(time.Time{})
	}
	reply.mu.Unlock()
	reply.ensureStream()
}

// ensureStream returns the stream of the reply, opened now if need be; nil if
// there can be none.
func (reply *Reply) ensureStream() *events.Stream {
	reply.mu.Lock()
	defer reply.mu.Unlock()
	switch {
	case reply.answered || !reply.events:
		return nil
	case reply.stream != nil:
		return reply.stream
	case reply.ctx.Err() != nil: // the connection broke; what has no stream by then gets none
		return nil
	}
	if reply.unresumable {
		reply.stream = events.New("", &reply.session.unsentBytes)
	} else {
		reply.stream = reply.session.newRequestStream()
	}
	reply.written = make(chan struct{})
	go reply.writeStream()
	return reply.stream
}

// finishReply answers the request on its stream, which ends, and returns when that
// is written or the connection gone; false: there is none. Nothing is said for
// a request that was cancelled.
func (reply *Reply) finishReply(answer jsonrpc.Answer, cancelled bool) bool {
	reply.session.slow.removeReply(reply)
	reply.mu.Lock()
	reply.answered = true
	stream := reply.stream
	reply.mu.Unlock()
	if stream == nil {
		return false
	}
	if !cancelled {
		parts := jsonrpc.AnswerParts(bytes.Clone(reply.id), answer) // reply.id is a part of the request, which would be kept with it
		stream.Put(events.Event{Parts: parts[:]}, events.Reply)
	}
	stream.End()
	<-reply.written
	if reply.unresumable {
		stream.Drop()
	} else {
		reply.session.finishStream(stream)
	}
	return true
}

// AllowHubQuestions lets the hub's own questions go on this reply, if the client has no stream of
// its own, until back is called.
func (reply *Reply) AllowHubQuestions() (back func()) {
	reply.session.mu.Lock()
	reply.session.lentReplies = append(reply.session.lentReplies, reply)
	reply.session.mu.Unlock()
	reply.session.signalReachable()
	return func() {
		reply.session.mu.Lock()
		defer reply.session.mu.Unlock()
		if i := slices.Index(reply.session.lentReplies, reply); i >= 0 { // it may be lent more than once
			reply.session.lentReplies = slices.Delete(reply.session.lentReplies, i, i+1)
		}
	}
}

// Reaches reports whether the client takes a stream, and so can be told anything
// before the answer.
func (reply *Reply) Reaches() bool { return reply.events }

// TryNotify puts a notification before the answer, or on the client's own stream if the
// answer can have no stream.
func (reply *Reply) TryNotify(method string, params ...[]byte) bool {
	if stream := reply.ensureStream(); stream != nil {
		return stream.Put(events.Message(nil, method, params), events.Note)
	}
	return reply.session.TryNotify(method, params...)
}

// Notify works like TryNotify for a notification that must arrive.
func (reply *Reply) Notify(ctx context.Context, method string, params ...[]byte) error {
	if stream := reply.ensureStream(); stream != nil && stream.Put(events.Message(nil, method, params), events.Question) {
		return nil
	}
	return reply.session.Notify(ctx, method, params...)
}

// TryNotifyLeavingRoom works like TryNotify, but only if half of the room of the stream is free.
func (reply *Reply) TryNotifyLeavingRoom(method string, params ...[]byte) bool {
	if stream := reply.ensureStream(); stream != nil {
		return stream.HasSpare() && stream.Put(events.Message(nil, method, params), events.Note)
	}
	return reply.session.TryNotifyLeavingRoom(method, params...)
}

// Call asks the client before the answer, or on the client's own stream if the answer can
// have no stream.
func (reply *Reply) Call(ctx context.Context, method string, params ...[]byte) (*jsonrpc.Response, error) {
	if stream := reply.ensureStream(); stream != nil {
		return reply.session.askOn(ctx, stream, method, params)
	}
	return reply.session.Call(ctx, method, params...)
}

// A stream may be polled (2025-11-25, Sending Messages to the Server, 6; SEP-1699): its connection ends before it does.

// mayPoll reports whether the connection of the reply may end before the
// reply does: the client learned where to go on and comes back.
func (reply *Reply) mayPoll() bool {
	return reply.pollTime > 0 && reply.events && expectsPrime(reply.protocol)
}

// writeStream writes the stream to the connection of the POST, as long as that lasts.
func (reply *Reply) writeStream() {
	defer close(reply.written)
	events.WriteHeader(reply.response)
	if !reply.mayPoll() {
		reply.stream.Follow(reply.ctx, reply.response, 1, !reply.unresumable && expectsPrime(reply.protocol), nil)
		return
	}
	ctx, cancel := context.WithTimeout(reply.ctx, reply.pollTime)
	defer cancel()
	if reply.stream.Follow(ctx, reply.response, 1, true, nil) {
		return
	}
	reply.mu.Lock() // noteLate may be at the connection
	defer reply.mu.Unlock()
	close(reply.left)
}

// isGone reports whether the connection was given back. The caller holds mu.
func (reply *Reply) isGone() bool {
	select {
	case <-reply.left:
		return true
	default: // also if the reply does not poll
		return false
	}
}

// expectsPrime reports whether a client of a protocol version expects streams to
// begin with an event without a message (2025-11-25; older ones may not read it).
func expectsPrime(protocol string) bool { return protocol >= "2025-11-25" }
