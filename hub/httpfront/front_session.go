package httpfront

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"mcphub/hub/httpfront/admission"
	"mcphub/hub/httpfront/events"
	"mcphub/hub/httpfront/quota"
	"mcphub/internal/callertoken"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
	"mcphub/internal/worker"
)

// Bounds of what a session keeps for a client that may come back.
const (
	finishedStreams = 8                // ended streams of requests, for a client whose connection broke
	finishedBytes   = 16 << 20         // that they hold, all together
	answerTime      = time.Second      // for the last answers of a session that has ended
	streamWait      = 10 * time.Second // for the client to open a stream that a question can go on
)

// A FrontSession is what the front has of one session: the way to its client outside of requests, and counts of what the client
// holds. If modernSession is set, it stands for all clients of one token that have no session (modern_post.go). Then it counts what
// they hold, and is told and asked nothing.
type FrontSession struct {
	id               string           // Mcp-Session-Id
	caller           admission.Caller // who has opened it
	owner            string           // its key among callers; "" if no token is asked for
	address          string           // of the request that began it
	agent            string           // the User-Agent of that
	principal        string           // the key of its owner, who may have several sessions
	hubSession       HubSession       // nil if modernSession is set
	modernSession    ModernSession    // nil if hubSession is set
	standaloneStream *events.Stream   // what belongs to no request: the client's GET
	ctx              context.Context
	cancel           context.CancelCauseFunc
	share            *quota.Share            // of its principal; nil if that has no bounds
	slots            chan struct{}           // one token for each request being served
	token            *callertoken.Holder     // what its caller was admitted by; nil: not held
	slow             *slowExchanges          // of the front
	idlers           *idleSessions           // of the front; nil for what serves modern requests
	idleNode         chainNode[FrontSession] // in idlers, whose mutex guards it
	idleSince        time.Time               // when it came to rest; the same mutex guards it
	heldBytes        atomic.Int64            // bytes of requests being read or served
	unsentBytes      atomic.Int64            // bytes that wait in all its streams
	unreadBytes      atomic.Int64            // bytes of large answers being written

	mu            sync.Mutex                // guards what follows
	streams       map[string]*events.Stream // of requests under way, by id
	finished      []*events.Stream
	lentExchanges []*PostExchange
	changed       chan struct{} // closed and replaced when there is another way to the client
	openQuestions map[string]chan *jsonrpc.Response
	serving       map[string]*activeRequest
	ended         bool          // no request is taken any more
	lastID        uint64        // of the hub's own requests
	lastStreamID  uint64        // of streams
	connections   int           // that the client has open
	openPosts     int           // POSTs among the connections
	noPosts       chan struct{} // closed when openPosts becomes 0; nil: no caller waits for that
	listens       int           // subscriptions/listen requests of 2026-07-28 that are open
	busy          bool          // there is a connection, a request or a listener
	lastUsed      time.Time     // when there was one last
	endsAt        time.Time     // the session ends then: its client's tokens have expired; zero: never
	expiry        *time.Timer   // ends it; nil: nothing does
}

func newFrontSession(id string, caller admission.Caller, limit int, slow *slowExchanges) *FrontSession {
	session := &FrontSession{
		id: id, caller: caller, owner: caller.Owner(), principal: caller.Principal.Key(), slow: slow, slots: make(chan struct{}, limit),
		streams: map[string]*events.Stream{}, changed: make(chan struct{}), openQuestions: map[string]chan *jsonrpc.Response{},
		serving: map[string]*activeRequest{}, lastUsed: time.Now(),
	}
	session.standaloneStream = events.New("0", &session.unsentBytes)
	session.standaloneStream.UnfollowedLimit = events.MaxAlone
	session.ctx, session.cancel = context.WithCancelCause(context.Background())
	context.AfterFunc(session.ctx, session.endServing)
	return session
}

// newSession makes the FrontSession of a caller of the front.
func (f *Front) newSession(id string, caller admission.Caller) *FrontSession {
	session := newFrontSession(id, caller, f.hub.Limits().Calls, &f.slow)
	session.token = f.fixed.Callers.NewHolder(caller.Principal, caller.Owner())
	return session
}

// Origin returns the address and the User-Agent of the request that began the session.
func (session *FrontSession) Origin() (address, agent string) { return session.address, session.agent }

// isOf reports whether it belongs to a caller, and the caller is admitted as it was then.
func (session *FrontSession) isOf(caller admission.Caller) bool {
	return session.caller.Basis == caller.Basis && session.owner == caller.Owner()
}

// noteToken remembers the token that a request of the session was admitted by. The session ends with the last of its tokens.
func (session *FrontSession) noteToken(r *http.Request, caller admission.Caller) {
	session.holdToken(r, caller)
	session.extendTo(caller.Expires)
}

// holdToken holds the token that a request was admitted by, if a server is called with one that is had in exchange for it.
func (session *FrontSession) holdToken(r *http.Request, caller admission.Caller) {
	if session.token.IsWanted() {
		session.token.KeepToken(admission.BearerToken(r), caller.Expires)
	}
}

// withToken returns ctx with the token that a request was admitted by, if a server is called with one that is had in exchange for it.
func (session *FrontSession) withToken(ctx context.Context, r *http.Request) context.Context {
	if !session.token.IsWanted() {
		return ctx
	}
	return callertoken.NewContext(ctx, session.token.HeldToken(admission.BearerToken(r)))
}

// extendTo lets the session last until a token expires that the client has shown.
func (session *FrontSession) extendTo(t time.Time) {
	session.mu.Lock()
	defer session.mu.Unlock()
	if !t.After(session.endsAt) {
		return
	}
	session.endsAt = t
	if session.expiry == nil {
		session.expiry = time.AfterFunc(time.Until(t), func() { session.cancel(errExpired) })
		return
	}
	session.expiry.Reset(time.Until(t))
}

// maySendBatches reports whether the client may send several messages in one array: only
// 2025-03-26 has that (basic, Batching).
func (session *FrontSession) maySendBatches() bool {
	return session.hubSession != nil && session.hubSession.Protocol() == mcp.ProtocolVersion20250326
}

// Serving counts the requests of the session that are under way.
func (session *FrontSession) Serving() int {
	session.mu.Lock()
	defer session.mu.Unlock()
	return len(session.serving)
}

// A connectionKind is what a request of a client is for.
type connectionKind bool

const (
	isGet  connectionKind = false // it follows a stream
	isPost connectionKind = true  // it brings something, which may be answered on it
)

// enterConnection counts a connection of the client, and leaveConnection ends it. There is room for
// more than requests may wait: a client must be able to answer what they wait for.
func (session *FrontSession) enterConnection(k connectionKind) (refused *refusal) {
	session.share.AddUser() // before it is seen that the session goes on, which has the share
	defer func() {
		if refused != nil {
			session.share.RemoveUser()
		}
	}()
	session.mu.Lock()
	defer session.mu.Unlock()
	switch {
	case session.ended, session.ctx.Err() != nil:
		return refusedUnknown
	case session.connections >= (quota.Waiting+2)*cap(session.slots):
		return busyRefusal(ReasonCalls, "too many requests of this session, or of this token without one, are open at once")
	}
	session.connections++
	if k == isPost {
		session.openPosts++
	}
	session.noteUse()
	return nil
}

func (session *FrontSession) leaveConnection(k connectionKind) {
	defer session.share.RemoveUser()
	session.mu.Lock()
	defer session.mu.Unlock()
	session.connections--
	if k == isPost {
		session.openPosts--
	}
	if session.openPosts == 0 && session.noPosts != nil {
		close(session.noPosts)
		session.noPosts = nil
	}
	session.noteUse()
}

// awaitPosts waits, for a limited time, until what the client has sent is answered: an
// ended session learns why its requests fail.
func (session *FrontSession) awaitPosts(limit time.Duration) {
	session.mu.Lock()
	if session.openPosts == 0 {
		session.mu.Unlock()
		return
	}
	if session.noPosts == nil {
		session.noPosts = make(chan struct{})
	}
	none := session.noPosts
	session.mu.Unlock()
	worker.Within(none, limit)
}

// unusedSince tells since when the session has had no connection and no request; ok
// is false while it has one.
func (session *FrontSession) unusedSince() (since time.Time, ok bool) {
	session.mu.Lock()
	defer session.mu.Unlock()
	return session.lastUsed, !session.busy
}

// Yield ends the session if it has no connection and no request, for another principal that
// needs what it holds; false: it is in use.
func (session *FrontSession) Yield() bool {
	if _, idle := session.unusedSince(); !idle || session.modernSession != nil && session.modernSession.Busy() {
		return false
	}
	session.cancel(errYielded)
	return true
}

// End ends the session: a request that names it finds none.
func (session *FrontSession) End() { session.cancel(errEnded) }

// noteUse remembers whether the session is used, after each change of what uses
// it. The caller holds mu.
func (session *FrontSession) noteUse() {
	busy := session.connections > 0 || session.listens > 0 || len(session.serving) > 0
	if busy == session.busy {
		return
	}
	session.busy = busy
	if !busy {
		session.lastUsed = time.Now()
	}
	switch {
	case session.idlers == nil:
	case busy:
		session.idlers.removeIdle(session)
	default:
		session.idlers.addIdle(session, session.lastUsed)
	}
}

// TryNotify puts a notification on the client's own stream. Until the client
// opens one it waits there, as far as there is room.
func (session *FrontSession) TryNotify(method string, params ...[]byte) bool {
	return session.standaloneStream.Put(events.Message(nil, method, params), events.MayDrop)
}

// Notify works like TryNotify for a notification that must arrive.
func (session *FrontSession) Notify(_ context.Context, method string, params ...[]byte) error {
	if !session.standaloneStream.Put(events.Message(nil, method, params), events.MustDeliver) {
		return session.deliveryError()
	}
	return nil
}

// deliveryError returns why nothing can be said.
func (session *FrontSession) deliveryError() error {
	if session.ctx.Err() != nil {
		return errSessionOver
	}
	return errNotReading
}

// TryNotifyLeavingRoom works like TryNotify, but only if half of the room of the client's own stream is free.
func (session *FrontSession) TryNotifyLeavingRoom(method string, params ...[]byte) bool {
	return session.standaloneStream.HasSpare() && session.TryNotify(method, params...)
}

// Connected reports whether the client follows its own stream.
func (session *FrontSession) Connected() bool { return session.standaloneStream.HasFollower() }

// AwaitReady waits until there is a stream that a question can go on.
func (session *FrontSession) AwaitReady(ctx context.Context) error {
	_, err := session.openStream(ctx)
	return err
}

// Call asks the client on its own stream, or if it has none open, on one that
// was lent. A stream that is not opened in time ends the question.
func (session *FrontSession) Call(ctx context.Context, method string, params ...[]byte) (*jsonrpc.Response, error) {
	wait, cancel := context.WithTimeout(ctx, streamWait)
	stream, err := session.openStream(wait)
	cancel()
	if err != nil {
		return nil, err
	}
	return session.askOn(ctx, stream, method, params)
}

var (
	errSessionOver = &jsonrpc.ClosedError{Reason: errors.New("the session has ended")}
	errStopping    = &jsonrpc.ClosedError{Reason: errors.New("this hub is stopping")}
	errRevoked     = &jsonrpc.ClosedError{Reason: errors.New("the token of the session counts no more, or not as it did")}
	errExpired     = &jsonrpc.ClosedError{Reason: errors.New("the token of the session has expired")}
	errEnded       = &jsonrpc.ClosedError{Reason: errors.New("the session was ended by who operates the hub")}
	errYielded     = &jsonrpc.ClosedError{Reason: errors.New("the session was idle, and has made room for another principal")}
	errNoStream    = errors.New("the client has no stream open on which it could be asked")
	errNotReading  = errors.New("the client does not read what it is sent")
)

// openStream waits for a stream that a question of the hub can go on.
func (session *FrontSession) openStream(ctx context.Context) (*events.Stream, error) {
	for {
		session.mu.Lock()
		changed := session.changed
		lent := append([]*PostExchange(nil), session.lentExchanges...)
		session.mu.Unlock()
		if session.standaloneStream.HasFollower() {
			return session.standaloneStream, nil
		}
		for _, exchange := range lent {
			if stream := exchange.ensureStream(); stream != nil {
				return stream, nil
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, errors.Join(errNoStream, context.Cause(ctx))
		case <-session.ctx.Done():
			return nil, errSessionOver
		}
	}
}

// signalReachable wakes who waits for a way to the client.
func (session *FrontSession) signalReachable() {
	session.mu.Lock()
	defer session.mu.Unlock()
	close(session.changed)
	session.changed = make(chan struct{})
}

// askOn puts a request on a stream and waits for the answer, which comes as a
// POST of its own.
func (session *FrontSession) askOn(ctx context.Context, stream *events.Stream, method string, params [][]byte) (*jsonrpc.Response, error) {
	answer := make(chan *jsonrpc.Response, 1)
	session.mu.Lock()
	session.lastID++
	id := strconv.FormatUint(session.lastID, 10)
	session.openQuestions[id] = answer
	session.mu.Unlock()
	defer func() {
		session.mu.Lock()
		defer session.mu.Unlock()
		delete(session.openQuestions, id)
	}()
	if !stream.Put(events.Message([]byte(id), method, params), events.MustDeliver) {
		return nil, session.deliveryError()
	}
	r, err := session.answerTo(ctx, answer)
	if err != nil {
		stream.Put(events.Message(nil, methods.Cancelled, [][]byte{jsonrpc.CancelParams([]byte(id), err)}), events.MustDeliver)
	}
	return r, err
}

// takeAnswer hands over what the client answered. One that no caller waits for,
// late or forged, is dropped.
func (session *FrontSession) takeAnswer(m *jsonrpc.Message) {
	session.mu.Lock()
	answer := session.openQuestions[string(m.ID)]
	delete(session.openQuestions, string(m.ID))
	session.mu.Unlock()
	if answer != nil {
		answer <- &jsonrpc.Response{Result: m.Result, Error: m.Error}
	}
}

// registerRequest remembers a request of the client, so that it can be ended.
func (session *FrontSession) registerRequest(id string) (*activeRequest, *refusal) {
	active := &activeRequest{id: id}
	session.mu.Lock()
	defer session.mu.Unlock()
	_, isRepeated := session.serving[id]
	switch {
	case isRepeated:
		return nil, &refusal{status: http.StatusBadRequest, text: "a request with this id is still being served"}
	case len(session.serving) >= (quota.Waiting+1)*cap(session.slots):
		return nil, busyRefusal(ReasonCalls, "too many requests of this session wait for their turn; send it again later")
	case session.ended:
		active.End(context.Cause(session.ctx))
	}
	session.serving[id] = active
	session.noteUse()
	return active, nil
}

// endServing ends every request: the session has ended.
func (session *FrontSession) endServing() {
	session.token.ForgetTokens()
	session.mu.Lock()
	session.ended = true
	all := slices.Collect(maps.Values(session.serving))
	session.mu.Unlock()
	for _, active := range all {
		active.End(context.Cause(session.ctx))
	}
}

// unregisterRequest takes a request out: it is about to be answered.
func (session *FrontSession) unregisterRequest(active *activeRequest) {
	session.mu.Lock()
	delete(session.serving, active.id)
	session.noteUse()
	session.mu.Unlock()
	active.Free()
}

// cancelRequest ends a request that the client no longer wants.
func (session *FrontSession) cancelRequest(m *jsonrpc.Message) {
	id := m.Param("requestId")
	reason, _ := jsonrpc.String(m.Param("reason"))
	session.mu.Lock()
	active := session.serving[string(id)]
	session.mu.Unlock()
	if active != nil {
		active.End(&jsonrpc.CancelledError{Reason: reason})
	}
}

// newRequestStream makes a stream for one request.
func (session *FrontSession) newRequestStream() *events.Stream {
	session.mu.Lock()
	defer session.mu.Unlock()
	session.lastStreamID++
	stream := events.New(strconv.FormatUint(session.lastStreamID, 10), &session.unsentBytes)
	session.streams[stream.ID] = stream
	return stream
}

// finishStream remembers that a request's stream has ended. It is kept for a
// while, in case the client's connection broke before it had everything.
func (session *FrontSession) finishStream(stream *events.Stream) {
	session.mu.Lock()
	finished := append(session.finished, stream)
	total := 0
	for _, old := range finished {
		total += old.Bytes()
	}
	var gone []*events.Stream
	for len(finished) > 0 && (len(finished) > finishedStreams || total > finishedBytes) {
		gone = append(gone, finished[0])
		total -= finished[0].Bytes()
		delete(session.streams, finished[0].ID)
		finished = append(finished[:0:0], finished[1:]...)
	}
	session.finished = finished
	session.mu.Unlock()
	for _, old := range gone {
		old.Drop()
	}
}

// findStream finds a stream by its id within the session.
func (session *FrontSession) findStream(id string) *events.Stream {
	if id == session.standaloneStream.ID {
		return session.standaloneStream
	}
	session.mu.Lock()
	defer session.mu.Unlock()
	return session.streams[id]
}

// closeSession ends everything that the session still holds.
func (session *FrontSession) closeSession() {
	session.cancel(errSessionOver)
	session.mu.Lock()
	if session.expiry != nil {
		session.expiry.Stop()
	}
	streams := session.streams
	session.streams, session.finished = map[string]*events.Stream{}, nil
	session.mu.Unlock()
	session.standaloneStream.End()
	for _, stream := range streams {
		stream.End()
	}
	session.signalReachable() // who waits for a way to the client waits in vain
}

// awayTime is how long a client that was asked something may follow no stream:
// the one who answers has one, or comes back to go on with its stream.
const awayTime = 5 * time.Minute

var errAway = errors.New("the client has left its question without an answer, and follows no stream any more")

// followsAny reports whether the client follows any stream. That a request of it
// is being served tells nothing: its connection may have broken.
func (session *FrontSession) followsAny() bool {
	session.mu.Lock()
	streams := slices.Collect(maps.Values(session.streams))
	session.mu.Unlock()
	return session.standaloneStream.HasFollower() || slices.ContainsFunc(streams, (*events.Stream).HasFollower)
}

// answerTo waits for the answer to a question of the hub, as long as ctx lasts
// and the client is there.
func (session *FrontSession) answerTo(ctx context.Context, answer <-chan *jsonrpc.Response) (*jsonrpc.Response, error) {
	const looks = 5
	watch := time.NewTicker(awayTime / looks)
	defer watch.Stop()
	for away := 0; ; {
		select {
		case r := <-answer:
			return r, nil
		case <-session.ctx.Done():
			return nil, errSessionOver
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-watch.C:
			if away++; session.followsAny() {
				away = 0
			}
			if away == looks {
				return nil, errAway
			}
		}
	}
}
