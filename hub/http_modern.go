package hub

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"mcphub/children"
	"mcphub/internal/jsonrpc"
)

// This file serves modern clients (2026-07-28) on the endpoint that serves
// those of the handshake. A request needs no session and makes none that the
// client could know of: all that a token calls goes through one Session of the
// hub, which is made by the first request and ends when nobody uses it.

// principal finds what serves the modern requests of a token, and enters it;
// nil where there is none and the front is closing, or no room in it.
func (f *httpFront) principal(owner string) *httpClient {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.owners[owner]
	if c == nil || c.ctx.Err() != nil {
		if f.closing {
			return nil
		}
		c = newHTTPClient("", owner, f.h.now().cfg.Limits.Calls, &f.watch)
		c.modern = true
		f.host(c, nobody{}, askRoots{nobody{}})
		c.s.modern.stateless, c.s.modern.bearer, c.s.modern.listeners = true, "token "+owner, f.o.Sessions
		c.s.approvals.PerCall() // the session belongs to no client in particular
		f.owners[owner] = c
		f.live(c)
	}
	if !c.enter() {
		return nil
	}
	return c
}

// nobody is the peer of what belongs to no request, where there is no session:
// nobody can be told or asked.
type nobody struct{}

var errNobody = errors.New("no client can be asked but while a request of it is being answered")

func (nobody) Call(context.Context, string, ...[]byte) (*jsonrpc.Response, error) {
	return nil, errNobody
}
func (nobody) Notify(context.Context, string, ...[]byte) error { return nil }
func (nobody) TryNotify(string, ...[]byte) bool                { return true }
func (nobody) TrySpare(string, ...[]byte) bool                 { return true }
func (nobody) Serving() int                                    { return 0 }

// postModern takes one message of a modern client.
func (f *httpFront) postModern(w http.ResponseWriter, r *http.Request, owner string, events bool) {
	c := f.principal(owner)
	if c == nil {
		refuseBusy(w, "too many requests of this token are open at once, or the hub is stopping")
		return
	}
	left := false
	leave := func() {
		if !left {
			left = true
			c.leave()
		}
	}
	defer leave()
	m, held := f.message(w, r, c)
	if m == nil {
		return
	}
	defer held.release()
	if !m.IsRequest() {
		f.strayModern(w, m, c.s)
		return
	}
	meta, status, a := f.examine(r.Header, m, c.s, events)
	if status != http.StatusOK {
		refuseRequest(w, status, m.ID, a)
		return
	}
	if m.Method == methodListen {
		if !c.listen(f.o.Sessions) {
			w.Header().Set("Retry-After", "10")
			refuseRequest(w, http.StatusTooManyRequests, m.ID, jsonrpc.ErrorAnswer(jsonrpc.CodeInternal, fmt.Sprintf("%d clients of this token listen already; try again later", f.o.Sessions)))
			return
		}
		defer c.unlisten()
		leave()
	}
	f.requestModern(w, r, c, m, meta, events)
}

// strayModern answers what is no request. This revision has no notifications of
// clients over HTTP, so one of its own is taken and says nothing; answers to
// requests there are none of.
func (f *httpFront) strayModern(w http.ResponseWriter, m *jsonrpc.Message, s *Session) {
	if m.IsNotification() {
		if !children.OfProtocol(m.Method) {
			s.ServeNotification(m)
		}
		w.WriteHeader(http.StatusAccepted)
		return
	}
	refuseHTTP(w, http.StatusBadRequest, jsonrpc.CodeInvalidRequest, "send requests only: what this hub asks is answered with inputResponses")
}

// examine looks at a request before anything is done for it: the headers
// against the body, and what _meta has to hold. Anything but 200 is a refusal.
func (f *httpFront) examine(h http.Header, m *jsonrpc.Message, s *Session, events bool) (requestMeta, int, jsonrpc.Answer) {
	if err := checkVersion(h, m); err != nil {
		return requestMeta{}, http.StatusBadRequest, refuseMismatch(err)
	}
	meta, refusal, ok := readMeta(m)
	if !ok {
		return meta, http.StatusBadRequest, refusal
	}
	err := checkMethod(h, m)
	if tool := s.known(m); err == nil && tool != nil {
		err = tool.checkMirrors(h, m.Param("arguments"))
	}
	switch {
	case err != nil:
		return meta, http.StatusBadRequest, refuseMismatch(err)
	case m.Method == methodListen && !events:
		return meta, http.StatusNotAcceptable, jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidRequest, "accept text/event-stream: what is listened to comes as a stream")
	}
	return meta, http.StatusOK, jsonrpc.Answer{}
}

// known returns the tool that a call is of, nil where it is none, or the
// server has not listed it yet.
func (s *Session) known(m *jsonrpc.Message) *offered {
	if m.Method != string(mcp.MethodToolsCall) {
		return nil
	}
	name, _ := jsonrpc.String(m.Param("name"))
	return s.tools().byName[name]
}

// checkMirrors compares the headers of a call with its arguments, where the
// definition of the tool says that there are such headers. A definition that
// says so wrongly says nothing: clients leave such a tool out.
func (o *offered) checkMirrors(h http.Header, args []byte) error {
	return checkMirrors(h, o.mirrors, args)
}

// lateCheck is what is left to compare of a call's headers until its tool is
// known. What the work on the call writes is read when that has ended.
type lateCheck struct {
	h       http.Header
	refusal jsonrpc.Answer // of a call that its headers do not fit
}

type lateKey struct{}

// fitsHeaders is checkMirrors for a call whose tool was found only now; the
// answer is why it is refused.
func fitsHeaders(ctx context.Context, tool *offered, args []byte) (refusal jsonrpc.Answer, ok bool) {
	late, there := ctx.Value(lateKey{}).(*lateCheck)
	if !there {
		return jsonrpc.Answer{}, true
	}
	if err := tool.checkMirrors(late.h, args); err != nil {
		late.refusal = refuseMismatch(err)
		return late.refusal, false
	}
	return jsonrpc.Answer{}, true
}

// requestModern serves one request. The end of its connection is the end of it.
func (f *httpFront) requestModern(w http.ResponseWriter, r *http.Request, c *httpClient, m *jsonrpc.Message, meta requestMeta, events bool) {
	late := &lateCheck{h: r.Header}
	ctx, cancel := context.WithCancelCause(context.WithValue(c.ctx, lateKey{}, late))
	defer cancel(nil)
	defer context.AfterFunc(r.Context(), func() {
		cancel(&jsonrpc.CancelledError{Reason: "the client has closed the response"})
	})()
	if m.Method != methodListen {
		if !c.await(ctx, w) {
			refuseRequest(w, http.StatusServiceUnavailable, m.ID, gone(ctx, errSessionOver))
			return
		}
		defer func() { <-c.slots }()
	}
	x := newExchange(c, m.ID, events)
	x.lost = true
	x.begin(r.Context(), w, modernVersion)
	a := c.s.answer(m, func() jsonrpc.Answer { return c.s.serveRead(ctx, m, meta, response{x}) })
	over := ctx.Err() != nil
	if !over && late.refusal.Error != nil {
		a = late.refusal // as it is: of a child nobody would believe it
	}
	if !over && a.Error == nil && prefersEvents(r.Header) {
		x.flow() // not before: an error has its status
	}
	n := f.keep(c, &a)
	if !x.finish(a, over) {
		f.plainModern(w, x, a, statusOf(c.s, m, a), over)
	}
	f.drop(c, n)
}

// await waits for the turn of a request.
func (c *httpClient) await(ctx context.Context, w http.ResponseWriter) bool {
	select {
	case c.slots <- struct{}{}:
		return true
	default:
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	return c.turn(ctx, ctx)
}

// plainModern answers a request before whose answer nothing had to be said.
func (f *httpFront) plainModern(w http.ResponseWriter, x *exchange, a jsonrpc.Answer, status int, over bool) {
	if time.Since(x.began) > writePatience/2 {
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writePatience))
	}
	if a.Release != nil {
		defer a.Release()
	}
	switch {
	case over:
		refuseRequest(w, http.StatusServiceUnavailable, x.id, jsonrpc.ErrorAnswer(jsonrpc.CodeInternal, errSessionOver.Error()))
	case status != http.StatusOK:
		refuseRequest(w, status, x.id, a)
	default:
		writePlain(w, x.id, a)
	}
}

// statusOf is the status of an answer that is no stream: that of the errors
// which the specification gives one.
func statusOf(s *Session, m *jsonrpc.Message, a jsonrpc.Answer) int {
	if a.Error == nil {
		return http.StatusOK
	}
	switch jsonrpc.ParseError(a.Error).Code {
	case mcp.HEADER_MISMATCH, mcp.MISSING_REQUIRED_CLIENT_CAPABILITY, mcp.UNSUPPORTED_PROTOCOL_VERSION:
		return http.StatusBadRequest
	case jsonrpc.CodeMethodNotFound:
		if how := s.methodOf(m.Method); how.modern == nil || how.purpose == forExtension {
			return http.StatusNotFound
		}
	}
	return http.StatusOK
}

// response is the outlet of a request over HTTP: its own response, which
// becomes a stream when the first thing is said on it.
type response struct{ x *exchange }

// Notify tells the client before the answer, or nobody.
func (o response) Notify(_ context.Context, method string, params ...[]byte) error {
	if st := o.x.flow(); st != nil && !st.put(frameOf(nil, method, params), asQuestion) {
		return errNotReading
	}
	return nil
}

// TryNotify is Notify where there is room.
func (o response) TryNotify(method string, params ...[]byte) bool {
	st := o.x.flow()
	return st != nil && st.put(frameOf(nil, method, params), asNote)
}

// TrySpare is TryNotify where half of the room is free.
func (o response) TrySpare(method string, params ...[]byte) bool {
	st := o.x.flow()
	return st != nil && st.spare() && st.put(frameOf(nil, method, params), asNote)
}

// listen counts a client that listens, where fewer than most do.
func (c *httpClient) listen(most int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tab.listens >= most {
		return false
	}
	c.tab.listens++
	c.settle()
	return true
}

func (c *httpClient) unlisten() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tab.listens--
	c.settle()
}
