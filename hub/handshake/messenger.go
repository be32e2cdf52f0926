package handshake

import (
	"context"
	"errors"

	"mcphub/hub/client"
	"mcphub/internal/jsonrpc"
)

// A MainMessenger carries what belongs to no request of the client.
type MainMessenger interface {
	client.Messenger
	Serving() int                         // requests of the client under way
	Connected() bool                      // the client takes what belongs to no request now
	AwaitReady(ctx context.Context) error // waits until the client can be asked
}

// mainRequestMessenger is the RequestMessenger of a request that has none of its own.
type mainRequestMessenger struct{ MainMessenger }

func (mainRequestMessenger) AllowHubQuestions() (back func()) { return func() {} }
func (mainRequestMessenger) Reaches() bool                    { return true }

// NewMain makes the Client of requests that have no RequestMessenger of their own.
func NewMain(main MainMessenger, host Host) *Client { return &Client{mainRequestMessenger{main}, host} }

// Nobody is the MainMessenger if there is no session: no one can be
// told or asked.
var Nobody MainMessenger = nobody{}

type nobody struct{}

var errNobody = errors.New("no client can be asked but while a request of it is being answered")

func (nobody) Call(context.Context, string, ...[]byte) (*jsonrpc.Response, error) {
	return nil, errNobody
}
func (nobody) Notify(context.Context, string, ...[]byte) error { return nil }
func (nobody) TryNotify(string, ...[]byte) bool                { return true }
func (nobody) TryNotifyLeavingRoom(string, ...[]byte) bool     { return true }
func (nobody) Serving() int                                    { return 0 }
func (nobody) Connected() bool                                 { return true }
func (nobody) AwaitReady(context.Context) error                { return nil }
