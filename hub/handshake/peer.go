package handshake

import (
	"context"

	"mcphub/hub/call"
)

// A MainPeer is the peer of what belongs to no request of the client.
type MainPeer interface {
	call.Peer
	Serving() int                    // requests of the client under way
	Connected() bool                 // the client takes what belongs to no request now
	Ready(ctx context.Context) error // waits until the client can be asked
}

// mainReply is that of a request which has none of its own.
type mainReply struct{ MainPeer }

func (mainReply) Lend() (back func()) { return func() {} }
func (mainReply) Reaches() bool       { return true }

// NewMain makes the Client of requests that have no way of their own.
func NewMain(main MainPeer, host Host) *Client { return &Client{mainReply{main}, host} }
