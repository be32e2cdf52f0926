package httpfront

import (
	"context"
	"net/http"

	"mcphub/hub/httpfront/headers"
	"mcphub/hub/httpfront/quota"
	"mcphub/internal/jsonrpc"
)

// An activeRequest is one request of a session that is being served.
type activeRequest struct {
	id string // raw
	jsonrpc.Cancellation
}

// serveMessage serves one request of a session. The end of the connection is not
// the end of the request: only notifications/cancelled is (2025-11-25). detached:
// it goes on without the connection and gives back what is held when it ends.
func (f *Front) serveMessage(w http.ResponseWriter, r *http.Request, session *FrontSession, m *jsonrpc.Message, events bool, body *bodyReservation) (detached bool) {
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
	exchange := &PostExchange{session: session, id: m.ID, events: events, pollTime: f.active.Load().Poll}
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
	prefers := events && headers.PreferEvents(r.Header)
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
