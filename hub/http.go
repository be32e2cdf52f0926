package hub

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	stdlog "log"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/rs/zerolog"

	"mcphub/internal/jsonrpc"
	"mcphub/internal/seal"
	"mcphub/rootsmgr"
)

// HTTPOptions shape the Streamable HTTP front. The zero value serves loopback
// names without a token, with the default bounds.
type HTTPOptions struct {
	Hosts    []string      // more names by which clients may call, with or without a port
	Origins  []string      // web pages that may call
	Tokens   []Token       // who may call; none: whoever reaches the address
	Sessions int           // at a time; 0: 1000
	StateKey []byte        // what requestState is sealed with, 32 bytes or more, so that several hubs may serve one client; nil: a random one
	Idle     time.Duration // a session without connection and request ends after it; 0: 30 min
	Poll     time.Duration // a connection lasts no longer, where the client comes back for the rest (2025-11-25); 0: as long as its request
}

const (
	headerSession  = "Mcp-Session-Id"
	headerProtocol = "MCP-Protocol-Version"
	headerLast     = "Last-Event-ID"

	headerTime  = 10 * time.Second // for the head of a request
	bodyTime    = 60 * time.Second // for head and body
	keepAlive   = 2 * time.Minute  // of a connection without a request
	upgradeTime = 5 * time.Second  // a request that takes longer is answered as a stream, which shows life
	endpoint    = "/mcp"
	maxHeader   = 64 << 10
)

// httpFront serves Streamable HTTP (MCP 2025-03-26 to 2025-11-25, Transports).
type httpFront struct {
	h     *Hub
	o     HTTPOptions
	guard *gate
	seal  *seal.Sealer
	log   zerolog.Logger
	watch watch

	bodies atomic.Int64 // bytes of large requests being read or served
	unread atomic.Int64 // bytes of large answers being written

	mu       sync.Mutex
	sessions map[string]*httpClient
	owned    map[string]int         // how many of the sessions are of each token, by its name
	owners   map[string]*httpClient // what serves the modern requests of a token, by its name
	closing  bool                   // no session begins any more
	over     bool                   // no request either
	lives    sync.WaitGroup         // sessions and requests

	idle idleSessions
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
	sealer := h.seal
	if o.StateKey != nil && err == nil {
		sealer, err = seal.New(o.StateKey)
	}
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	f := &httpFront{h: h, o: o, guard: guard, seal: sealer, log: h.now().cfg.Log, sessions: map[string]*httpClient{}, owned: map[string]int{}, owners: map[string]*httpClient{}}
	server := &http.Server{
		Handler: f, DisableGeneralOptionsHandler: true, ReadHeaderTimeout: headerTime, IdleTimeout: keepAlive, MaxHeaderBytes: maxHeader,
		// Both hold until a handler says otherwise, so for every refusal too.
		ReadTimeout: bodyTime, WriteTimeout: writePatience,
		ErrorLog: stdlog.New(f.log, "", 0),
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ln) }()
	sweep := time.NewTicker(max(o.Idle/8, time.Second))
	defer sweep.Stop()
	for {
		select {
		case err := <-ended:
			_ = server.Close()
			f.closeAll()
			return err
		case <-sweep.C:
			f.sweep()
		case <-ctx.Done():
			f.drain()
			over, cancel := context.WithTimeout(context.WithoutCancel(ctx), h.now().cfg.Limits.Grace)
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

// ServeHTTP serves the endpoint, and tells whoever looks after the process that
// it is well.
func (f *httpFront) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch look := r.Method == http.MethodGet || r.Method == http.MethodHead; {
	case r.URL.Path == endpoint:
		f.serve(w, r)
	case r.URL.Path == "/healthz" && look, r.URL.Path == "/readyz" && look && !f.draining():
		_, _ = io.WriteString(w, "ok\n")
	case r.URL.Path == "/readyz" && look:
		http.Error(w, "stopping", http.StatusServiceUnavailable)
	default:
		http.Error(w, "there is only "+endpoint+" here", http.StatusNotFound)
	}
}

// serve admits and routes one request to the endpoint.
func (f *httpFront) serve(w http.ResponseWriter, r *http.Request) {
	if len(r.TransferEncoding) > 0 {
		// It may have had a Content-Length too, which net/http does not tell: what
		// lies behind it may be no request of this client (RFC 9112, 6.1).
		w.Header().Set("Connection", "close")
	}
	owner, ok := f.guard.admit(w, r)
	if !ok {
		return
	}
	if !f.begin() {
		refuseHTTP(w, http.StatusServiceUnavailable, jsonrpc.CodeInternal, "the hub is stopping")
		return
	}
	defer f.lives.Done()
	if r.Method != http.MethodPost && f.modern(r.Header, owner) {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "use POST: this version of the protocol has nothing else", http.StatusMethodNotAllowed)
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

// modern reports whether the headers of a request make it one of the era without
// a handshake. A version that is not served is taken for a later one of that era,
// but in a session: whoever has one has said initialize.
func (f *httpFront) modern(h http.Header, owner string) bool {
	if !headerModern(h) {
		return false
	}
	id := sessionNamed(h)
	if id == "" || slices.Contains(h[keyProtocol], modernVersion) {
		return true
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.sessions[id]
	return c == nil || c.owner != owner
}

// post takes one message of the client.
func (f *httpFront) post(w http.ResponseWriter, r *http.Request, owner string) {
	plain, events := accepts(r.Header)
	if !plain && !events {
		refuseHTTP(w, http.StatusNotAcceptable, jsonrpc.CodeInvalidRequest, "accept application/json and text/event-stream")
		return
	}
	if f.modern(r.Header, owner) {
		f.postModern(w, r, owner, events)
		return
	}
	// Whoever is of no session has nothing long to say.
	var c *httpClient
	if sessionNamed(r.Header) != "" {
		if c = f.find(w, r, owner); c == nil {
			return
		}
		if !c.enter() {
			refuseBusy(w, "too many requests of this session are open at once")
			return
		}
		defer c.leave()
	}
	m, held := f.message(w, r, c)
	if m == nil {
		return
	}
	detached := false
	defer func() {
		if !detached {
			held.release()
		}
	}()
	if isModern(m) {
		err := checkVersion(r.Header, m)
		if err == nil {
			err = mismatch(headerProtocol, "names a version of the handshake, and the body is of another one")
		}
		refuseRequest(w, http.StatusBadRequest, m.ID, refuseMismatch(err))
		return
	}
	switch {
	case isBatch(m):
		f.batch(w, r, c, m, plain)
		return
	case m.IsRequest() && m.Method == string(mcp.MethodInitialize):
		f.initialize(w, r, m, owner)
		return
	case c == nil:
		f.find(w, r, owner) // says what is missing
		return
	case m.IsRequest():
		detached = f.request(w, r, c, m, events, held)
		return
	case !f.told(c, m):
		refuseHTTP(w, http.StatusBadRequest, jsonrpc.CodeInvalidRequest, noMessage)
		return
	}
	w.WriteHeader(http.StatusAccepted)
}

const noMessage = "a message needs a method, or an id with either a result or an error"

// told takes in what is not answered; false: it is no message.
func (f *httpFront) told(c *httpClient, m *jsonrpc.Message) bool {
	switch {
	case m.Method == "notifications/cancelled":
		c.cancelled(m)
	case m.IsNotification():
		f.notification(c, m)
	case m.IsResponse() && (m.Result == nil) != (m.Error == nil):
		c.answered(m)
	default:
		return false
	}
	return true
}

func (f *httpFront) notification(c *httpClient, m *jsonrpc.Message) {
	jsonrpc.Guard(f.log, m, func() { c.s.ServeNotification(m) })
}

// find returns the session that a request names, if it is the caller's.
// Somebody else's is no different from one that does not exist.
func (f *httpFront) find(w http.ResponseWriter, r *http.Request, owner string) *httpClient {
	for _, v := range r.Header[keyProtocol] {
		if v != "" && !slices.Contains(legacyVersions, v) {
			refuseHTTP(w, http.StatusBadRequest, jsonrpc.CodeInvalidRequest, fmt.Sprintf("the protocol version %q is not served", shown(v, 40)))
			return nil
		}
	}
	id := sessionNamed(r.Header)
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
	if sessionNamed(r.Header) != "" {
		refuseRequest(w, http.StatusBadRequest, m.ID, jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidRequest, "initialize was already called in this session"))
		return
	}
	c := newHTTPClient(rand.Text(), owner, f.h.now().cfg.Limits.Calls, &f.watch)
	if !f.enter(c) {
		w.Header().Set("Retry-After", "10")
		refuseRequest(w, http.StatusServiceUnavailable, m.ID, jsonrpc.ErrorAnswer(jsonrpc.CodeInternal, fmt.Sprintf("there are as many sessions already as may be, of %d; try again later", f.o.Sessions)))
		return
	}
	f.host(c, c, askHTTP{askRoots{c}, c})
	f.live(c)
	a := c.s.answer(m, func() jsonrpc.Answer { return c.s.ServeRequest(c.ctx, m) })
	if a.Result == nil {
		c.cancel(errSessionOver)
		refuseRequest(w, http.StatusBadRequest, m.ID, a)
		return
	}
	w.Header().Set(headerSession, c.id)
	writePlain(w, m.ID, a)
}

// host makes the Session of a client.
func (f *httpFront) host(c *httpClient, main mainPeer, src rootsmgr.Source) {
	c.s = f.h.newSession()
	c.s.speaksOn(main)
	c.s.principal, c.s.modern.seal = c.owner, f.seal
	cfg := &f.h.now().cfg
	settings := cfg.Roots
	settings.Ceiling, settings.Places = f.guard.ceilings[c.owner], c.s.places
	c.s.roots = rootsmgr.NewManager(src, cfg.Fallback, settings, cfg.FS, c.s.log)
}

// live runs the Session of a client until that is cancelled. The caller is one
// of lives, so nobody has waited for them yet.
func (f *httpFront) live(c *httpClient) {
	f.lives.Go(func() {
		_ = c.s.run(c.ctx, nil)
		f.forget(c)
		c.close()
	})
}

// answer has a request served; see jsonrpc.Guard.
func (s *Session) answer(m *jsonrpc.Message, serve func() jsonrpc.Answer) (a jsonrpc.Answer) {
	if !jsonrpc.Guard(s.log, m, func() { a = serve() }) {
		return jsonrpc.Panicked()
	}
	return a
}

// enter takes a session in, where there is room: of one token, if there are
// several, for three quarters of all. The one that has been idle longest makes
// room, if nobody has used it for a minute.
func (f *httpFront) enter(c *httpClient) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closing {
		return false
	}
	now := time.Now()
	greedy := len(f.o.Tokens) > 1 && f.owned[c.owner] >= max(f.o.Sessions*3/4, 1)
	if greedy || len(f.sessions) >= f.o.Sessions {
		oldest := f.idle.longest(c.owner, !greedy, now.Add(-time.Minute))
		if oldest == nil {
			return false
		}
		f.end(oldest)
	}
	f.sessions[c.id] = c
	f.owned[c.owner]++
	c.idlers = &f.idle
	f.idle.add(c, now)
	return true
}

// end ends a session and makes its place free. The caller holds mu.
func (f *httpFront) end(c *httpClient) {
	c.cancel(errSessionOver)
	f.idle.remove(c)
	if f.sessions[c.id] != c {
		return
	}
	delete(f.sessions, c.id)
	if f.owned[c.owner]--; f.owned[c.owner] == 0 {
		delete(f.owned, c.owner)
	}
}

func (f *httpFront) forget(c *httpClient) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.end(c)
	if f.owners[c.owner] == c {
		delete(f.owners, c.owner)
	}
}

// sweep ends sessions that nobody uses.
func (f *httpFront) sweep() {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := time.Now().Add(-f.o.Idle)
	for c := f.idle.longest("", true, before); c != nil; c = f.idle.longest("", true, before) {
		f.end(c)
	}
	for _, c := range f.owners {
		if since, idle := c.rests(); idle && !since.After(before) && !c.s.modern.lot.busy() {
			c.cancel(errSessionOver)
		}
	}
}

// all are those that the front serves. The caller holds mu.
func (f *httpFront) all() []*httpClient {
	return slices.AppendSeq(slices.Collect(maps.Values(f.sessions)), maps.Values(f.owners))
}

// begin counts a request, unless nobody waits for it any more.
func (f *httpFront) begin() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.over {
		f.lives.Add(1)
	}
	return !f.over
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
	all := f.all()
	f.mu.Unlock()
	for _, c := range all {
		c.own.end()
		if c.modern {
			c.s.notifier.HangUp()
		}
	}
}

// closeAll ends every session and waits for it, and for every request.
func (f *httpFront) closeAll() {
	f.drain()
	f.mu.Lock()
	f.over = true
	for _, c := range f.all() {
		c.cancel(errSessionOver)
	}
	f.mu.Unlock()
	f.lives.Wait()
}
