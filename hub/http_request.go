package hub

import (
	"net/http"
	"time"

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
func (f *httpFront) request(w http.ResponseWriter, r *http.Request, c *httpClient, m *jsonrpc.Message, events bool, held *holding) (detached bool) {
	u, refusal := c.admit(string(m.ID))
	if refusal != nil {
		refuseRequest(w, refusal.status, m.ID, jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidRequest, refusal.text))
		return false
	}
	select {
	case c.slots <- struct{}{}:
	default:
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
		if !c.turn(u.Context(), r.Context()) {
			c.served(u)
			refuseRequest(w, http.StatusOK, m.ID, jsonrpc.ErrorAnswer(jsonrpc.CodeInternal, "the request was cancelled before it was served"))
			return false
		}
	}
	x := newExchange(c, m.ID, events)
	if x.poll = f.o.Poll; x.poll > 0 {
		x.left = make(chan struct{})
	}
	x.begin(r.Context(), w, c.s.capabilities().protocol)
	prefers := events && prefersEvents(r.Header)
	if x.polls() {
		return f.serveExchange(x, held.release, func() { f.serveRequest(w, x, u, m, prefers) })
	}
	f.serveRequest(w, x, u, m, prefers)
	return false
}

// serveRequest answers a request that has its turn. prefers: as a stream from
// the start.
func (f *httpFront) serveRequest(w http.ResponseWriter, x *exchange, u *underway, m *jsonrpc.Message, prefers bool) {
	c := x.c
	if prefers {
		x.flow()
	}
	a := c.s.serveAndWait(&x.client, &u.Cancellation, m)
	cancelled := u.ByClient()
	c.served(u)
	n := f.keep(c, &a)
	if !x.finish(a, cancelled) {
		f.plain(w, x, a, cancelled)
	}
	f.drop(c, n)
	<-c.slots
}

// plain answers a request before whose answer nothing had to be said.
func (f *httpFront) plain(w http.ResponseWriter, x *exchange, a jsonrpc.Answer, cancelled bool) {
	if time.Since(x.began) > writePatience/2 {
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writePatience))
	}
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
