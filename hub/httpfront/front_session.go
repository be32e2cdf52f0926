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
// holds. If modernSession is set, it stands for all clients of one token that have no session (modern.go). Then it counts what
// they hold, and is told and asked nothing.
type FrontSession struct {
	id            string           // Mcp-Session-Id
	who           admission.Caller // who has opened it
	owner         string           // its key among callers; "" if no token is asked for
	address       string           // of the request that began it
	agent         string           // the User-Agent of that
	principal     string           // the key of whom it belongs to, who may have several of those
	hubSession    HubSession       // nil if modernSession is set
	modernSession ModernSession    // nil if hubSession is set
	getStream     *events.Stream   // what belongs to no request: the client's GET
	ctx           context.Context
	cancel        context.CancelCauseFunc
	share         *quota.Share        // of its principal; nil if that has no bounds
	slots         chan struct{}       // one token for each request being served
	token         *callertoken.Holder // what its caller was admitted by; nil: not held
	slow          *slowReplies        // of the front
	idlers        *idleSessions       // of the front; nil for what serves modern requests
	idle          link[FrontSession]  // in idlers, whose mutex guards it
	idleSince     time.Time           // when it came to rest; the same mutex guards it
	held          atomic.Int64        // bytes of requests being read or served
	unsent        atomic.Int64        // bytes that wait in all its streams
	unread        atomic.Int64        // bytes of large answers being written

	mu          sync.Mutex                // guards what follows
	streams     map[string]*events.Stream // of requests under way, by id
	finished    []*events.Stream
	lentReplies []*Reply
	changed     chan struct{} // closed and replaced when there is another way to the client
	asked       map[string]chan *jsonrpc.Response
	serving     map[string]*activeRequest
	ended       bool          // no request is taken any more
	lastID      uint64        // of the hub's own requests
	lastFlow    uint64        // of streams
	open        int           // connections
	posts       int           // of them that bring something, or are being answered
	noPosts     chan struct{} // closed when there are none any more; nil: no caller waits for that
	listens     int           // of them that listen, modern
	busy        bool          // there is a connection, a request or a listener
	used        time.Time     // when there was one last
	until       time.Time     // the session ends then: its client's tokens have expired; zero: never
	expiry      *time.Timer   // ends it; nil: nothing does
}

func newFrontSession(id string, who admission.Caller, limit int, slow *slowReplies) *FrontSession {
	p := &FrontSession{
		id: id, who: who, owner: who.Owner(), principal: who.Principal.Key(), slow: slow, slots: make(chan struct{}, limit),
		streams: map[string]*events.Stream{}, changed: make(chan struct{}), asked: map[string]chan *jsonrpc.Response{},
		serving: map[string]*activeRequest{}, used: time.Now(),
	}
	p.getStream = events.New("0", &p.unsent)
	p.getStream.UnfollowedLimit = events.MaxAlone
	p.ctx, p.cancel = context.WithCancelCause(context.Background())
	context.AfterFunc(p.ctx, p.endServing)
	return p
}

// newSession makes the FrontSession of a caller of the front.
func (f *Front) newSession(id string, who admission.Caller) *FrontSession {
	p := newFrontSession(id, who, f.hub.Limits().Calls, &f.slow)
	p.token = f.fixed.Callers.NewHolder(who.Principal, who.Owner())
	return p
}

// Origin returns the address and the User-Agent of the request that began it.
func (p *FrontSession) Origin() (address, agent string) { return p.address, p.agent }

// isOf reports whether it belongs to a caller, and the caller is admitted as it was then.
func (p *FrontSession) isOf(who admission.Caller) bool {
	return p.who.Basis == who.Basis && p.owner == who.Owner()
}

// noteToken remembers the token that a request of the session was admitted by. The session ends with the last of its tokens.
func (p *FrontSession) noteToken(r *http.Request, who admission.Caller) {
	p.holdToken(r, who)
	p.extendTo(who.Expires)
}

// holdToken holds the token that a request was admitted by, if a server is called with one that is had in exchange for it.
func (p *FrontSession) holdToken(r *http.Request, who admission.Caller) {
	if p.token.IsWanted() {
		p.token.KeepToken(admission.BearerToken(r), who.Expires)
	}
}

// withToken returns ctx with the token that a request was admitted by, if a server is called with one that is had in exchange for it.
func (p *FrontSession) withToken(ctx context.Context, r *http.Request) context.Context {
	if !p.token.IsWanted() {
		return ctx
	}
	return callertoken.NewContext(ctx, p.token.HeldToken(admission.BearerToken(r)))
}

// extendTo lets the session last until a token expires that the client has shown.
func (p *FrontSession) extendTo(t time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !t.After(p.until) {
		return
	}
	p.until = t
	if p.expiry == nil {
		p.expiry = time.AfterFunc(time.Until(t), func() { p.cancel(errExpired) })
		return
	}
	p.expiry.Reset(time.Until(t))
}

// maySendBatches reports whether the client may send several messages in one array: only
// 2025-03-26 has that (basic, Batching).
func (p *FrontSession) maySendBatches() bool {
	return p.hubSession != nil && p.hubSession.Protocol() == mcp.ProtocolVersion20250326
}

// Serving counts the requests under way.
func (p *FrontSession) Serving() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.serving)
}

// A connectionKind is what a request of a client is for.
type connectionKind bool

const (
	isGet  connectionKind = false // it follows a stream
	isPost connectionKind = true  // it brings something, which may be answered on it
)

// enterConnection counts a connection of the client, and leaveConnection ends it. There is room for
// more than requests may wait: a client must be able to answer what they wait for.
func (p *FrontSession) enterConnection(k connectionKind) (refused *refusal) {
	p.share.AddUser() // before it is seen that the session goes on, which has the share
	defer func() {
		if refused != nil {
			p.share.RemoveUser()
		}
	}()
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.ended, p.ctx.Err() != nil:
		return refusedUnknown
	case p.open >= (quota.Waiting+2)*cap(p.slots):
		return busyRefusal(ReasonCalls, "too many requests of this session, or of this token without one, are open at once")
	}
	p.open++
	if k == isPost {
		p.posts++
	}
	p.noteUse()
	return nil
}

func (p *FrontSession) leaveConnection(k connectionKind) {
	defer p.share.RemoveUser()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open--
	if k == isPost {
		p.posts--
	}
	if p.posts == 0 && p.noPosts != nil {
		close(p.noPosts)
		p.noPosts = nil
	}
	p.noteUse()
}

// awaitPosts waits, for a limited time, until what the client has sent is answered: an
// ended session learns why its requests fail.
func (p *FrontSession) awaitPosts(limit time.Duration) {
	p.mu.Lock()
	if p.posts == 0 {
		p.mu.Unlock()
		return
	}
	if p.noPosts == nil {
		p.noPosts = make(chan struct{})
	}
	none := p.noPosts
	p.mu.Unlock()
	worker.Within(none, limit)
}

// unusedSince tells since when the session has had no connection and no request; ok
// is false while it has one.
func (p *FrontSession) unusedSince() (since time.Time, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.used, !p.busy
}

// Yield ends the session if it has no connection and no request, for another principal that
// needs what it holds; false: it is in use.
func (p *FrontSession) Yield() bool {
	if _, idle := p.unusedSince(); !idle || p.modernSession != nil && p.modernSession.Busy() {
		return false
	}
	p.cancel(errYielded)
	return true
}

// End ends the session: a request that names it finds none.
func (p *FrontSession) End() { p.cancel(errEnded) }

// noteUse remembers whether the session is used, after each change of what uses
// it. The caller holds mu.
func (p *FrontSession) noteUse() {
	busy := p.open > 0 || p.listens > 0 || len(p.serving) > 0
	if busy == p.busy {
		return
	}
	p.busy = busy
	if !busy {
		p.used = time.Now()
	}
	switch {
	case p.idlers == nil:
	case busy:
		p.idlers.removeIdle(p)
	default:
		p.idlers.addIdle(p, p.used)
	}
}

// TryNotify puts a notification on the client's own stream. Until the client
// opens one it waits there, as far as there is room.
func (p *FrontSession) TryNotify(method string, params ...[]byte) bool {
	return p.getStream.Put(events.Message(nil, method, params), events.Note)
}

// Notify works like TryNotify for one that must arrive.
func (p *FrontSession) Notify(_ context.Context, method string, params ...[]byte) error {
	if !p.getStream.Put(events.Message(nil, method, params), events.Question) {
		return p.deliveryError()
	}
	return nil
}

// deliveryError returns why nothing can be said.
func (p *FrontSession) deliveryError() error {
	if p.ctx.Err() != nil {
		return errSessionOver
	}
	return errNotReading
}

// TryNotifyLeavingRoom works like TryNotify, but only if half of the room of the client's own stream is free.
func (p *FrontSession) TryNotifyLeavingRoom(method string, params ...[]byte) bool {
	return p.getStream.HasSpare() && p.TryNotify(method, params...)
}

// Connected reports whether the client follows its own stream.
func (p *FrontSession) Connected() bool { return p.getStream.HasFollower() }

// AwaitReady waits until there is a stream that a question can go on.
func (p *FrontSession) AwaitReady(ctx context.Context) error {
	_, err := p.openStream(ctx)
	return err
}

// Call asks the client on its own stream, or if it has none open, on one that
// was lent. A stream that is not opened in time ends the question.
func (p *FrontSession) Call(ctx context.Context, method string, params ...[]byte) (*jsonrpc.Response, error) {
	wait, cancel := context.WithTimeout(ctx, streamWait)
	st, err := p.openStream(wait)
	cancel()
	if err != nil {
		return nil, err
	}
	return p.askOn(ctx, st, method, params)
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
func (p *FrontSession) openStream(ctx context.Context) (*events.Stream, error) {
	for {
		p.mu.Lock()
		changed := p.changed
		lent := append([]*Reply(nil), p.lentReplies...)
		p.mu.Unlock()
		if p.getStream.HasFollower() {
			return p.getStream, nil
		}
		for _, reply := range lent {
			if st := reply.ensureStream(); st != nil {
				return st, nil
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, errors.Join(errNoStream, context.Cause(ctx))
		case <-p.ctx.Done():
			return nil, errSessionOver
		}
	}
}

// signalReachable wakes who waits for a way to the client.
func (p *FrontSession) signalReachable() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.changed)
	p.changed = make(chan struct{})
}

// askOn puts a request on a stream and waits for the answer, which comes as a
// POST of its own.
func (p *FrontSession) askOn(ctx context.Context, st *events.Stream, method string, params [][]byte) (*jsonrpc.Response, error) {
	answer := make(chan *jsonrpc.Response, 1)
	p.mu.Lock()
	p.lastID++
	id := strconv.FormatUint(p.lastID, 10)
	p.asked[id] = answer
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.asked, id)
	}()
	if !st.Put(events.Message([]byte(id), method, params), events.Question) {
		return nil, p.deliveryError()
	}
	r, err := p.answerTo(ctx, answer)
	if err != nil {
		st.Put(events.Message(nil, methods.Cancelled, [][]byte{jsonrpc.AppendCancel(nil, []byte(id), err)}), events.Question)
	}
	return r, err
}

// takeAnswer hands over what the client answered. One that no caller waits for,
// late or forged, is dropped.
func (p *FrontSession) takeAnswer(m *jsonrpc.Message) {
	p.mu.Lock()
	answer := p.asked[string(m.ID)]
	delete(p.asked, string(m.ID))
	p.mu.Unlock()
	if answer != nil {
		answer <- &jsonrpc.Response{Result: m.Result, Error: m.Error}
	}
}

// registerRequest remembers a request of the client, so that it can be ended.
func (p *FrontSession) registerRequest(id string) (*activeRequest, *refusal) {
	u := &activeRequest{id: id}
	p.mu.Lock()
	defer p.mu.Unlock()
	_, twice := p.serving[id]
	switch {
	case twice:
		return nil, &refusal{status: http.StatusBadRequest, text: "a request with this id is still being served"}
	case len(p.serving) >= (quota.Waiting+1)*cap(p.slots):
		return nil, busyRefusal(ReasonCalls, "too many requests of this session wait for their turn; send it again later")
	case p.ended:
		u.End(context.Cause(p.ctx))
	}
	p.serving[id] = u
	p.noteUse()
	return u, nil
}

// endServing ends every request: the session has ended.
func (p *FrontSession) endServing() {
	p.token.ForgetTokens()
	p.mu.Lock()
	p.ended = true
	all := slices.Collect(maps.Values(p.serving))
	p.mu.Unlock()
	for _, u := range all {
		u.End(context.Cause(p.ctx))
	}
}

// unregisterRequest takes a request out: it is about to be answered.
func (p *FrontSession) unregisterRequest(u *activeRequest) {
	p.mu.Lock()
	delete(p.serving, u.id)
	p.noteUse()
	p.mu.Unlock()
	u.Free()
}

// cancelRequest ends a request that the client no longer wants.
func (p *FrontSession) cancelRequest(m *jsonrpc.Message) {
	id := m.Param("requestId")
	reason, _ := jsonrpc.String(m.Param("reason"))
	p.mu.Lock()
	u := p.serving[string(id)]
	p.mu.Unlock()
	if u != nil {
		u.End(&jsonrpc.CancelledError{Reason: reason})
	}
}

// newRequestStream makes a stream for one request.
func (p *FrontSession) newRequestStream() *events.Stream {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lastFlow++
	st := events.New(strconv.FormatUint(p.lastFlow, 10), &p.unsent)
	p.streams[st.ID] = st
	return st
}

// finishStream remembers that a request's stream has ended. It is kept for a
// while, in case the client's connection broke before it had everything.
func (p *FrontSession) finishStream(st *events.Stream) {
	p.mu.Lock()
	all := append(p.finished, st)
	total := 0
	for _, old := range all {
		total += old.Bytes()
	}
	var gone []*events.Stream
	for len(all) > 0 && (len(all) > finishedStreams || total > finishedBytes) {
		gone = append(gone, all[0])
		total -= all[0].Bytes()
		delete(p.streams, all[0].ID)
		all = append(all[:0:0], all[1:]...)
	}
	p.finished = all
	p.mu.Unlock()
	for _, old := range gone {
		old.Drop()
	}
}

// findStream finds a stream by its id within the session.
func (p *FrontSession) findStream(id string) *events.Stream {
	if id == p.getStream.ID {
		return p.getStream
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.streams[id]
}

// closeSession ends everything that the session still holds.
func (p *FrontSession) closeSession() {
	p.cancel(errSessionOver)
	p.mu.Lock()
	if p.expiry != nil {
		p.expiry.Stop()
	}
	streams := p.streams
	p.streams, p.finished = map[string]*events.Stream{}, nil
	p.mu.Unlock()
	p.getStream.End()
	for _, st := range streams {
		st.End()
	}
	p.signalReachable() // who waits for a way to the client waits in vain
}

// awayTime is how long a client that was asked something may follow no stream:
// the one who answers has one, or comes back to go on with its stream.
const awayTime = 5 * time.Minute

var errAway = errors.New("the client has left its question without an answer, and follows no stream any more")

// followsAny reports whether the client follows any stream. That a request of it
// is being served tells nothing: its connection may have broken.
func (p *FrontSession) followsAny() bool {
	p.mu.Lock()
	streams := slices.Collect(maps.Values(p.streams))
	p.mu.Unlock()
	return p.getStream.HasFollower() || slices.ContainsFunc(streams, (*events.Stream).HasFollower)
}

// answerTo waits for the answer to a question of the hub, as long as ctx lasts
// and the client is there.
func (p *FrontSession) answerTo(ctx context.Context, answer <-chan *jsonrpc.Response) (*jsonrpc.Response, error) {
	const looks = 5
	watch := time.NewTicker(awayTime / looks)
	defer watch.Stop()
	for away := 0; ; {
		select {
		case r := <-answer:
			return r, nil
		case <-p.ctx.Done():
			return nil, errSessionOver
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-watch.C:
			if away++; p.followsAny() {
				away = 0
			}
			if away == looks {
				return nil, errAway
			}
		}
	}
}
