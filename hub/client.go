package hub

import (
	"context"
	"time"

	"mcphub/children"
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
// a *parley says all that with the request, and is asked by its answer
// (2026-07-28). Nothing that a Call does depends on which it is.
type client interface {
	Reply
	era() string
	// claims is what the client says of itself.
	claims() clientCaps
	// behalf is what a child without a handshake is shown of it. Such a child may be
	// shared and still ask the right one.
	behalf() children.Client
	// suits reports whether nothing has to be asked, waited for or compared before a
	// tool is called by a lease; nil: not known yet.
	suits(tool listedTool, lease *children.Lease) bool

	// boundary waits for the roots that the request is judged by, and until the
	// children have been given them.
	boundary(ctx context.Context, patience *rootsmgr.Wait) (rootsmgr.View, error)
	// standing is how the roots stand, and a word for it.
	standing(ctx context.Context) (rootsmgr.View, string, error)
	// lookFirst is told what will be judged, before boundary.
	lookFirst(scan *validate.Scan)
	// decided is told of the verdict; an error: roots are needed first.
	decided(v *validate.Verdict) error
	// reconsider asks once more about roots by which a request would be denied; newer
	// is false where there is nothing else.
	reconsider(ctx context.Context, patience *rootsmgr.Wait, j *judgement) (view rootsmgr.View, newer bool, err error)
	// rootsBefore sees to it that roots were given before a request goes to a child
	// that needs them without a path in it, and rootsAfter to what is known of a
	// child only when it runs. With an error of that the lease was released.
	rootsBefore(ctx context.Context, g *generation, child string) error
	rootsAfter(lease *children.Lease) error
	// rootless reports whether roots could be given and none were that hold for this
	// request.
	rootless() bool
	// yield lets other requests have the child while a person is asked.
	yield()

	// brought is what came with the request for a child: the requestState that was
	// passed, raw, nil for none, and the answers, a raw object or nil.
	brought(child string) (state, responses []byte, ok bool)
	// pass makes what a child asks the answer to the request; false: the client is to
	// be asked now. The requestState in result may be any JSON. roots: it is asked for
	// them along with it.
	pass(child string, result func() []byte, roots bool) (jsonrpc.Answer, bool)
	// answer is the child's as it is meant for this client.
	answer(lease *children.Lease, method string, resp *jsonrpc.Response) jsonrpc.Answer
	// typed is told that the answer says of itself what it is, and may.
	typed()
	// wants reports whether the client wants a log message of a child.
	wants(m *jsonrpc.Message) bool
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

func (c *handshakeClient) era() string        { return eraHandshake }
func (c *handshakeClient) claims() clientCaps { return c.s.capabilities() }

func (c *handshakeClient) behalf() children.Client {
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	return children.Client{Capabilities: s.tab.caps.shown, Level: s.tab.level.String()}
}

func (c *handshakeClient) suits(listedTool, *children.Lease) bool { return true }

func (c *handshakeClient) boundary(ctx context.Context, patience *rootsmgr.Wait) (rootsmgr.View, error) {
	s, began := c.s, time.Now()
	defer c.Lend()()
	view, err := patience.Await(ctx)
	if err != nil {
		return view, err
	}
	view.Client = c.claims().name
	return view, s.awaitServed(ctx, view, s.hub.now().cfg.Roots.Timeout-time.Since(began))
}

func (c *handshakeClient) standing(context.Context) (rootsmgr.View, string, error) {
	view := c.s.roots.View()
	view.Client = c.claims().name
	return view, c.s.roots.State().Word, nil
}

func (c *handshakeClient) lookFirst(*validate.Scan)        {}
func (c *handshakeClient) decided(*validate.Verdict) error { return nil }

func (c *handshakeClient) reconsider(ctx context.Context, patience *rootsmgr.Wait, j *judgement) (rootsmgr.View, bool, error) {
	view, newer, err := patience.Reconsider(ctx)
	if newer && err == nil {
		err = c.s.awaitServed(ctx, view, j.gen.cfg.Roots.Timeout)
	}
	return view, newer, err
}

func (c *handshakeClient) rootsBefore(context.Context, *generation, string) error { return nil }
func (c *handshakeClient) rootsAfter(*children.Lease) error                       { return nil }
func (c *handshakeClient) rootless() bool                                         { return false }
func (c *handshakeClient) yield()                                                 {}

func (c *handshakeClient) brought(string) (state, responses []byte, ok bool) { return nil, nil, false }

func (c *handshakeClient) pass(string, func() []byte, bool) (jsonrpc.Answer, bool) {
	return jsonrpc.Answer{}, false
}

func (c *handshakeClient) answer(lease *children.Lease, method string, resp *jsonrpc.Response) jsonrpc.Answer {
	return settle(lease, method, resp)
}

func (c *handshakeClient) typed() {}

// wants goes by the level that the session has set.
func (c *handshakeClient) wants(m *jsonrpc.Message) bool {
	level, ok := levelOf(m.Param("level"))
	return !ok || level >= c.s.logLevel()
}
