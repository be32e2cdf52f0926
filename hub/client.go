package hub

import (
	"context"
	"time"

	"mcphub/children"
	"mcphub/hub/declaration"
	"mcphub/internal/jsonrpc"
	"mcphub/rootsmgr"
	"mcphub/validate"
)

// A peer is a way to one client, whatever the transport. Over stdio there is
// one for everything; over HTTP each request of the client has its own, and
// what belongs to none has another.
type peer interface {
	// Call asks the client and waits for its answer, as jsonrpc.Conn.Call does.
	Call(ctx context.Context, method string, params ...[]byte) (*jsonrpc.Response, error)
	// Notify tells the client, waiting for room as long as ctx lasts.
	Notify(ctx context.Context, method string, params ...[]byte) error
	// TryNotify tells the client if there is room; it never blocks.
	TryNotify(method string, params ...[]byte) bool
	// TrySpare is TryNotify that leaves half of the room to whatever else there is
	// to say.
	TrySpare(method string, params ...[]byte) bool
}

// A mainPeer is the peer of what belongs to no request of the client.
type mainPeer interface {
	peer
	Serving() int                    // requests of the client under way
	Connected() bool                 // the client takes what belongs to no request now
	Ready(ctx context.Context) error // waits until the client can be asked
}

// A Reply is what a front gives a request: the client is told and asked on it,
// before the answer, what belongs to the request.
type Reply interface {
	peer
	// Lend lets the hub's own questions go on this reply, where there is no other way,
	// until back is called.
	Lend() (back func())
	// Reaches reports whether the client can be told anything on it before its
	// request is answered.
	Reaches() bool
}

// mainReply is that of a request which has none of its own.
type mainReply struct{ mainPeer }

func (mainReply) Lend() (back func()) { return func() {} }
func (mainReply) Reaches() bool       { return true }

// A client is whoever made one request, as a Call sees it. There are two: a
// handshakeClient has said once what it can do, and is asked and told at any time;
// an *inline.Client says all that with the request, and is asked by its answer
// (2026-07-28). Nothing that a Call does depends on which it is.
type client interface {
	Reply
	// Era is the word for its era, for reports alone.
	Era() string
	// Claims is what the client says of itself.
	Claims() declaration.Client
	// Behalf is what a child without a handshake is shown of it. Such a child may be
	// shared and still ask the right one.
	Behalf() children.Client
	// Suits reports whether nothing has to be asked, waited for or compared before a
	// tool of a child is called by a lease; nil: not known yet. mirrored: HTTP headers
	// repeat parts of the call.
	Suits(share children.Share, mirrored bool, lease *children.Lease) bool

	// Boundary waits for the roots that the request is judged by, and until the
	// children have been given them.
	Boundary(ctx context.Context, wait *rootsmgr.Wait) (rootsmgr.View, error)
	// Standing is how the roots stand, and a word for it.
	Standing(ctx context.Context) (rootsmgr.View, string, error)
	// Scanned is told what will be judged, before Boundary.
	Scanned(scan *validate.Scan)
	// Judged is told of the verdict; an error: roots are needed first.
	Judged(v *validate.Verdict) error
	// Reconsider asks once more about roots by which a request would be denied; newer
	// is false where there is nothing else. limit bounds how long it waits until the
	// children have been given them.
	Reconsider(ctx context.Context, wait *rootsmgr.Wait, limit time.Duration) (view rootsmgr.View, newer bool, err error)
	// RootsBefore sees to it that roots were given before a request goes to a child
	// that needs them without a path in it, and RootsAfter to what is known of a
	// child only when it runs. With an error of that the lease was released.
	RootsBefore(ctx context.Context, spec *children.Spec) error
	RootsAfter(lease *children.Lease) error
	// Rootless reports whether roots could be given and none were that hold for this
	// request.
	Rootless() bool
	// BringsRoots reports whether roots come with the client's requests. A child that
	// asks for them in the middle of one waits for those of that request.
	BringsRoots() bool
	// CanFetchRoots reports whether the client is to be asked for roots on account of
	// a child that asks for them.
	CanFetchRoots(child string) bool
	// FetchRoots asks, and has the child served what the client gives. What was
	// allowed without these roots is judged by them first: an error of judge ends the
	// request.
	FetchRoots(ctx context.Context, child string, judge func(rootsmgr.View) error)
	// Yield lets other requests have the child while a person is asked.
	Yield()

	// Brought is what came with the request for a child: the requestState that was
	// passed, raw, nil for none, and the answers, a raw object or nil.
	Brought(child string) (state, responses []byte, ok bool)
	// Pass makes what a child asks the answer to the request; false: the client is to
	// be asked now. The requestState in result may be any JSON. roots: it is asked for
	// them along with it.
	Pass(child string, result func() []byte, roots bool) (jsonrpc.Answer, bool)
	// Answer is the child's as it is meant for this client.
	Answer(lease *children.Lease, method string, resp *jsonrpc.Response) jsonrpc.Answer
	// Typed is told that the answer says of itself what it is, and may.
	Typed()
	// Wants reports whether the client wants a log message of a child.
	Wants(m *jsonrpc.Message) bool
}

type clientKey struct{}

// withClient marks the context of a request with its client.
func withClient(ctx context.Context, c client) context.Context {
	return context.WithValue(ctx, clientKey{}, c)
}

// clientOf returns the client of the request of ctx: whatever is said because of
// that request goes there.
func (s *Session) clientOf(ctx context.Context) client {
	if c, ok := ctx.Value(clientKey{}).(client); ok {
		return c
	}
	return s.main
}

// speaksOn sets what belongs to no request of the client.
func (s *Session) speaksOn(main mainPeer) {
	s.client, s.main = main, &handshakeClient{mainReply{main}, s}
}

// A handshakeClient is a client of the era of the handshake.
type handshakeClient struct {
	Reply
	s *Session
}

func (c *handshakeClient) Era() string                { return eraHandshake }
func (c *handshakeClient) Claims() declaration.Client { return c.s.capabilities() }

func (c *handshakeClient) Behalf() children.Client {
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	return children.Client{Capabilities: s.tab.caps.Shown, Level: s.tab.level.String()}
}

func (c *handshakeClient) Suits(children.Share, bool, *children.Lease) bool { return true }

func (c *handshakeClient) Boundary(ctx context.Context, wait *rootsmgr.Wait) (rootsmgr.View, error) {
	s, began := c.s, time.Now()
	defer c.Lend()()
	view, err := wait.Await(ctx)
	if err != nil {
		return view, err
	}
	view.Client = c.Claims().Name
	return view, s.awaitServed(ctx, view, s.hub.now().Roots.Timeout-time.Since(began))
}

func (c *handshakeClient) Standing(context.Context) (rootsmgr.View, string, error) {
	view := c.s.roots.View()
	view.Client = c.Claims().Name
	return view, c.s.roots.State().Word, nil
}

func (c *handshakeClient) Scanned(*validate.Scan)         {}
func (c *handshakeClient) Judged(*validate.Verdict) error { return nil }

func (c *handshakeClient) Reconsider(ctx context.Context, wait *rootsmgr.Wait, limit time.Duration) (rootsmgr.View, bool, error) {
	view, newer, err := wait.Reconsider(ctx)
	if newer && err == nil {
		err = c.s.awaitServed(ctx, view, limit)
	}
	return view, newer, err
}

func (c *handshakeClient) RootsBefore(context.Context, *children.Spec) error             { return nil }
func (c *handshakeClient) RootsAfter(*children.Lease) error                              { return nil }
func (c *handshakeClient) Rootless() bool                                                { return false }
func (c *handshakeClient) BringsRoots() bool                                             { return false }
func (c *handshakeClient) CanFetchRoots(string) bool                                     { return false }
func (c *handshakeClient) FetchRoots(context.Context, string, func(rootsmgr.View) error) {}
func (c *handshakeClient) Yield()                                                        {}

func (c *handshakeClient) Brought(string) (state, responses []byte, ok bool) { return nil, nil, false }

func (c *handshakeClient) Pass(string, func() []byte, bool) (jsonrpc.Answer, bool) {
	return jsonrpc.Answer{}, false
}

func (c *handshakeClient) Answer(lease *children.Lease, method string, resp *jsonrpc.Response) jsonrpc.Answer {
	return settle(lease, method, resp)
}

func (c *handshakeClient) Typed() {}

// Wants goes by the level that the session has set.
func (c *handshakeClient) Wants(m *jsonrpc.Message) bool {
	level, ok := declaration.ReadLevel(m.Param("level"))
	return !ok || level >= c.s.logLevel()
}
