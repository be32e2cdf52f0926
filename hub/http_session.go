package hub

import (
	linked "container/list"
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"mcphub/internal/jsonrpc"
	"mcphub/rootsmgr"
)

// Bounds of what a session keeps for a client that may come back.
const (
	finishedStreams = 8                // ended streams of requests, for a client whose connection broke
	finishedBytes   = 16 << 20         // that they hold, all together
	waitingPosts    = 4                // requests that wait for their turn, for each that is served
	streamWait      = 10 * time.Second // for the client to open a stream that a question can go on
)

// An httpClient is one session over Streamable HTTP: the peer of everything
// that belongs to no request of the client. In the modern era it is what serves
// all requests of one token (http_modern.go), and no peer.
type httpClient struct {
	id     string // Mcp-Session-Id
	modern bool   // no session to its clients: all modern requests of one token
	owner  string // name of the token that it was made with; "" where none is asked for
	s      *Session
	own    *stream // what belongs to no request: the client's GET
	ctx    context.Context
	cancel context.CancelCauseFunc
	slots  chan struct{}   // one token for each request being served
	watch  *watch          // of the front
	idlers *idleSessions   // of the front; nil for what serves modern requests
	idle   *linked.Element // in idlers, whose mutex guards it; nil while the session is used
	held   atomic.Int64    // bytes of requests being read or served
	unsent atomic.Int64    // bytes that wait in all its streams
	unread atomic.Int64    // bytes of large answers being written

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
	serving  map[string]*underway
	ended    bool      // no request is taken any more
	lastID   uint64    // of the hub's own requests
	lastFlow uint64    // of streams
	open     int       // connections
	listens  int       // of them that listen, in the modern era
	busy     bool      // there is a connection, a request or a listener
	used     time.Time // when there was one last
}

func newHTTPClient(id, owner string, limit int, w *watch) *httpClient {
	c := &httpClient{id: id, owner: owner, watch: w, slots: make(chan struct{}, limit)}
	c.own = newStream("0", &c.unsent)
	c.own.lonely = streamAlone
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	c.tab = httpTables{
		streams: map[string]*stream{}, changed: make(chan struct{}), asked: map[string]chan *jsonrpc.Response{},
		serving: map[string]*underway{}, used: time.Now(),
	}
	context.AfterFunc(c.ctx, c.endServing)
	return c
}

// Serving counts the requests under way.
func (c *httpClient) Serving() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.tab.serving)
}

// enter counts a connection of the client, leave ends it. There is room for
// more than requests may wait: a client must be able to answer what they wait for.
func (c *httpClient) enter() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tab.open >= (waitingPosts+2)*cap(c.slots) {
		return false
	}
	c.tab.open++
	c.settle()
	return true
}

func (c *httpClient) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tab.open--
	c.settle()
}

// rests tells since when the session has had no connection and no request; ok
// is false while it has one.
func (c *httpClient) rests() (since time.Time, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tab.used, !c.tab.busy
}

// settle notes whether the session is used, after each change of what uses it.
// The caller holds mu.
func (c *httpClient) settle() {
	busy := c.tab.open > 0 || c.tab.listens > 0 || len(c.tab.serving) > 0
	if busy == c.tab.busy {
		return
	}
	c.tab.busy = busy
	if !busy {
		c.tab.used = time.Now()
	}
	switch {
	case c.idlers == nil:
	case busy:
		c.idlers.remove(c)
	default:
		c.idlers.add(c, c.tab.used)
	}
}

// TryNotify puts a notification on the client's own stream. Until the client
// opens one it waits there, as far as there is room.
func (c *httpClient) TryNotify(method string, params ...[]byte) bool {
	return c.own.put(frameOf(nil, method, params), asNote)
}

// Notify is TryNotify for one that must arrive.
func (c *httpClient) Notify(_ context.Context, method string, params ...[]byte) error {
	if !c.own.put(frameOf(nil, method, params), asQuestion) {
		return c.stuck()
	}
	return nil
}

// stuck is why nothing can be said.
func (c *httpClient) stuck() error {
	if c.ctx.Err() != nil {
		return errSessionOver
	}
	return errNotReading
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
	errNotReading  = errors.New("the client does not read what it is sent")
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
	if !st.put(frameOf([]byte(id), method, params), asQuestion) {
		return nil, c.stuck()
	}
	r, err := c.answerTo(ctx, answer)
	if err != nil {
		st.put(frameOf(nil, "notifications/cancelled", [][]byte{jsonrpc.AppendCancel(nil, []byte(id), err)}), asQuestion)
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

// A refusal is why a request is not taken.
type refusal struct {
	status int
	text   string
}

// admit registers a request of the client, so that it can be ended.
func (c *httpClient) admit(id string) (*underway, *refusal) {
	u := &underway{id: id}
	c.mu.Lock()
	defer c.mu.Unlock()
	_, twice := c.tab.serving[id]
	switch {
	case twice:
		return nil, &refusal{http.StatusBadRequest, "a request with this id is still being served"}
	case len(c.tab.serving) >= (waitingPosts+1)*cap(c.slots):
		return nil, &refusal{http.StatusTooManyRequests, "too many requests of this session wait for their turn; send it again later"}
	case c.tab.ended:
		u.End(errSessionOver)
	}
	c.tab.serving[id] = u
	c.settle()
	return u, nil
}

// endServing ends every request: the session has ended.
func (c *httpClient) endServing() {
	c.mu.Lock()
	c.tab.ended = true
	all := slices.Collect(maps.Values(c.tab.serving))
	c.mu.Unlock()
	for _, u := range all {
		u.End(errSessionOver)
	}
}

// turn waits until the request may be served; false: nobody wants it any more.
func (c *httpClient) turn(ctx, conn context.Context) bool {
	select {
	case c.slots <- struct{}{}:
		return true
	case <-ctx.Done():
	case <-conn.Done():
	}
	return false
}

// served takes a request out: it is about to be answered.
func (c *httpClient) served(u *underway) {
	c.mu.Lock()
	delete(c.tab.serving, u.id)
	c.settle()
	c.mu.Unlock()
	u.Free()
}

// cancelled ends a request that the client no longer wants.
func (c *httpClient) cancelled(m *jsonrpc.Message) {
	id := m.Param("requestId")
	reason, _ := jsonrpc.String(m.Param("reason"))
	c.mu.Lock()
	u := c.tab.serving[string(id)]
	c.mu.Unlock()
	if u != nil {
		u.End(&jsonrpc.CancelledError{Reason: reason})
	}
}

// flow makes a stream for one request.
func (c *httpClient) flow() *stream {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tab.lastFlow++
	st := newStream(strconv.FormatUint(c.tab.lastFlow, 10), &c.unsent)
	c.tab.streams[st.id] = st
	return st
}

// finish notes that a request's stream has ended. It is kept for a while, in
// case the client's connection broke before it had everything.
func (c *httpClient) finish(st *stream) {
	c.mu.Lock()
	all := append(c.tab.finished, st)
	total := 0
	for _, old := range all {
		total += old.holds()
	}
	var gone []*stream
	for len(all) > 0 && (len(all) > finishedStreams || total > finishedBytes) {
		gone = append(gone, all[0])
		total -= all[0].holds()
		delete(c.tab.streams, all[0].id)
		all = append(all[:0:0], all[1:]...)
	}
	c.tab.finished = all
	c.mu.Unlock()
	for _, old := range gone {
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
	c.news() // who waits for a way to the client waits in vain
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
