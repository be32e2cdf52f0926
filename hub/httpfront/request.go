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
func (f *Front) serveMessage(w http.ResponseWriter, r *http.Request, c *FrontSession, m *jsonrpc.Message, events bool, held *bodyReservation) (detached bool) {
	u, refused := c.registerRequest(string(m.ID))
	if refused != nil {
		f.answerRefused(w, r, refused, m.ID)
		return false
	}
	u.Base = c.withToken(context.Background(), r)
	if err := c.share.Count(m.Method); err != nil {
		c.unregisterRequest(u)
		f.answerRefused(w, r, refusalOf(err), m.ID)
		return false
	}
	reply := &Reply{session: c, id: m.ID, events: events, poll: f.active.Load().Poll}
	if reply.poll > 0 {
		reply.left = make(chan struct{})
	}
	reply.startReply(r.Context(), w, c.hubSession.Protocol())
	s, ok := c.awaitSlot(w, u.Context, r.Context())
	if !ok {
		c.share.Uncount()
		c.unregisterRequest(u)
		if a := jsonrpc.AnswerFailure("the request was cancelled before it was served"); !reply.finishReply(a, false) {
			answerWithStatus(w, http.StatusOK, m.ID, a)
		}
		return false
	}
	prefers := events && headers.PreferEvents(r.Header)
	if reply.mayPoll() {
		f.serveDetached(reply, held.releaseBytes, func() { f.serveRequest(w, reply, u, m, s, prefers) })
		return true
	}
	f.serveRequest(w, reply, u, m, s, prefers)
	return false
}

// serveDetached serves the request of a client that polls on a goroutine of its own, which
// may take longer than the connection lasts. It returns when either has ended;
// release is called when the request has.
func (f *Front) serveDetached(reply *Reply, release, serve func()) {
	ended := make(chan struct{})
	f.running.Go(func() { // the POST is one of f.running, so no one has waited for them yet
		defer release()
		defer close(ended)
		serve()
	})
	select {
	case <-ended:
	case <-reply.left:
	}
}

// serveRequest answers a request that has its turn. prefers: as a stream from
// the start.
func (f *Front) serveRequest(w http.ResponseWriter, reply *Reply, u *activeRequest, m *jsonrpc.Message, s servingSlot, prefers bool) {
	c := reply.session
	defer c.share.Uncount()
	if prefers {
		reply.ensureStream()
	}
	a := c.hubSession.Serve(reply, &u.Cancellation, m)
	cancelled := u.ByClient()
	c.unregisterRequest(u)
	n := f.reserveAnswer(c, &a)
	if !reply.finishReply(a, cancelled) {
		answerPlain(w, reply, a, cancelled)
	}
	f.releaseAnswer(c, n)
	s.releaseSlot()
}

// A servingSlot is the right of one request to be served.
type servingSlot struct {
	session *FrontSession
	work    *quota.Work // nil if no one else calls
}

// releaseSlot lets the next one be served.
func (s servingSlot) releaseSlot() {
	s.session.share.ReleaseSlot(s.work)
	<-s.session.slots
}

// awaitSlot waits until a request may be served; false: no one wants it any more. While it
// waits, the time for reading the request no longer counts.
func (p *FrontSession) awaitSlot(w http.ResponseWriter, ctx func() context.Context, conn context.Context) (servingSlot, bool) {
	if !quota.Await(p.slots, w, ctx, conn) {
		return servingSlot{}, false
	}
	k, ok := p.share.AcquireSlot(w, ctx, conn)
	if !ok {
		<-p.slots
		return servingSlot{}, false
	}
	return servingSlot{p, k}, true
}
