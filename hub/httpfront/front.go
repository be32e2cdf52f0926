package httpfront

import (
	"context"
	"errors"
	"fmt"
	"io"
	stdlog "log"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"mcphub/hub/httpfront/admission"
	"mcphub/hub/httpfront/events"
	"mcphub/hub/httpfront/headers"
	"mcphub/hub/httpfront/peers"
	"mcphub/hub/httpfront/quota"
	"mcphub/hub/toolset"
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

// A Front serves one listener.
type Front struct {
	hub         Hub
	fixed       FrontOptions                  // the ones that stay as they are
	active      atomic.Pointer[activeOptions] // the others; replaced under mu
	connections admission.Connections
	log         zerolog.Logger
	slow        slowExchanges

	bodies        byteBudget // bytes of large requests being read or served
	unreadAnswers byteBudget // bytes of large answers being written

	callers    quota.Callers
	rejections rejectionLog
	forwarded  forwarding

	mu             sync.Mutex
	sessions       map[string]*FrontSession
	owned          map[string]int           // how many of the sessions are of each principal, by its key
	shares         map[string]*quota.Share  // what principals take, by their keys
	modernSessions map[string]*FrontSession // what serves the requests without a handshake of a token, by its name
	running        sync.WaitGroup           // sessions and requests
	stage          atomic.Int32             // a stage; changed under mu

	idle idleSessions
}

// New makes a Front for the clients of hub. New starts nothing.
func New(hub Hub, options FrontOptions) (*Front, error) {
	if options.Sessions <= 0 {
		options.Sessions = 1000
	}
	f := &Front{
		hub:            hub,
		fixed:          options,
		log:            options.Log,
		sessions:       map[string]*FrontSession{},
		owned:          map[string]int{},
		shares:         map[string]*quota.Share{},
		modernSessions: map[string]*FrontSession{},
		rejections:     rejectionLog{count: options.Count, tell: options.Tell},
	}
	f.forwarded.prepare()
	follow, err := f.Prepare(options)
	if err != nil {
		return nil, err
	}
	follow()
	return f, nil
}

// Serve serves clients on a listener, which it closes, until ctx ends, and then stops as
// FrontOptions say (stop.go). It returns when every session has ended. It is called once.
func (f *Front) Serve(ctx context.Context, ln net.Listener) error {
	server := &http.Server{
		Handler: f, DisableGeneralOptionsHandler: true, ReadHeaderTimeout: headerTime, IdleTimeout: keepAlive, MaxHeaderBytes: maxHeader,
		// Both hold until a handler says otherwise, so for every refusal too.
		ReadTimeout: bodyTime, WriteTimeout: events.WriteTimeout,
		ErrorLog: stdlog.New(f.log, "", 0), ConnContext: f.connections.Track, ConnState: f.connections.OnStateChange,
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ln) }()
	refreshing, stop := context.WithCancel(ctx)
	var refresh sync.WaitGroup
	refresh.Go(func() { f.refreshIssuers(refreshing) })
	defer refresh.Wait()
	defer stop()
	sweep, flush := time.NewTimer(f.sweepTime()), time.NewTicker(rejectionFlush)
	defer sweep.Stop()
	defer flush.Stop()
	defer f.rejections.flushHeld()
	defer func() { f.active.Load().peers.Close() }()
	for {
		select {
		case err := <-ended:
			_ = server.Close()
			f.closeAll(lastAnswersTime)
			f.running.Wait()
			return err
		case <-flush.C:
			f.rejections.flushHeld()
		case <-sweep.C:
			f.sweepIdle()
			sweep.Reset(f.sweepTime())
		case <-ctx.Done():
			f.stopServer(server)
			<-ended
			return nil
		}
	}
}

// RefreshEvery is how often [admission.Resource.Refresh] is called.
const RefreshEvery = 30 * time.Second

// refreshIssuers has what is known of the issuers fetched before it is too old, until ctx ends.
func (f *Front) refreshIssuers(ctx context.Context) {
	tick := time.NewTicker(RefreshEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if r := f.active.Load().Resource; r != nil && r.Refresh != nil {
				r.Refresh(ctx)
			}
		}
	}
}

// ServeHTTP serves the endpoint, the pages for logins and for metadata, and the checks /healthz and /readyz of a supervisor.
func (f *Front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if f.currentStage() >= draining {
		w.Header().Set("Connection", "close") // the next request finds another hub
	}
	toolset, isEndpoint := readEndpoint(r.URL.Path)
	isLoginPage := f.hasLoginPage(r.URL.Path)
	if r.ContentLength != 0 && (!isEndpoint && !isLoginPage || r.Method != http.MethodPost) {
		closeAfterAnswer(w) // nothing else reads a body
	}
	switch isRead := r.Method == http.MethodGet || r.Method == http.MethodHead; {
	case isEndpoint:
		f.serveEndpoint(w, r, toolset)
	case isLoginPage:
		f.serveLogin(w, r)
	case f.metadataHandler(r.URL.Path) != nil:
		f.metadataHandler(r.URL.Path).ServeHTTP(w, r)
	case r.URL.Path == "/healthz" && isRead:
		_, _ = io.WriteString(w, "ok\n")
	case r.URL.Path == "/readyz" && isRead:
		f.answerReadyz(w, r)
	case r.URL.Path == peers.Path && f.active.Load().peers.ServeName(w, r):
	default:
		f.refuseAsText(w, r, http.StatusNotFound, ReasonPath, "only "+endpoint+" is here; /sse is not served")
	}
}

// readEndpoint reports whether a path is that of the endpoint, and which toolset it names; "" for none. People and clients write a
// slash behind it, or none.
func readEndpoint(path string) (name string, ok bool) {
	rest, ok := strings.CutPrefix(strings.TrimSuffix(path, "/"), endpoint)
	if !ok || rest == "" {
		return "", ok
	}
	name, ok = strings.CutPrefix(rest, "/")
	return name, ok && toolset.IsName(name)
}

// serveEndpoint admits and routes one request to the endpoint, of a caller that comes for a toolset, or for none.
func (f *Front) serveEndpoint(w http.ResponseWriter, r *http.Request, name string) {
	if len(r.TransferEncoding) > 0 {
		// It may have had a Content-Length too, which net/http does not tell: what
		// lies behind it may be no request of this client (RFC 9112, 6.1).
		w.Header().Set("Connection", "close")
	}
	// Nothing that costs comes before this: no body is read, no table of the front looked at.
	caller, err := f.active.Load().admission.Admit(w, r)
	if err != nil {
		if refused, ok := errors.AsType[*admission.Refusal](err); ok {
			f.refuseAndClose(w, r, &refusal{status: refused.Status, reason: refused.Reason, text: refused.Text, again: refused.Again})
		}
		return
	}
	r, refused := f.withSender(r)
	if refused != nil {
		f.refuseAndClose(w, r, refused)
		return
	}
	caller.Toolsets.URL, caller.Toolsets.Flag = name, f.fixed.Toolsets
	if err := f.hub.CheckToolsets(caller); err != nil {
		f.refuseAndClose(w, r, &refusal{status: http.StatusForbidden, reason: ReasonToolset, text: err.Error()})
		return
	}
	if key := headers.DuplicateHeader(r.Header); key != "" {
		f.refuseAndClose(w, r, &refusal{status: http.StatusBadRequest, reason: ReasonHeader, text: "the header " + key + " is there more than once"})
		return
	}
	key := caller.Principal.Key()
	if isForwarded(r) {
		key = "" // the connection is the other hub's, and brings requests of everyone
	}
	if !f.connections.Assign(r.Context(), key, f.maxOpen()) {
		f.refuseAndClose(w, r, tooManyRefusal(ReasonConnections, time.Second, "%s has as many connections open as leave room for others; close some of them, or use them again", printable.Escape(key, 100)))
		return
	}
	if !f.startRequest() {
		if headers.SessionOf(r.Header) != "" && !headers.IsModern(r.Header) {
			f.answerRefused(w, r, refusedUnknown, nil) // as it is from leaving on: its client opens another one, elsewhere
			return
		}
		f.answerRefused(w, r, refusedStopping, nil)
		return
	}
	defer f.running.Done()
	if r.Method != http.MethodPost && f.isModern(r.Header, caller) {
		w.Header().Set("Allow", http.MethodPost)
		f.refuseAsText(w, r, http.StatusMethodNotAllowed, ReasonMethod, "use POST: this version of the protocol has nothing else")
		return
	}
	switch r.Method {
	case http.MethodPost:
		f.servePost(w, r, caller)
	case http.MethodGet:
		f.serveGet(w, r, caller)
	case http.MethodDelete:
		f.serveDelete(w, r, caller)
	default:
		w.Header().Set("Allow", "GET, POST, DELETE")
		f.refuseAsText(w, r, http.StatusMethodNotAllowed, ReasonMethod, "use POST, GET or DELETE")
	}
}

// isModern reports whether the headers of a request make it one of the era without
// a handshake. A version that is not served is taken for a later one of that era.
// In a session it is not: a client that has a session has sent initialize.
func (f *Front) isModern(h http.Header, caller admission.Caller) bool {
	if !headers.IsModern(h) {
		return false
	}
	id := headers.SessionOf(h)
	if id == "" || headers.HasVersion(h, headers.ModernVersion) {
		return true
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	session := f.sessions[id]
	return session == nil || !session.isOf(caller)
}

// servePost takes one message of the client.
func (f *Front) servePost(w http.ResponseWriter, r *http.Request, caller admission.Caller) {
	plain, takesEvents := headers.Accepted(r.Header)
	if !plain && !takesEvents {
		f.refuseRequest(w, r, http.StatusNotAcceptable, ReasonAccept, nil, "accept application/json and text/event-stream")
		return
	}
	if f.isModern(r.Header, caller) {
		f.serveModernPost(w, r, caller, takesEvents)
		return
	}
	// Without a session there is only initialize, whose body is short (maxInitialize).
	var session *FrontSession
	var share *quota.Share
	if headers.SessionOf(r.Header) != "" {
		if session = f.findSession(w, r, caller); session == nil {
			return
		}
		if refused := session.enterConnection(isPost); refused != nil {
			f.answerRefused(w, r, refused, nil)
			return
		}
		defer session.leaveConnection(isPost)
		share = session.share
	} else {
		var exit func()
		share, exit = f.enterShare(caller)
		defer exit()
	}
	m, body := f.readMessage(w, r, session, share)
	if m == nil {
		return
	}
	detached := false
	defer func() {
		if !detached {
			body.releaseBytes()
		}
	}()
	if f.hub.IsModern(m) {
		err := headers.CheckVersion(r.Header, m)
		if err == nil {
			err = headers.Mismatch(headers.Protocol, "names a version of the handshake, and the body is of another one")
		}
		f.refuseWithAnswer(w, r, http.StatusBadRequest, ReasonHeader, m.ID, headers.MismatchAnswer(err))
		return
	}
	switch {
	case session != nil && f.currentStage() >= leaving && (m.IsRequest() || isBatch(m)):
		f.refuseRequest(w, r, http.StatusNotFound, ReasonStopping, m.ID, errStopping.Reason.Error()+", and has not looked at this request: send initialize again")
		return
	case isBatch(m):
		f.answerBatch(w, r, session, m, plain)
		return
	case m.IsRequest() && m.Method == methods.Initialize:
		f.openSession(w, r, m, caller, share)
		return
	case session == nil:
		f.findSession(w, r, caller) // reports what is missing
		return
	case m.IsRequest():
		detached = f.serveMessage(w, r, session, m, takesEvents, body)
		return
	}
	if refused := f.takeMessage(w, r, session, m); refused != nil {
		f.answerRefused(w, r, refused, nil)
		return
	}
	w.WriteHeader(http.StatusAccepted)
}

var refusedMessage = &refusal{status: http.StatusBadRequest, reason: ReasonBody, text: "a message needs a method, or an id with either a result or an error"}

// takeMessage takes in what is not answered. Answers to what the client was asked, and what it no longer wants, wait
// for nothing: requests under way end by them.
func (f *Front) takeMessage(w http.ResponseWriter, r *http.Request, session *FrontSession, m *jsonrpc.Message) *refusal {
	switch {
	case m.Method == methods.Cancelled:
		session.cancelRequest(m)
	case m.IsNotification():
		work, err := session.share.Begin(w, r, m.Method)
		if err != nil {
			return refusalOf(err)
		}
		session.hubSession.Notify(m)
		session.share.End(work)
	case m.IsResponse() && (m.Result == nil) != (m.Error == nil):
		session.takeAnswer(m)
	default:
		return refusedMessage
	}
	return nil
}

// findSession returns the session that a request names, if it is the caller's.
// Someone else's is no different from one that does not exist.
func (f *Front) findSession(w http.ResponseWriter, r *http.Request, caller admission.Caller) *FrontSession {
	if v := headers.NonHandshakeVersion(r.Header); v != "" {
		f.refuseRequest(w, r, http.StatusBadRequest, ReasonVersion, nil, fmt.Sprintf("the protocol version %q is not served", printable.Escape(v, 40)))
		return nil
	}
	id := headers.SessionOf(r.Header)
	if id == "" {
		f.refuseRequest(w, r, http.StatusBadRequest, ReasonSession, nil, "there is no "+headers.Session+" header: send initialize first and then the id that it is answered with")
		return nil
	}
	f.mu.Lock()
	session := f.sessions[id]
	f.mu.Unlock()
	if session == nil || !session.isOf(caller) || session.ctx.Err() != nil {
		f.refuseSession(w, r, caller, id, session == nil)
		return nil
	}
	session.noteToken(r, caller)
	return session
}

// refuseSession answers a request whose session this hub does not have. The hub that keeps the session answers it, if that can be reached.
func (f *Front) refuseSession(w http.ResponseWriter, r *http.Request, caller admission.Caller, id string, unknown bool) {
	node := ""
	if unknown {
		node = f.hub.Elsewhere(caller, id)
	}
	switch {
	case node == "":
		f.answerRefused(w, r, refusedUnknown, nil)
	case !f.forwardRequest(w, r, node, nil):
		f.answerRefused(w, r, refusedElsewhere, nil)
	}
}

// openSession opens a session of a caller, who has a share.
func (f *Front) openSession(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message, caller admission.Caller, share *quota.Share) {
	if headers.SessionOf(r.Header) != "" {
		f.refuseRequest(w, r, http.StatusBadRequest, ReasonSession, m.ID, "initialize was already called in this session")
		return
	}
	work, err := share.Begin(w, r, m.Method)
	if err != nil {
		f.answerRefused(w, r, refusalOf(err), m.ID)
		return
	}
	defer share.End(work)
	named := f.hub.WithClient(caller, m)
	if err := f.hub.CheckToolsets(named); err != nil {
		f.refuseRequest(w, r, http.StatusForbidden, ReasonToolset, m.ID, err.Error())
		return
	}
	session := f.newSession(f.hub.NewID(caller), caller) // later requests do not name their client
	f.noteOrigin(session, r)
	if refused := f.enterSession(session); refused != nil {
		f.answerRefused(w, r, refused, m.ID)
		return
	}
	session.noteToken(r, caller)
	session.hubSession = f.hub.Open(named, session)
	f.runSession(session)
	answer := session.hubSession.Initialize(session.ctx, m)
	if answer.Result == nil {
		session.cancel(errSessionOver)
		f.refuseWithAnswer(w, r, http.StatusBadRequest, ReasonVersion, m.ID, answer)
		return
	}
	w.Header().Set(headers.Session, session.id)
	writeJSON(w, m.ID, answer)
}
