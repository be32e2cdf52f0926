package hub

import (
	"context"
	"mcphub/children"
	"mcphub/hub/call"
	"mcphub/hub/declaration"
	"mcphub/internal/jsonrpc"
	"mcphub/rootsmgr"
	"mcphub/validate"
	"time"
)

// A mainPeer is the peer of what belongs to no request of the client.
type mainPeer interface {
	call.Peer
	Serving() int                    // requests of the client under way
	Connected() bool                 // the client takes what belongs to no request now
	Ready(ctx context.Context) error // waits until the client can be asked
}

// mainReply is that of a request which has none of its own.
type mainReply struct{ mainPeer }

func (mainReply) Lend() (back func()) { return func() {} }
func (mainReply) Reaches() bool       { return true }

// speaksOn sets what belongs to no request of the client.
func (s *Session) speaksOn(main mainPeer) {
	s.client, s.main = main, &handshakeClient{mainReply{main}, s}
	s.calls.Main = s.main
}

// A handshakeClient is a client of the era of the handshake.
type handshakeClient struct {
	call.Reply
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
