package httpfront

import (
	"net/http"

	"mcphub/internal/jsonrpc"
)

// An underway is one request of a session that is being served.
type underway struct {
	id string // raw
	jsonrpc.Cancellation
}

// request serves one request of a session. The end of the connection is not
// the end of the request: only notifications/cancelled is (2025-11-25). detached:
// it goes on without the connection and gives back what is held when it ends.
func (f *front) request(w http.ResponseWriter, r *http.Request, c *Peer, m *jsonrpc.Message, events bool, held *holding) (detached bool) {
	u, refusal := c.admit(string(m.ID))
	if refusal != nil {
		refuseRequest(w, refusal.Status, m.ID, jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidRequest, refusal.Text))
		return false
	}
	if !c.awaitSlot(w, u.Context, r.Context()) {
		c.served(u)
		refuseRequest(w, http.StatusOK, m.ID, jsonrpc.ErrorAnswer(jsonrpc.CodeInternal, "the request was cancelled before it was served"))
		return false
	}
	x := &Reply{c: c, id: m.ID, events: events, poll: f.o.Poll}
	if x.poll > 0 {
		x.left = make(chan struct{})
	}
	x.start(r.Context(), w, c.session.Protocol())
	prefers := events && prefersEvents(r.Header)
	if x.polls() {
		f.detach(x, held.release, func() { f.serveRequest(w, x, u, m, prefers) })
		return true
	}
	f.serveRequest(w, x, u, m, prefers)
	return false
}

// detach serves the request of a client that polls on a goroutine of its own, which
// may take longer than the connection lasts. It returns when either has ended;
// release is called when the request has.
func (f *front) detach(x *Reply, release, serve func()) {
	ended := make(chan struct{})
	f.running.Go(func() { // the POST is one of f.running, so nobody has waited for them yet
		defer release()
		defer close(ended)
		serve()
	})
	select {
	case <-ended:
	case <-x.left:
	}
}

// serveRequest answers a request that has its turn. prefers: as a stream from
// the start.
func (f *front) serveRequest(w http.ResponseWriter, x *Reply, u *underway, m *jsonrpc.Message, prefers bool) {
	c := x.c
	if prefers {
		x.flow()
	}
	a := c.session.Serve(x, &u.Cancellation, m)
	cancelled := u.ByClient()
	c.served(u)
	n := f.keep(c, &a)
	if !x.finish(a, cancelled) {
		plain(w, x, a, cancelled)
	}
	f.drop(c, n)
	<-c.slots
}

// plain answers a request before whose answer nothing had to be said.
func plain(w http.ResponseWriter, x *Reply, a jsonrpc.Answer, cancelled bool) {
	x.extendWrite(w)
	if a.Release != nil {
		defer a.Release()
	}
	switch {
	case !cancelled:
		writePlain(w, x.id, a)
	case x.events:
		writeEvents(w) // a stream without an answer
	default:
		refuseRequest(w, http.StatusOK, x.id, jsonrpc.ErrorAnswer(jsonrpc.CodeInternal, "the request was cancelled"))
	}
}
