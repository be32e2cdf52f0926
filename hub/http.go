package hub

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/rs/zerolog"

	"mcphub/internal/jsonrpc"
	"mcphub/rootsmgr"
)

// HTTPOptions shape the Streamable HTTP front. The zero value serves loopback
// names without a token, with the default bounds.
type HTTPOptions struct {
	Hosts    []string      // more names by which clients may call, with or without a port
	Origins  []string      // web pages that may call
	Tokens   []Token       // who may call; none: whoever reaches the address
	Sessions int           // at a time; 0: 1000
	Idle     time.Duration // a session without connection and request ends after it; 0: 30 min
}

const (
	headerSession  = "Mcp-Session-Id"
	headerProtocol = "MCP-Protocol-Version"
	headerLast     = "Last-Event-ID"

	headerTime  = 10 * time.Second // for the head of a request
	bodyTime    = 60 * time.Second // for its body
	keepAlive   = 2 * time.Minute  // of a connection without a request
	upgradeTime = 5 * time.Second  // a request that takes longer is answered as a stream, which shows life
	endpoint    = "/mcp"
)

// httpFront serves Streamable HTTP (MCP 2025-03-26 to 2025-11-25, Transports).
type httpFront struct {
	h     *Hub
	o     HTTPOptions
	guard *gate
	log   zerolog.Logger

	mu       sync.Mutex
	sessions map[string]*httpClient
	closing  bool
	lives    sync.WaitGroup // sessions
}

// ServeStreamableHTTP serves clients on a listener, which it closes, until ctx
// ends. Calls under way then get Limits.Grace. It returns when every session
// has ended. Run must be running.
func (h *Hub) ServeStreamableHTTP(ctx context.Context, ln net.Listener, o HTTPOptions) error {
	if o.Sessions <= 0 {
		o.Sessions = 1000
	}
	if o.Idle <= 0 {
		o.Idle = 30 * time.Minute
	}
	guard, err := newGate(o)
	if err != nil {
		return err
	}
	f := &httpFront{h: h, o: o, guard: guard, log: h.cfg.Log, sessions: map[string]*httpClient{}}
	server := &http.Server{
		Handler: f.handler(), ReadHeaderTimeout: headerTime, IdleTimeout: keepAlive, MaxHeaderBytes: 64 << 10,
		ErrorLog: nil,
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ln) }()
	sweep := time.NewTicker(max(o.Idle/8, time.Second))
	defer sweep.Stop()
	for {
		select {
		case err := <-ended:
			f.closeAll()
			return err
		case <-sweep.C:
			f.sweep()
		case <-ctx.Done():
			f.drain()
			over, cancel := context.WithTimeout(context.WithoutCancel(ctx), h.cfg.Limits.Grace)
			if err := server.Shutdown(over); err != nil {
				_ = server.Close()
			}
			cancel()
			f.closeAll()
			<-ended
			return nil
		}
	}
}

func (f *httpFront) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if f.draining() {
			http.Error(w, "stopping", http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, "ok\n")
	})
	mux.HandleFunc(endpoint, f.serve)
	return mux
}

// serve admits and routes one request to the endpoint.
func (f *httpFront) serve(w http.ResponseWriter, r *http.Request) {
	owner, ok := f.guard.admit(w, r)
	if !ok {
		return
	}
	switch r.Method {
	case http.MethodPost:
		f.post(w, r, owner)
	case http.MethodGet:
		f.get(w, r, owner)
	case http.MethodDelete:
		f.delete(w, r, owner)
	default:
		w.Header().Set("Allow", "GET, POST, DELETE")
		http.Error(w, "use POST, GET or DELETE", http.StatusMethodNotAllowed)
	}
}

// refuseHTTP answers with a status and a JSON-RPC error without an id.
func refuseHTTP(w http.ResponseWriter, status int, code int64, text string) {
	refuseRequest(w, status, []byte("null"), jsonrpc.ErrorAnswer(code, text))
}

func refuseRequest(w http.ResponseWriter, status int, id []byte, a jsonrpc.Answer) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(join(answerParts(id, a)))
}

// post takes one message of the client.
func (f *httpFront) post(w http.ResponseWriter, r *http.Request, owner string) {
	plain, events := accepts(r.Header)
	if !plain && !events {
		refuseHTTP(w, http.StatusNotAcceptable, jsonrpc.CodeInvalidRequest, "accept application/json and text/event-stream")
		return
	}
	m, ok := f.message(w, r)
	if !ok {
		return
	}
	if a, other := otherEra(m); other {
		refuseRequest(w, http.StatusBadRequest, m.ID, a)
		return
	}
	if m.IsRequest() && m.Method == string(mcp.MethodInitialize) {
		f.initialize(w, r, m, owner)
		return
	}
	c := f.find(w, r, owner)
	if c == nil {
		return
	}
	c.enter()
	defer c.leave()
	switch {
	case m.IsRequest():
		f.request(w, r, c, m, events)
		return
	case m.Method == "notifications/cancelled":
		c.cancelled(m)
	case m.IsNotification():
		f.notification(c, m)
	case m.IsResponse():
		c.answered(m)
	default:
		refuseHTTP(w, http.StatusBadRequest, jsonrpc.CodeInvalidRequest, "a message needs a method, or an id with a result or an error")
		return
	}
	w.WriteHeader(http.StatusAccepted)
}

func (f *httpFront) notification(c *httpClient, m *jsonrpc.Message) {
	defer func() {
		if p := recover(); p != nil {
			f.log.Error().Str("panic", fmt.Sprint(p)).Bytes("stack", debug.Stack()).Msg("a notification made its handler panic")
		}
	}()
	c.s.ServeNotification(m)
}

// accepts tells which kinds of answer the client takes. No Accept is any.
func accepts(h http.Header) (plain, events bool) {
	values := h.Values("Accept")
	if len(values) == 0 {
		return true, false
	}
	for _, v := range values {
		for _, kind := range strings.Split(v, ",") {
			kind, _, _ = strings.Cut(kind, ";")
			switch strings.ToLower(strings.TrimSpace(kind)) {
			case "application/json", "application/*":
				plain = true
			case "text/event-stream", "text/*":
				events = true
			case "*/*":
				plain, events = true, true
			}
		}
	}
	return plain, events
}

// message reads the one message of a POST, bounded in size and time.
func (f *httpFront) message(w http.ResponseWriter, r *http.Request) (*jsonrpc.Message, bool) {
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	if !strings.EqualFold(strings.TrimSpace(kind), "application/json") {
		refuseHTTP(w, http.StatusUnsupportedMediaType, jsonrpc.CodeInvalidRequest, "send application/json")
		return nil, false
	}
	limit := int64(f.h.cfg.Limits.Frame)
	if r.ContentLength > limit {
		refuseHTTP(w, http.StatusRequestEntityTooLarge, jsonrpc.CodeInvalidRequest, fmt.Sprintf("the message has %d bytes, more than %d", r.ContentLength, limit))
		return nil, false
	}
	c := http.NewResponseController(w)
	_ = c.SetReadDeadline(time.Now().Add(bodyTime))
	var b bytes.Buffer
	b.Grow(int(min(max(r.ContentLength, 0), 1<<20)) + bytes.MinRead)
	_, err := b.ReadFrom(http.MaxBytesReader(w, r.Body, limit))
	_ = c.SetReadDeadline(time.Time{})
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		refuseHTTP(w, http.StatusRequestEntityTooLarge, jsonrpc.CodeInvalidRequest, fmt.Sprintf("the message has more than %d bytes", limit))
		return nil, false
	case err != nil:
		refuseHTTP(w, http.StatusBadRequest, jsonrpc.CodeParse, "the body could not be read")
		return nil, false
	}
	m := &jsonrpc.Message{}
	if err := jsonrpc.Split(b.Bytes(), true, m); err != nil {
		code := int64(jsonrpc.CodeParse)
		var syntax *jsonrpc.SyntaxError
		if errors.As(err, &syntax) {
			code = int64(syntax.Code)
		}
		refuseHTTP(w, http.StatusBadRequest, code, err.Error())
		return nil, false
	}
	return m, true
}

// find returns the session that a request names, if it is the caller's.
// Somebody else's is no different from one that does not exist.
func (f *httpFront) find(w http.ResponseWriter, r *http.Request, owner string) *httpClient {
	if v := r.Header.Get(headerProtocol); v != "" && !slices.Contains(mcp.LegacyProtocolVersions(), v) {
		refuseHTTP(w, http.StatusBadRequest, jsonrpc.CodeInvalidRequest, fmt.Sprintf("the protocol version %q is not served", shown(v, 40)))
		return nil
	}
	id := r.Header.Get(headerSession)
	if id == "" {
		refuseHTTP(w, http.StatusBadRequest, jsonrpc.CodeInvalidRequest, "there is no "+headerSession+" header: send initialize first and then the id that it is answered with")
		return nil
	}
	f.mu.Lock()
	c := f.sessions[id]
	f.mu.Unlock()
	if c == nil || c.owner != owner || c.ctx.Err() != nil {
		refuseHTTP(w, http.StatusNotFound, jsonrpc.CodeInvalidRequest, "there is no such session: send initialize again")
		return nil
	}
	return c
}

// initialize begins a session.
func (f *httpFront) initialize(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message, owner string) {
	if r.Header.Get(headerSession) != "" {
		refuseRequest(w, http.StatusBadRequest, m.ID, jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidRequest, "initialize was already called in this session"))
		return
	}
	c := newHTTPClient(uuid.NewString(), owner, f.h.cfg.Limits.Calls)
	if !f.enter(c) {
		w.Header().Set("Retry-After", "10")
		refuseRequest(w, http.StatusServiceUnavailable, m.ID, jsonrpc.ErrorAnswer(jsonrpc.CodeInternal, fmt.Sprintf("there are %d sessions already; try again later", f.o.Sessions)))
		return
	}
	c.s = f.h.newSession()
	c.s.client, c.s.principal = c, owner
	settings := f.h.cfg.Roots
	settings.Ceiling = f.guard.ceilings[owner]
	c.s.roots = rootsmgr.NewManager(askHTTP{askRoots{c}, c}, f.h.cfg.Fallback, settings, f.h.cfg.FS, c.s.log)
	f.lives.Go(func() {
		_ = c.s.run(c.ctx, func(ctx context.Context) error { <-ctx.Done(); return nil })
		f.forget(c)
		c.close()
	})
	a := f.answer(c.ctx, c.s, m)
	if a.Result == nil {
		c.cancel(errSessionOver)
		refuseRequest(w, http.StatusBadRequest, m.ID, a)
		return
	}
	w.Header().Set(headerSession, c.id)
	writePlain(w, m.ID, a)
}

// answer calls the session's handler. What is broken in one request must not
// end the others.
func (f *httpFront) answer(ctx context.Context, s *Session, m *jsonrpc.Message) (a jsonrpc.Answer) {
	defer func() {
		if p := recover(); p != nil {
			f.log.Error().Str("method", shown(m.Method, 100)).Str("panic", fmt.Sprint(p)).Bytes("stack", debug.Stack()).Msg("a request made its handler panic")
			a = jsonrpc.ErrorAnswer(jsonrpc.CodeInternal, "internal error: this request made its handler panic; the log has the details")
		}
	}()
	return s.ServeRequest(ctx, m)
}

// request serves one request of a session. The end of the connection is not
// the end of the request: only notifications/cancelled is (2025-11-25).
func (f *httpFront) request(w http.ResponseWriter, r *http.Request, c *httpClient, m *jsonrpc.Message, events bool) {
	id := string(m.ID)
	ctx, cancel, text := c.admit(id)
	if text != "" {
		refuseRequest(w, http.StatusBadRequest, m.ID, jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidRequest, text))
		return
	}
	select {
	case c.slots <- struct{}{}:
	case <-r.Context().Done():
		cancel(nil)
		c.served(id)
		return
	}
	x := newExchange(c, m.ID, events)
	x.begin(r.Context(), w, c.s.capabilities().protocol)
	a := f.answer(withPeer(ctx, x), c.s, m)
	var gone *jsonrpc.CancelledError
	cancelled := errors.As(context.Cause(ctx), &gone)
	c.served(id)
	cancel(nil)
	if !x.finish(a, cancelled) {
		f.plain(w, x, a, cancelled)
	}
	<-c.slots
}

// plain answers a request before whose answer nothing had to be said.
func (f *httpFront) plain(w http.ResponseWriter, x *exchange, a jsonrpc.Answer, cancelled bool) {
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

// primes reports whether a client of a protocol version expects streams to
// begin with an event without a message (2025-11-25; older ones may not read it).
func primes(protocol string) bool { return protocol >= "2025-11-25" }

func writeEvents(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
}

func writePlain(w http.ResponseWriter, id []byte, a jsonrpc.Answer) {
	parts := answerParts(id, a)
	size := 0
	for _, p := range parts {
		size += len(p)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(size))
	if size <= 4<<10 {
		_, _ = w.Write(join(parts))
		return
	}
	c := http.NewResponseController(w)
	for _, p := range parts {
		if !writeChunks(w, c, p) {
			return
		}
	}
}

// get opens the client's own stream, or goes on with one that broke.
func (f *httpFront) get(w http.ResponseWriter, r *http.Request, owner string) {
	if _, events := accepts(r.Header); !events {
		refuseHTTP(w, http.StatusNotAcceptable, jsonrpc.CodeInvalidRequest, "accept text/event-stream")
		return
	}
	c := f.find(w, r, owner)
	if c == nil {
		return
	}
	st, from := c.own, uint64(0)
	if last := r.Header.Get(headerLast); last != "" {
		flow, number, _ := strings.Cut(last, "-")
		n, err := strconv.ParseUint(number, 10, 64)
		if st = c.stream(flow); st == nil || err != nil || n == 1<<64-1 {
			refuseHTTP(w, http.StatusBadRequest, jsonrpc.CodeInvalidRequest, "nothing is known of the event in "+headerLast+" any more; send the request again")
			return
		}
		from = n + 1
	} else {
		from = c.own.unread()
	}
	c.enter()
	defer c.leave()
	writeEvents(w)
	if http.NewResponseController(w).Flush() != nil {
		return
	}
	over, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()
	st.follow(over, w, from, primes(c.s.capabilities().protocol), c.news)
}

// delete ends a session.
func (f *httpFront) delete(w http.ResponseWriter, r *http.Request, owner string) {
	c := f.find(w, r, owner)
	if c == nil {
		return
	}
	c.cancel(errSessionOver)
	w.WriteHeader(http.StatusNoContent)
}

// enter takes a session in, where there is room. The one that has been idle
// longest makes room, if nobody has used it for a minute.
func (f *httpFront) enter(c *httpClient) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closing {
		return false
	}
	if len(f.sessions) >= f.o.Sessions {
		var oldest *httpClient
		since := time.Now().Add(-time.Minute)
		for _, old := range f.sessions {
			if used, idle := old.idle(); idle && used.Before(since) {
				oldest, since = old, used
			}
		}
		if oldest == nil {
			return false
		}
		delete(f.sessions, oldest.id)
		oldest.cancel(errSessionOver)
	}
	f.sessions[c.id] = c
	return true
}

func (f *httpFront) forget(c *httpClient) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.sessions, c.id)
}

// sweep ends sessions that nobody uses.
func (f *httpFront) sweep() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.sessions {
		if since, idle := c.idle(); idle && time.Since(since) >= f.o.Idle {
			c.cancel(errSessionOver)
		}
	}
}

func (f *httpFront) draining() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.closing
}

// drain takes no new sessions and ends the clients' own streams, so that only
// calls under way hold the server.
func (f *httpFront) drain() {
	f.mu.Lock()
	f.closing = true
	all := make([]*httpClient, 0, len(f.sessions))
	for _, c := range f.sessions {
		all = append(all, c)
	}
	f.mu.Unlock()
	for _, c := range all {
		c.own.end()
	}
}

// closeAll ends every session and waits for it.
func (f *httpFront) closeAll() {
	f.drain()
	f.mu.Lock()
	for _, c := range f.sessions {
		c.cancel(errSessionOver)
	}
	f.mu.Unlock()
	f.lives.Wait()
}
