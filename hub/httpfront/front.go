package httpfront

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	stdlog "log"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"mcphub/hub/httpfront/admission"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
	"mcphub/internal/printable"
)

const (
	headerTime = 10 * time.Second // for the head of a request
	bodyTime   = 60 * time.Second // for head and body
	keepAlive  = 2 * time.Minute  // of a connection without a request
	endpoint   = "/mcp"
	maxHeader  = 64 << 10
)

// A front serves one listener.
type front struct {
	hub       Hub
	o         Options
	admission *admission.Admission
	log       zerolog.Logger
	slow      slowReplies

	bodies atomic.Int64 // bytes of large requests being read or served
	unread atomic.Int64 // bytes of large answers being written

	mu          sync.Mutex
	sessions    map[string]*Peer
	owned       map[string]int   // how many of the sessions are of each token, by its name
	modernPeers map[string]*Peer // what serves the requests without a handshake of a token, by its name
	closing     bool             // no session starts any more
	closed      bool             // no request either
	running     sync.WaitGroup   // sessions and requests

	idle idlePeers
}

// Serve serves clients of hub on a listener, which it closes, until ctx ends. Calls
// under way then get Limits.Grace. It returns when every session has ended.
func Serve(ctx context.Context, ln net.Listener, hub Hub, o Options) error {
	if o.Sessions <= 0 {
		o.Sessions = 1000
	}
	if o.Idle <= 0 {
		o.Idle = 30 * time.Minute
	}
	admitted, err := admission.New(o.admission())
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	f := &front{hub: hub, o: o, admission: admitted, log: o.Log, sessions: map[string]*Peer{}, owned: map[string]int{}, modernPeers: map[string]*Peer{}}
	server := &http.Server{
		Handler: f, DisableGeneralOptionsHandler: true, ReadHeaderTimeout: headerTime, IdleTimeout: keepAlive, MaxHeaderBytes: maxHeader,
		// Both hold until a handler says otherwise, so for every refusal too.
		ReadTimeout: bodyTime, WriteTimeout: writeTimeout,
		ErrorLog: stdlog.New(f.log, "", 0), ConnContext: admitted.Met, ConnState: admitted.Left,
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
			grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), hub.Limits().Grace)
			if err := server.Shutdown(grace); err != nil {
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
func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 && (r.URL.Path != endpoint || r.Method != http.MethodPost) {
		part(w) // nothing else reads a body
	}
	switch look := r.Method == http.MethodGet || r.Method == http.MethodHead; {
	case r.URL.Path == endpoint:
		f.serve(w, r)
	case f.admission.Metadata(r.URL.Path) != nil:
		f.admission.Metadata(r.URL.Path).ServeHTTP(w, r)
	case r.URL.Path == "/healthz" && look, r.URL.Path == "/readyz" && look && !f.draining():
		_, _ = io.WriteString(w, "ok\n")
	case r.URL.Path == "/readyz" && look:
		http.Error(w, "stopping", http.StatusServiceUnavailable)
	default:
		http.Error(w, "only "+endpoint+" is here; /sse is not served", http.StatusNotFound)
	}
}

// serve admits and routes one request to the endpoint.
func (f *front) serve(w http.ResponseWriter, r *http.Request) {
	if len(r.TransferEncoding) > 0 {
		// It may have had a Content-Length too, which net/http does not tell: what
		// lies behind it may be no request of this client (RFC 9112, 6.1).
		w.Header().Set("Connection", "close")
	}
	// Nothing that costs comes before this: no body is read, no table of the front looked at.
	who, err := f.admission.Admit(w, r)
	if key := twice(r.Header); err == nil && key != "" {
		err = &admission.Refusal{Status: http.StatusBadRequest, Text: "the header " + key + " is there more than once"}
	}
	if err != nil {
		if refusal, ok := errors.AsType[*admission.Refusal](err); ok {
			turnAway(w, refusal.Status, refusal.Text)
		}
		return
	}
	f.admission.Know(r.Context())
	if !f.startRequest() {
		refuse(w, http.StatusServiceUnavailable, jsonrpc.CodeInternal, "the hub is stopping")
		return
	}
	defer f.running.Done()
	if r.Method != http.MethodPost && f.isModern(r.Header, who) {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "use POST: this version of the protocol has nothing else", http.StatusMethodNotAllowed)
		return
	}
	switch r.Method {
	case http.MethodPost:
		f.post(w, r, who)
	case http.MethodGet:
		f.get(w, r, who)
	case http.MethodDelete:
		f.delete(w, r, who)
	default:
		w.Header().Set("Allow", "GET, POST, DELETE")
		http.Error(w, "use POST, GET or DELETE", http.StatusMethodNotAllowed)
	}
}

// isModern reports whether the headers of a request make it one of the era without
// a handshake. A version that is not served is taken for a later one of that era,
// but in a session: whoever has one has said initialize.
func (f *front) isModern(h http.Header, who admission.Caller) bool {
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
	return c == nil || c.owner != who.Owner()
}

// post takes one message of the client.
func (f *front) post(w http.ResponseWriter, r *http.Request, who admission.Caller) {
	plain, events := accepts(r.Header)
	if !plain && !events {
		refuse(w, http.StatusNotAcceptable, jsonrpc.CodeInvalidRequest, "accept application/json and text/event-stream")
		return
	}
	if f.isModern(r.Header, who) {
		f.postModern(w, r, who, events)
		return
	}
	// Whoever is of no session has nothing long to say.
	var c *Peer
	if sessionNamed(r.Header) != "" {
		if c = f.find(w, r, who); c == nil {
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
	if f.hub.Modern(m) {
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
	case m.IsRequest() && m.Method == methods.Initialize:
		f.initialize(w, r, m, who)
		return
	case c == nil:
		f.find(w, r, who) // says what is missing
		return
	case m.IsRequest():
		detached = f.request(w, r, c, m, events, held)
		return
	case !f.told(c, m):
		refuse(w, http.StatusBadRequest, jsonrpc.CodeInvalidRequest, noMessage)
		return
	}
	w.WriteHeader(http.StatusAccepted)
}

const noMessage = "a message needs a method, or an id with either a result or an error"

// told takes in what is not answered; false: it is no message.
func (f *front) told(c *Peer, m *jsonrpc.Message) bool {
	switch {
	case m.Method == methods.Cancelled:
		c.cancelled(m)
	case m.IsNotification():
		c.session.Notify(m)
	case m.IsResponse() && (m.Result == nil) != (m.Error == nil):
		c.answered(m)
	default:
		return false
	}
	return true
}

// find returns the session that a request names, if it is the caller's.
// Somebody else's is no different from one that does not exist.
func (f *front) find(w http.ResponseWriter, r *http.Request, who admission.Caller) *Peer {
	for _, v := range r.Header[keyProtocol] {
		if v != "" && !slices.Contains(handshakeVersions, v) {
			refuse(w, http.StatusBadRequest, jsonrpc.CodeInvalidRequest, fmt.Sprintf("the protocol version %q is not served", printable.Escape(v, 40)))
			return nil
		}
	}
	id := sessionNamed(r.Header)
	if id == "" {
		refuse(w, http.StatusBadRequest, jsonrpc.CodeInvalidRequest, "there is no "+headerSession+" header: send initialize first and then the id that it is answered with")
		return nil
	}
	f.mu.Lock()
	c := f.sessions[id]
	f.mu.Unlock()
	if c == nil || c.owner != who.Owner() || c.ctx.Err() != nil {
		refuse(w, http.StatusNotFound, jsonrpc.CodeInvalidRequest, "there is no such session: send initialize again")
		return nil
	}
	c.validUntil(who.Expires)
	return c
}

// initialize opens a session.
func (f *front) initialize(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message, who admission.Caller) {
	if sessionNamed(r.Header) != "" {
		refuseRequest(w, http.StatusBadRequest, m.ID, jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidRequest, "initialize was already called in this session"))
		return
	}
	c := newPeer(rand.Text(), who.Owner(), f.hub.Limits().Calls, &f.slow)
	if !f.enter(c) {
		w.Header().Set("Retry-After", "10")
		refuseRequest(w, http.StatusServiceUnavailable, m.ID, jsonrpc.ErrorAnswer(jsonrpc.CodeInternal, fmt.Sprintf("there are as many sessions already as may be, of %d; try again later", f.o.Sessions)))
		return
	}
	c.validUntil(who.Expires)
	c.session = f.hub.Open(who, c)
	f.run(c)
	a := c.session.Initialize(c.ctx, m)
	if a.Result == nil {
		c.cancel(errSessionOver)
		refuseRequest(w, http.StatusBadRequest, m.ID, a)
		return
	}
	w.Header().Set(headerSession, c.id)
	writePlain(w, m.ID, a)
}
