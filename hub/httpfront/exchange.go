package httpfront

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"mcphub/hub/httpfront/events"
	"mcphub/hub/httpfront/headers"
	"mcphub/hub/httpfront/quota"
	"mcphub/internal/jsonrpc"
)

// A PostExchange is the answer to one request of a client, and everything that is said on
// its account. The goroutine of the POST, or one that it waits for, serves the request; what has to be said
// before the answer opens a stream, written by a goroutine of its own.
type PostExchange struct {
	session        *FrontSession
	id             []byte          // raw
	takesEvents    bool            // the client takes a stream of events as the answer
	unresumable    bool            // what was said is not kept for a client that comes back
	ctx            context.Context // of the connection
	response       http.ResponseWriter
	protocol       string
	started        time.Time
	slow           chainNode[PostExchange]
	pollTime       time.Duration // its connection lasts no longer; 0: as long as the request
	connectionGone chan struct{} // closed when the connection ended before the request; nil if the client does not poll

	mu       sync.Mutex
	stream   *events.Stream // nil until something is said before the answer
	answered bool           // it was answered
	written  chan struct{}  // closed when nothing writes to response any more; nil without a stream
}

// startExchange gives the exchange the connection that its request came on.
func (exchange *PostExchange) startExchange(ctx context.Context, w http.ResponseWriter, protocol string) {
	exchange.ctx, exchange.response, exchange.protocol, exchange.started = ctx, w, protocol, time.Now()
	exchange.session.slow.addExchange(exchange)
}

// extendWrite gives an answer that comes late its time to be written.
func (exchange *PostExchange) extendWrite(w http.ResponseWriter) {
	if time.Since(exchange.started) > events.WriteTimeout/2 {
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(events.WriteTimeout))
	}
}

// showLate is called if the answer takes long. It removes the deadline for reading the request. If the client
// takes a stream as the answer, it opens the stream, so that the client sees that the request is served.
func (exchange *PostExchange) showLate() {
	exchange.mu.Lock()
	if !exchange.answered && !exchange.isGone() { // else the connection serves another request
		_ = http.NewResponseController(exchange.response).SetReadDeadline(time.Time{})
	}
	exchange.mu.Unlock()
	exchange.ensureStream()
}

// ensureStream returns the stream of the exchange, opened now if need be; nil if
// there can be none.
func (exchange *PostExchange) ensureStream() *events.Stream {
	exchange.mu.Lock()
	defer exchange.mu.Unlock()
	switch {
	case exchange.answered || !exchange.takesEvents:
		return nil
	case exchange.stream != nil:
		return exchange.stream
	case exchange.ctx.Err() != nil: // the connection broke; what has no stream by then gets none
		return nil
	}
	if exchange.unresumable {
		exchange.stream = events.New("", &exchange.session.unsentBytes)
	} else {
		exchange.stream = exchange.session.newRequestStream()
	}
	exchange.written = make(chan struct{})
	go exchange.writeStream()
	return exchange.stream
}

// finishExchange answers the request on its stream, which ends, and returns when that
// is written or the connection gone; false: there is none. Nothing is said for
// a request that was cancelled.
func (exchange *PostExchange) finishExchange(answer jsonrpc.Answer, cancelled bool) bool {
	exchange.session.slow.removeExchange(exchange)
	exchange.mu.Lock()
	exchange.answered = true
	stream := exchange.stream
	exchange.mu.Unlock()
	if stream == nil {
		return false
	}
	if !cancelled {
		parts := jsonrpc.AnswerParts(bytes.Clone(exchange.id), answer) // exchange.id is a part of the request, which would be kept with it
		stream.Put(events.Event{Parts: parts[:]}, events.FinalAnswer)
	}
	stream.End()
	<-exchange.written
	if exchange.unresumable {
		stream.Drop()
	} else {
		exchange.session.finishStream(stream)
	}
	return true
}

// AllowHubQuestions lets the hub's own questions go on this exchange, if the client has no stream of
// its own, until back is called.
func (exchange *PostExchange) AllowHubQuestions() (back func()) {
	exchange.session.mu.Lock()
	exchange.session.lentExchanges = append(exchange.session.lentExchanges, exchange)
	exchange.session.mu.Unlock()
	exchange.session.signalReachable()
	return func() {
		exchange.session.mu.Lock()
		defer exchange.session.mu.Unlock()
		if i := slices.Index(exchange.session.lentExchanges, exchange); i >= 0 { // it may be lent more than once
			exchange.session.lentExchanges = slices.Delete(exchange.session.lentExchanges, i, i+1)
		}
	}
}

// Reaches reports whether the client takes a stream, and so can be told anything
// before the answer.
func (exchange *PostExchange) Reaches() bool { return exchange.takesEvents }

// TryNotify puts a notification before the answer, or on the client's own stream if the
// answer can have no stream.
func (exchange *PostExchange) TryNotify(method string, params ...[]byte) bool {
	if stream := exchange.ensureStream(); stream != nil {
		return stream.Put(events.Message(nil, method, params), events.MayDrop)
	}
	return exchange.session.TryNotify(method, params...)
}

// Notify works like TryNotify for a notification that must arrive.
func (exchange *PostExchange) Notify(ctx context.Context, method string, params ...[]byte) error {
	if stream := exchange.ensureStream(); stream != nil && stream.Put(events.Message(nil, method, params), events.MustDeliver) {
		return nil
	}
	return exchange.session.Notify(ctx, method, params...)
}

// TryNotifyLeavingRoom works like TryNotify, but only if half of the room of the stream is free.
func (exchange *PostExchange) TryNotifyLeavingRoom(method string, params ...[]byte) bool {
	if stream := exchange.ensureStream(); stream != nil {
		return stream.HasSpare() && stream.Put(events.Message(nil, method, params), events.MayDrop)
	}
	return exchange.session.TryNotifyLeavingRoom(method, params...)
}

// Call asks the client before the answer, or on the client's own stream if the answer can
// have no stream.
func (exchange *PostExchange) Call(ctx context.Context, method string, params ...[]byte) (*jsonrpc.Response, error) {
	if stream := exchange.ensureStream(); stream != nil {
		return exchange.session.askOn(ctx, stream, method, params)
	}
	return exchange.session.Call(ctx, method, params...)
}

// A stream may be polled (2025-11-25, Sending Messages to the Server, 6; SEP-1699): its connection ends before it does.

// mayPoll reports whether the connection of the exchange may end before the
// exchange does: the client learned where to go on and comes back.
func (exchange *PostExchange) mayPoll() bool {
	return exchange.pollTime > 0 && exchange.takesEvents && expectsPrime(exchange.protocol)
}

// writeStream writes the stream to the connection of the POST, as long as that lasts.
func (exchange *PostExchange) writeStream() {
	defer close(exchange.written)
	events.WriteHeader(exchange.response)
	if !exchange.mayPoll() {
		exchange.stream.Follow(exchange.ctx, exchange.response, 1, !exchange.unresumable && expectsPrime(exchange.protocol), nil)
		return
	}
	ctx, cancel := context.WithTimeout(exchange.ctx, exchange.pollTime)
	defer cancel()
	if exchange.stream.Follow(ctx, exchange.response, 1, true, nil) {
		return
	}
	exchange.mu.Lock() // showLate may be at the connection
	defer exchange.mu.Unlock()
	close(exchange.connectionGone)
}

// isGone reports whether the connection was given back. The caller holds mu.
func (exchange *PostExchange) isGone() bool {
	select {
	case <-exchange.connectionGone:
		return true
	default: // also if the exchange does not poll
		return false
	}
}

// expectsPrime reports whether a client of a protocol version expects streams to
// begin with an event without a message (2025-11-25; older ones may not read it).
func expectsPrime(protocol string) bool { return protocol >= "2025-11-25" }

// An activeRequest is one request of a session that is being served.
type activeRequest struct {
	id string // raw
	jsonrpc.Cancellation
}

// serveMessage serves one request of a session. The end of the connection is not
// the end of the request: only notifications/cancelled is (2025-11-25). detached:
// it goes on without the connection and gives back what is held when it ends.
func (f *Front) serveMessage(w http.ResponseWriter, r *http.Request, session *FrontSession, m *jsonrpc.Message, takesEvents bool, body *bodyReservation) (detached bool) {
	active, refused := session.registerRequest(string(m.ID))
	if refused != nil {
		f.answerRefused(w, r, refused, m.ID)
		return false
	}
	active.Base = session.withToken(context.Background(), r)
	if err := session.share.Count(m.Method); err != nil {
		session.unregisterRequest(active)
		f.answerRefused(w, r, refusalOf(err), m.ID)
		return false
	}
	exchange := &PostExchange{session: session, id: m.ID, takesEvents: takesEvents, pollTime: f.active.Load().Poll}
	if exchange.pollTime > 0 {
		exchange.connectionGone = make(chan struct{})
	}
	exchange.startExchange(r.Context(), w, session.hubSession.Protocol())
	slot, ok := session.awaitSlot(w, active.Context, r.Context())
	if !ok {
		session.share.Uncount()
		session.unregisterRequest(active)
		if answer := jsonrpc.AnswerFailure("the request was cancelled before it was served"); !exchange.finishExchange(answer, false) {
			answerWithStatus(w, http.StatusOK, m.ID, answer)
		}
		return false
	}
	prefers := takesEvents && headers.PreferEvents(r.Header)
	if exchange.mayPoll() {
		f.serveDetached(exchange, body.releaseBytes, func() { f.serveRequest(w, exchange, active, m, slot, prefers) })
		return true
	}
	f.serveRequest(w, exchange, active, m, slot, prefers)
	return false
}

// serveDetached serves the request of a client that polls on a goroutine of its own, which
// may take longer than the connection lasts. It returns when either has ended;
// release is called when the request has.
func (f *Front) serveDetached(exchange *PostExchange, release, serve func()) {
	ended := make(chan struct{})
	f.running.Go(func() { // the POST is one of f.running, so no one has waited for them yet
		defer release()
		defer close(ended)
		serve()
	})
	select {
	case <-ended:
	case <-exchange.connectionGone:
	}
}

// serveRequest answers a request that has its turn. prefers: as a stream from
// the start.
func (f *Front) serveRequest(w http.ResponseWriter, exchange *PostExchange, active *activeRequest, m *jsonrpc.Message, slot servingSlot, prefers bool) {
	session := exchange.session
	defer session.share.Uncount()
	if prefers {
		exchange.ensureStream()
	}
	answer := session.hubSession.Serve(exchange, &active.Cancellation, m)
	cancelled := active.ByClient()
	session.unregisterRequest(active)
	n := f.reserveAnswer(session, &answer)
	if !exchange.finishExchange(answer, cancelled) {
		answerPlain(w, exchange, answer, cancelled)
	}
	f.releaseAnswer(session, n)
	slot.releaseSlot()
}

// A servingSlot is the right of one request to be served.
type servingSlot struct {
	session *FrontSession
	work    *quota.Work // nil if no one else calls
}

// releaseSlot lets the next one be served.
func (slot servingSlot) releaseSlot() {
	slot.session.share.ReleaseSlot(slot.work)
	<-slot.session.slots
}

// awaitSlot waits until a request may be served; false: no one wants it any more. While it
// waits, the time for reading the request no longer counts.
func (session *FrontSession) awaitSlot(w http.ResponseWriter, ctx func() context.Context, conn context.Context) (servingSlot, bool) {
	if !quota.Await(session.slots, w, ctx, conn) {
		return servingSlot{}, false
	}
	work, ok := session.share.AcquireSlot(w, ctx, conn)
	if !ok {
		<-session.slots
		return servingSlot{}, false
	}
	return servingSlot{session, work}, true
}
