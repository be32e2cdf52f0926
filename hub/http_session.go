package hub

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"mcphub/internal/jsonrpc"
	"mcphub/rootsmgr"
)

// Bounds of what a session keeps for a client that may come back.
const (
	finishedStreams = 8                // ended streams of requests, for a client whose connection broke
	streamWait      = 10 * time.Second // for the client to open a stream that a question can go on
)

// An httpClient is one session over Streamable HTTP: the peer of everything
// that belongs to no request of the client.
type httpClient struct {
	id     string // Mcp-Session-Id
	owner  string // name of the token that it was made with; "" where none is asked for
	s      *Session
	own    *stream // what belongs to no request: the client's GET
	ctx    context.Context
	cancel context.CancelCauseFunc
	slots  chan struct{} // one token for each request being served

	mu  sync.Mutex
	tab httpTables
}

// httpTables is what httpClient.mu guards.
type httpTables struct {
	streams  map[string]*stream // of requests under way, by id
	finished []*stream
	lent     []*exchange
	changed  chan struct{} // closed and replaced when there is another way to the client
	asked    map[string]chan *jsonrpc.Response
	serving  map[string]context.CancelCauseFunc
	lastID   uint64 // of the hub's own requests
	lastFlow uint64 // of streams
	open     int    // connections
	used     time.Time
}

func newHTTPClient(id, owner string, limit int) *httpClient {
	c := &httpClient{id: id, owner: owner, own: newStream("0"), slots: make(chan struct{}, limit)}
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	c.tab = httpTables{
		streams: map[string]*stream{}, changed: make(chan struct{}), asked: map[string]chan *jsonrpc.Response{},
		serving: map[string]context.CancelCauseFunc{}, used: time.Now(),
	}
	return c
}

// Serving counts the requests under way.
func (c *httpClient) Serving() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.tab.serving)
}

// enter counts a connection of the client, leave ends it.
func (c *httpClient) enter() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tab.open++
}

func (c *httpClient) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tab.open--
	c.tab.used = time.Now()
}

// idle tells since when the session has had no connection and no request; ok
// is false while it has one.
func (c *httpClient) idle() (since time.Time, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tab.used, c.tab.open == 0 && len(c.tab.serving) == 0
}

// TryNotify puts a notification on the client's own stream. Until the client
// opens one it waits there, as far as there is room.
func (c *httpClient) TryNotify(method string, params ...[]byte) bool {
	return c.own.put(frameOf(nil, method, params), false)
}

// Notify is TryNotify for one that must arrive.
func (c *httpClient) Notify(_ context.Context, method string, params ...[]byte) error {
	if !c.own.put(frameOf(nil, method, params), true) {
		return errSessionOver
	}
	return nil
}

// Call asks the client on its own stream, or where it has none open, on one
// that was lent.
func (c *httpClient) Call(ctx context.Context, method string, params ...[]byte) (*jsonrpc.Response, error) {
	st, err := c.way(ctx)
	if err != nil {
		return nil, err
	}
	return c.ask(ctx, st, method, params)
}

var (
	errSessionOver = &jsonrpc.ClosedError{Reason: errors.New("the session has ended")}
	errNoStream    = errors.New("the client has no stream open on which it could be asked")
)

// way waits for a stream that a question of the hub can go on.
func (c *httpClient) way(ctx context.Context) (*stream, error) {
	for {
		c.mu.Lock()
		changed := c.tab.changed
		lent := append([]*exchange(nil), c.tab.lent...)
		c.mu.Unlock()
		if c.own.live() {
			return c.own, nil
		}
		for _, x := range lent {
			if st := x.flow(); st != nil {
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

// news wakes who waits for a way to the client.
func (c *httpClient) news() {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.tab.changed)
	c.tab.changed = make(chan struct{})
}

// ask puts a request on a stream and waits for the answer, which comes as a
// POST of its own.
func (c *httpClient) ask(ctx context.Context, st *stream, method string, params [][]byte) (*jsonrpc.Response, error) {
	answer := make(chan *jsonrpc.Response, 1)
	c.mu.Lock()
	c.tab.lastID++
	id := strconv.FormatUint(c.tab.lastID, 10)
	c.tab.asked[id] = answer
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.tab.asked, id)
	}()
	if !st.put(frameOf([]byte(id), method, params), true) {
		return nil, errSessionOver
	}
	r, err := c.answerTo(ctx, answer)
	if err != nil {
		st.put(frameOf(nil, "notifications/cancelled", [][]byte{jsonrpc.AppendCancel(nil, []byte(id), err)}), true)
	}
	return r, err
}

// answered hands over what the client answered. One that nobody waits for, late
// or forged, is dropped.
func (c *httpClient) answered(m *jsonrpc.Message) {
	c.mu.Lock()
	answer := c.tab.asked[string(m.ID)]
	delete(c.tab.asked, string(m.ID))
	c.mu.Unlock()
	if answer != nil {
		answer <- &jsonrpc.Response{Result: m.Result, Error: m.Error}
	}
}

// admit registers a request of the client for cancellation; the text says why
// it cannot be taken.
func (c *httpClient) admit(id string) (context.Context, context.CancelCauseFunc, string) {
	ctx, cancel := context.WithCancelCause(c.ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, twice := c.tab.serving[id]; twice {
		cancel(nil)
		return nil, nil, "a request with this id is still being served"
	}
	c.tab.serving[id] = cancel
	return ctx, cancel, ""
}

func (c *httpClient) served(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.tab.serving, id)
	c.tab.used = time.Now()
}

// cancelled ends a request that the client no longer wants.
func (c *httpClient) cancelled(m *jsonrpc.Message) {
	id := m.Param("requestId")
	reason, _ := jsonrpc.String(m.Param("reason"))
	c.mu.Lock()
	cancel := c.tab.serving[string(id)]
	c.mu.Unlock()
	if cancel != nil {
		cancel(&jsonrpc.CancelledError{Reason: reason})
	}
}

// flow makes a stream for one request.
func (c *httpClient) flow() *stream {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tab.lastFlow++
	st := newStream(strconv.FormatUint(c.tab.lastFlow, 10))
	c.tab.streams[st.id] = st
	return st
}

// finish notes that a request's stream has ended. It is kept for a while, in
// case the client's connection broke before it had everything.
func (c *httpClient) finish(st *stream) {
	c.mu.Lock()
	var old *stream
	c.tab.finished = append(c.tab.finished, st)
	if len(c.tab.finished) > finishedStreams {
		old = c.tab.finished[0]
		c.tab.finished = append(c.tab.finished[:0:0], c.tab.finished[1:]...)
		delete(c.tab.streams, old.id)
	}
	c.mu.Unlock()
	if old != nil {
		old.drop()
	}
}

// stream finds a stream by its id within the session.
func (c *httpClient) stream(id string) *stream {
	if id == c.own.id {
		return c.own
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tab.streams[id]
}

// close ends everything that the session still holds.
func (c *httpClient) close() {
	c.cancel(errSessionOver)
	c.mu.Lock()
	streams := c.tab.streams
	c.tab.streams, c.tab.finished = map[string]*stream{}, nil
	c.mu.Unlock()
	c.own.end()
	for _, st := range streams {
		st.end()
	}
}

// askHTTP is the rootsmgr.Source of a session over HTTP: a question needs a
// stream to go on (R2).
type askHTTP struct {
	askRoots
	c *httpClient
}

var _ rootsmgr.Source = askHTTP{}

// Ready returns once there is a stream.
func (a askHTTP) Ready(ctx context.Context) error {
	_, err := a.c.way(ctx)
	return err
}

// An exchange is one request of the client and everything that is said on its
// account. It is the peer of whatever the request causes. The goroutine of the
// POST serves the request; what has to be said before the answer opens a stream,
// written by a goroutine of its own.
type exchange struct {
	c        *httpClient
	id       []byte          // raw
	events   bool            // the client takes a stream of events as the answer
	ctx      context.Context // of the connection
	w        http.ResponseWriter
	protocol string
	late     *time.Timer
	quiet    func() bool // ends the watch on the connection

	mu      sync.Mutex
	st      *stream       // nil until something is said before the answer
	gone    bool          // the connection broke before there was a stream
	over    bool          // it was answered
	written chan struct{} // closed when nothing writes to w any more; nil without a stream
}

func newExchange(c *httpClient, id []byte, events bool) *exchange {
	return &exchange{c: c, id: id, events: events}
}

// begin gives the exchange the connection that its request came on.
func (x *exchange) begin(ctx context.Context, w http.ResponseWriter, protocol string) {
	x.ctx, x.w, x.protocol = ctx, w, protocol
	if !x.events {
		return
	}
	x.late = time.AfterFunc(upgradeTime, func() { x.flow() })
	x.quiet = context.AfterFunc(ctx, x.leave)
}

// flow returns the stream of the exchange, opened now if need be; nil where
// there can be none.
func (x *exchange) flow() *stream {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case x.over || !x.events || x.st == nil && x.gone:
		return nil
	case x.st != nil:
		return x.st
	}
	x.st, x.written = x.c.flow(), make(chan struct{})
	go func() {
		defer close(x.written)
		writeEvents(x.w)
		x.st.follow(x.ctx, x.w, 1, primes(x.protocol), nil)
	}()
	return x.st
}

// leave notes that the connection broke; what has no stream by then gets none.
func (x *exchange) leave() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.gone = true
}

// finish answers the request on its stream, which ends, and returns when that
// is written or the connection gone; false: there is none. Nothing is said for
// a request that was cancelled.
func (x *exchange) finish(a jsonrpc.Answer, cancelled bool) bool {
	if x.late != nil {
		x.late.Stop()
		x.quiet()
	}
	x.mu.Lock()
	x.over = true
	st := x.st
	x.mu.Unlock()
	if st == nil {
		return false
	}
	if !cancelled {
		st.put(event{parts: answerParts(x.id, a)}, true)
	}
	st.end()
	<-x.written
	x.c.finish(st)
	return true
}

// lend lets the hub's own questions go on the exchange (R2).
func (x *exchange) lend() (back func()) {
	x.c.mu.Lock()
	x.c.tab.lent = append(x.c.tab.lent, x)
	x.c.mu.Unlock()
	x.c.news()
	return func() {
		x.c.mu.Lock()
		defer x.c.mu.Unlock()
		for i, l := range x.c.tab.lent {
			if l == x {
				x.c.tab.lent = append(x.c.tab.lent[:i:i], x.c.tab.lent[i+1:]...)
				return
			}
		}
	}
}

// TryNotify puts a notification before the answer; on the client's own stream
// where this request can have none.
func (x *exchange) TryNotify(method string, params ...[]byte) bool {
	if st := x.flow(); st != nil {
		return st.put(frameOf(nil, method, params), false)
	}
	return x.c.TryNotify(method, params...)
}

// Notify is TryNotify for one that must arrive.
func (x *exchange) Notify(ctx context.Context, method string, params ...[]byte) error {
	if st := x.flow(); st != nil && st.put(frameOf(nil, method, params), true) {
		return nil
	}
	return x.c.Notify(ctx, method, params...)
}

// Call asks the client before the answer. Where the request can have no stream
// the question goes on the client's own; one that is not opened in time ends it.
func (x *exchange) Call(ctx context.Context, method string, params ...[]byte) (*jsonrpc.Response, error) {
	if st := x.flow(); st != nil {
		return x.c.ask(ctx, st, method, params)
	}
	wait, cancel := context.WithTimeout(ctx, streamWait)
	defer cancel()
	st, err := x.c.way(wait)
	if err != nil {
		return nil, err
	}
	return x.c.ask(ctx, st, method, params)
}
