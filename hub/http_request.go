package hub

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"mcphub/internal/jsonrpc"
)

// An underway is one request that is being served, and how it is ended before it
// is answered: by its client, or with its session.
// The mutex is a leaf.
type underway struct {
	id string // raw

	mu    sync.Mutex
	stop  jsonrpc.Stopper
	cause error // why nobody waits for the answer any more

	// Of the goroutine that serves it.
	base   context.Context // whose values it has; nil: none
	ctx    context.Context // nil until somebody needs it
	cancel context.CancelCauseFunc
}

// end gives the request up. Later ends do nothing, nor does nil.
func (u *underway) end(cause error) {
	if cause == nil {
		return
	}
	u.mu.Lock()
	first := u.cause == nil
	stop := u.stop
	if first {
		u.cause = cause
	}
	u.mu.Unlock()
	if first && stop != nil {
		stop.Abandon(cause)
	}
}

// onEnd sets what is told of the end, at once where that came first.
func (u *underway) onEnd(stop jsonrpc.Stopper) {
	u.mu.Lock()
	u.stop = stop
	cause := u.cause
	u.mu.Unlock()
	if cause != nil {
		stop.Abandon(cause)
	}
}

// cancelled reports whether the client has said that it does not want an answer.
func (u *underway) cancelled() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	var gone *jsonrpc.CancelledError
	return errors.As(u.cause, &gone)
}

// context is made for those who can only be ended by one: it costs more than all
// else here.
func (u *underway) context() context.Context {
	if u.ctx == nil {
		base := u.base
		if base == nil {
			base = context.Background()
		}
		u.ctx, u.cancel = context.WithCancelCause(base)
		u.onEnd(abandon(u.cancel))
	}
	return u.ctx
}

// free lets go of what context has made.
func (u *underway) free() {
	if u.cancel != nil {
		u.cancel(nil)
	}
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
		if !c.turn(u.context(), r.Context()) {
			c.served(u)
			refuseRequest(w, http.StatusOK, m.ID, jsonrpc.ErrorAnswer(jsonrpc.CodeInternal, "the request was cancelled before it was served"))
			return false
		}
	}
	x := newExchange(c, m.ID, events)
	if x.poll = f.o.Poll; x.poll > 0 {
		x.left = make(chan struct{})
	}
	x.begin(r.Context(), w, c.s.capabilities().Protocol)
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
	var a framed
	var ok bool
	if !jsonrpc.Guard(f.log, m, func() { a, ok = c.s.callAndWait(&x.client, u, m) }) {
		a, ok = framed{Answer: jsonrpc.Panicked()}, true
	}
	if !ok {
		a.Answer = c.s.answer(m, func() jsonrpc.Answer { return c.s.ServeRequest(withClient(u.context(), &x.client), m) })
	}
	cancelled := u.cancelled()
	c.served(u)
	n := f.keep(c, &a)
	if !x.finish(a.Answer, cancelled) {
		f.plain(w, x, a, cancelled)
	}
	f.drop(c, n)
	<-c.slots
}

// plain answers a request before whose answer nothing had to be said.
func (f *httpFront) plain(w http.ResponseWriter, x *exchange, a framed, cancelled bool) {
	if time.Since(x.began) > writePatience/2 {
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writePatience))
	}
	if a.Release != nil {
		defer a.Release()
	}
	switch {
	case !cancelled && a.frame != nil:
		writeFrame(w, a.frame)
	case !cancelled:
		writePlain(w, x.id, a.Answer)
	case x.events:
		writeEvents(w) // a stream without an answer
	default:
		refuseRequest(w, http.StatusOK, x.id, jsonrpc.ErrorAnswer(jsonrpc.CodeInternal, "the request was cancelled"))
	}
}

// abandon ends a context in the place of a call.
type abandon context.CancelCauseFunc

func (a abandon) Abandon(cause error) { a(cause) }
