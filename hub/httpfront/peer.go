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

// A Peer is a client that has a session, as the hub speaks to it outside of requests. Where
// modernSession is set, it stands for all clients of one token that have no session (modern.go): it
// counts what they hold, and is told and asked nothing.
type Peer struct {
	id            string           // Mcp-Session-Id
	who           admission.Caller // who has opened it
	owner         string           // its key among callers; "" where no token is asked for
	principal     string           // the key of whom it belongs to, who may have several of those
	session       Session          // nil where modernSession is set
	modernSession ModernSession    // nil where session is not
	getStream     *events.Stream   // what belongs to no request: the client's GET
	ctx           context.Context
	cancel        context.CancelCauseFunc
	share         *quota.Share  // of its principal; nil where that has no bounds
	slots         chan struct{} // one token for each request being served
	slow          *slowReplies  // of the front
	idlers        *idlePeers    // of the front; nil for what serves modern requests
	idle          link[Peer]    // in idlers, whose mutex guards it
	idleSince     time.Time     // when it came to rest; the same mutex guards it
	held          atomic.Int64  // bytes of requests being read or served
	unsent        atomic.Int64  // bytes that wait in all its streams
	unread        atomic.Int64  // bytes of large answers being written

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
	noPosts     chan struct{} // closed when there are none any more; nil: nobody waits for that
	listens     int           // of them that listen, modern
	busy        bool          // there is a connection, a request or a listener
	used        time.Time     // when there was one last
	until       time.Time     // the session ends then: its client's tokens have expired; zero: never
	expiry      *time.Timer   // ends it; nil: nothing does
}

func newPeer(id string, who admission.Caller, limit int, slow *slowReplies) *Peer {
	c := &Peer{
		id: id, who: who, owner: who.Owner(), principal: who.Principal.Key(), slow: slow, slots: make(chan struct{}, limit),
		streams: map[string]*events.Stream{}, changed: make(chan struct{}), asked: map[string]chan *jsonrpc.Response{},
		serving: map[string]*activeRequest{}, used: time.Now(),
	}
	c.getStream = events.New("0", &c.unsent)
	c.getStream.UnfollowedLimit = events.MaxAlone
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	context.AfterFunc(c.ctx, c.endServing)
	return c
}

// isOf reports whether it belongs to a caller, and that one is admitted as it was then.
func (c *Peer) isOf(who admission.Caller) bool {
	return c.who.Basis == who.Basis && c.owner == who.Owner()
}

// extendTo notes that the client has shown a token that expires then. The session
// ends with the last of its tokens.
func (c *Peer) extendTo(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !t.After(c.until) {
		return
	}
	c.until = t
	if c.expiry == nil {
		c.expiry = time.AfterFunc(time.Until(t), func() { c.cancel(errExpired) })
		return
	}
	c.expiry.Reset(time.Until(t))
}

// batches reports whether the client may send several messages in one array: only
// 2025-03-26 has that (basic, Batching).
func (c *Peer) batches() bool {
	return c.session != nil && c.session.Protocol() == mcp.ProtocolVersion20250326
}

// Serving counts the requests under way.
func (c *Peer) Serving() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.serving)
}

// A connection is what a request of a client is for.
type connection bool

const (
	isGet  connection = false // it follows a stream
	isPost connection = true  // it brings something, which may be answered on it
)

// enter counts a connection of the client, leave ends it. There is room for
// more than requests may wait: a client must be able to answer what they wait for.
func (c *Peer) enter(k connection) (refused *refusal) {
	c.share.AddUser() // before it is seen that the session goes on, which has the share
	defer func() {
		if refused != nil {
			c.share.RemoveUser()
		}
	}()
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.ended, c.ctx.Err() != nil:
		return refusedUnknown
	case c.open >= (quota.Waiting+2)*cap(c.slots):
		return busy("too many requests of this session, or of this token without one, are open at once")
	}
	c.open++
	if k == isPost {
		c.posts++
	}
	c.noteUse()
	return nil
}

func (c *Peer) leave(k connection) {
	defer c.share.RemoveUser()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open--
	if k == isPost {
		c.posts--
	}
	if c.posts == 0 && c.noPosts != nil {
		close(c.noPosts)
		c.noPosts = nil
	}
	c.noteUse()
}

// awaitPosts waits, for a limited time, until what the client has sent is answered: an
// ended session is told why its requests come to nothing.
func (c *Peer) awaitPosts(limit time.Duration) {
	c.mu.Lock()
	if c.posts == 0 {
		c.mu.Unlock()
		return
	}
	if c.noPosts == nil {
		c.noPosts = make(chan struct{})
	}
	none := c.noPosts
	c.mu.Unlock()
	worker.Within(none, limit)
}

// unusedSince tells since when the session has had no connection and no request; ok
// is false while it has one.
func (c *Peer) unusedSince() (since time.Time, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.used, !c.busy
}

// Yield ends the session where it has no connection and no request, for another principal that
// needs what it holds; false: it is in use.
func (c *Peer) Yield() bool {
	if _, idle := c.unusedSince(); !idle || c.modernSession != nil && c.modernSession.Busy() {
		return false
	}
	c.cancel(errYielded)
	return true
}

// noteUse notes whether the session is used, after each change of what uses it.
// The caller holds mu.
func (c *Peer) noteUse() {
	busy := c.open > 0 || c.listens > 0 || len(c.serving) > 0
	if busy == c.busy {
		return
	}
	c.busy = busy
	if !busy {
		c.used = time.Now()
	}
	switch {
	case c.idlers == nil:
	case busy:
		c.idlers.remove(c)
	default:
		c.idlers.add(c, c.used)
	}
}

// TryNotify puts a notification on the client's own stream. Until the client
// opens one it waits there, as far as there is room.
func (c *Peer) TryNotify(method string, params ...[]byte) bool {
	return c.getStream.Put(events.Message(nil, method, params), events.Note)
}

// Notify is TryNotify for one that must arrive.
func (c *Peer) Notify(_ context.Context, method string, params ...[]byte) error {
	if !c.getStream.Put(events.Message(nil, method, params), events.Question) {
		return c.deliveryError()
	}
	return nil
}

// deliveryError is why nothing can be said.
func (c *Peer) deliveryError() error {
	if c.ctx.Err() != nil {
		return errSessionOver
	}
	return errNotReading
}

// TryNotifyLeavingRoom is TryNotify where half of the room of the client's own stream is free.
func (c *Peer) TryNotifyLeavingRoom(method string, params ...[]byte) bool {
	return c.getStream.Spare() && c.TryNotify(method, params...)
}

// Connected reports whether the client follows its own stream.
func (c *Peer) Connected() bool { return c.getStream.HasFollower() }

// AwaitReady waits until there is a stream that a question can go on.
func (c *Peer) AwaitReady(ctx context.Context) error {
	_, err := c.openStream(ctx)
	return err
}

// Call asks the client on its own stream, or where it has none open, on one that
// was lent. A stream that is not opened in time ends the question.
func (c *Peer) Call(ctx context.Context, method string, params ...[]byte) (*jsonrpc.Response, error) {
	wait, cancel := context.WithTimeout(ctx, streamWait)
	st, err := c.openStream(wait)
	cancel()
	if err != nil {
		return nil, err
	}
	return c.ask(ctx, st, method, params)
}

var (
	errSessionOver = &jsonrpc.ClosedError{Reason: errors.New("the session has ended")}
	errStopping    = &jsonrpc.ClosedError{Reason: errors.New("this hub is stopping")}
	errRevoked     = &jsonrpc.ClosedError{Reason: errors.New("the token of the session counts no more, or not as it did")}
	errExpired     = &jsonrpc.ClosedError{Reason: errors.New("the token of the session has expired")}
	errYielded     = &jsonrpc.ClosedError{Reason: errors.New("the session was idle, and has made room for another principal")}
	errNoStream    = errors.New("the client has no stream open on which it could be asked")
	errNotReading  = errors.New("the client does not read what it is sent")
)

// openStream waits for a stream that a question of the hub can go on.
func (c *Peer) openStream(ctx context.Context) (*events.Stream, error) {
	for {
		c.mu.Lock()
		changed := c.changed
		lent := append([]*Reply(nil), c.lentReplies...)
		c.mu.Unlock()
		if c.getStream.HasFollower() {
			return c.getStream, nil
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
		case <-c.ctx.Done():
			return nil, errSessionOver
		}
	}
}

// signalReachable wakes who waits for a way to the client.
func (c *Peer) signalReachable() {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.changed)
	c.changed = make(chan struct{})
}

// ask puts a request on a stream and waits for the answer, which comes as a
// POST of its own.
func (c *Peer) ask(ctx context.Context, st *events.Stream, method string, params [][]byte) (*jsonrpc.Response, error) {
	answer := make(chan *jsonrpc.Response, 1)
	c.mu.Lock()
	c.lastID++
	id := strconv.FormatUint(c.lastID, 10)
	c.asked[id] = answer
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.asked, id)
	}()
	if !st.Put(events.Message([]byte(id), method, params), events.Question) {
		return nil, c.deliveryError()
	}
	r, err := c.answerTo(ctx, answer)
	if err != nil {
		st.Put(events.Message(nil, methods.Cancelled, [][]byte{jsonrpc.AppendCancel(nil, []byte(id), err)}), events.Question)
	}
	return r, err
}

// takeAnswer hands over what the client answered. One that nobody waits for, late
// or forged, is dropped.
func (c *Peer) takeAnswer(m *jsonrpc.Message) {
	c.mu.Lock()
	answer := c.asked[string(m.ID)]
	delete(c.asked, string(m.ID))
	c.mu.Unlock()
	if answer != nil {
		answer <- &jsonrpc.Response{Result: m.Result, Error: m.Error}
	}
}

// register notes a request of the client, so that it can be ended.
func (c *Peer) register(id string) (*activeRequest, *refusal) {
	u := &activeRequest{id: id}
	c.mu.Lock()
	defer c.mu.Unlock()
	_, twice := c.serving[id]
	switch {
	case twice:
		return nil, &refusal{status: http.StatusBadRequest, text: "a request with this id is still being served"}
	case len(c.serving) >= (quota.Waiting+1)*cap(c.slots):
		return nil, busy("too many requests of this session wait for their turn; send it again later")
	case c.ended:
		u.End(context.Cause(c.ctx))
	}
	c.serving[id] = u
	c.noteUse()
	return u, nil
}

// endServing ends every request: the session has ended.
func (c *Peer) endServing() {
	c.mu.Lock()
	c.ended = true
	all := slices.Collect(maps.Values(c.serving))
	c.mu.Unlock()
	for _, u := range all {
		u.End(context.Cause(c.ctx))
	}
}

// unregister takes a request out: it is about to be answered.
func (c *Peer) unregister(u *activeRequest) {
	c.mu.Lock()
	delete(c.serving, u.id)
	c.noteUse()
	c.mu.Unlock()
	u.Free()
}

// cancelRequest ends a request that the client no longer wants.
func (c *Peer) cancelRequest(m *jsonrpc.Message) {
	id := m.Param("requestId")
	reason, _ := jsonrpc.String(m.Param("reason"))
	c.mu.Lock()
	u := c.serving[string(id)]
	c.mu.Unlock()
	if u != nil {
		u.End(&jsonrpc.CancelledError{Reason: reason})
	}
}

// newRequestStream makes a stream for one request.
func (c *Peer) newRequestStream() *events.Stream {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastFlow++
	st := events.New(strconv.FormatUint(c.lastFlow, 10), &c.unsent)
	c.streams[st.ID] = st
	return st
}

// finish notes that a request's stream has ended. It is kept for a while, in
// case the client's connection broke before it had everything.
func (c *Peer) finish(st *events.Stream) {
	c.mu.Lock()
	all := append(c.finished, st)
	total := 0
	for _, old := range all {
		total += old.Bytes()
	}
	var gone []*events.Stream
	for len(all) > 0 && (len(all) > finishedStreams || total > finishedBytes) {
		gone = append(gone, all[0])
		total -= all[0].Bytes()
		delete(c.streams, all[0].ID)
		all = append(all[:0:0], all[1:]...)
	}
	c.finished = all
	c.mu.Unlock()
	for _, old := range gone {
		old.Drop()
	}
}

// stream finds a stream by its id within the session.
func (c *Peer) stream(id string) *events.Stream {
	if id == c.getStream.ID {
		return c.getStream
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.streams[id]
}

// close ends everything that the session still holds.
func (c *Peer) close() {
	c.cancel(errSessionOver)
	c.mu.Lock()
	if c.expiry != nil {
		c.expiry.Stop()
	}
	streams := c.streams
	c.streams, c.finished = map[string]*events.Stream{}, nil
	c.mu.Unlock()
	c.getStream.End()
	for _, st := range streams {
		st.End()
	}
	c.signalReachable() // who waits for a way to the client waits in vain
}

// awayTime is how long a client that was asked something may follow no stream:
// whoever answers has one, or comes back to go on with its stream.
const awayTime = 5 * time.Minute

var errAway = errors.New("the client has left its question without an answer, and follows no stream any more")

// follows reports whether the client follows any stream. That a request of it
// is being served tells nothing: its connection may have broken.
func (c *Peer) follows() bool {
	c.mu.Lock()
	streams := slices.Collect(maps.Values(c.streams))
	c.mu.Unlock()
	return c.getStream.HasFollower() || slices.ContainsFunc(streams, (*events.Stream).HasFollower)
}

// answerTo waits for the answer to a question of the hub, as long as ctx lasts
// and the client is there.
func (c *Peer) answerTo(ctx context.Context, answer <-chan *jsonrpc.Response) (*jsonrpc.Response, error) {
	const looks = 5
	watch := time.NewTicker(awayTime / looks)
	defer watch.Stop()
	for away := 0; ; {
		select {
		case r := <-answer:
			return r, nil
		case <-c.ctx.Done():
			return nil, errSessionOver
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-watch.C:
			if away++; c.follows() {
				away = 0
			}
			if away == looks {
				return nil, errAway
			}
		}
	}
}
