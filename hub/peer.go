package hub

import (
	"context"

	"mcphub/internal/jsonrpc"
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
	Serving() int // requests of the client under way
}

// A lender is a peer that belongs to one request of the client. While it is
// lent, what the hub asks for itself may go on it where there is no other way.
type lender interface{ lend() (back func()) }

type peerKey struct{}

// withPeer marks the context of a request with the peer that belongs to it.
func withPeer(ctx context.Context, p peer) context.Context {
	return context.WithValue(ctx, peerKey{}, p)
}

// peerOf returns the peer that belongs to the request of ctx: whatever is sent
// because of that request goes there.
func (s *Session) peerOf(ctx context.Context) peer {
	if p, ok := ctx.Value(peerKey{}).(peer); ok {
		return p
	}
	return s.client
}

// lend lends the peer of the request of ctx until back is called.
func lend(ctx context.Context) (back func()) {
	if l, ok := ctx.Value(peerKey{}).(lender); ok {
		return l.lend()
	}
	return func() {}
}
