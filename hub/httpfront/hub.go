package httpfront

import (
	"context"

	"mcphub/hub/httpfront/admission"
	"mcphub/hub/seal"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/mirror"
)

// A Hub opens the sessions of the front.
type Hub interface {
	// Limits returns the limits that are in force now.
	Limits() RequestLimits
	// Ready returns why no call could be served now, whatever it is; nil: calls are.
	// Everybody is told the text.
	Ready(ctx context.Context) error
	// IsModern reports whether a message belongs to the era without a handshake.
	IsModern(m *jsonrpc.Message) bool
	// NewID makes the id of a session, which no one can guess.
	NewID(caller admission.Caller) string
	// Elsewhere returns the name of another hub if its NewID has made the id for the caller; "" if no other hub has, or if that cannot
	// be known.
	Elsewhere(caller admission.Caller, id string) string
	// Seal returns what seals by the StateKeys in force.
	Seal() *seal.Sealer
	// CheckToolsets returns why a caller may have none of the toolsets that it comes for; nil if it may, or comes for none.
	CheckToolsets(caller admission.Caller) error
	// WithClient returns a caller with how its client calls itself in a message, if that chooses its toolsets.
	WithClient(caller admission.Caller, m *jsonrpc.Message) admission.Caller
	// Open returns a session for a client that is about to say initialize. It starts
	// nothing.
	Open(caller admission.Caller, session *FrontSession) HubSession
	// OpenModern returns what serves all requests without a handshake of one caller, and
	// at most so many of its listeners at a time. It starts nothing.
	OpenModern(caller admission.Caller, session *FrontSession, listeners int) ModernSession
}

// RequestLimits bound what a client can make the hub hold. Each is more than zero.
type RequestLimits struct {
	Frame int // bytes of one message
	ID    int // bytes of the id of a request
	Calls int // requests of one client served at a time
}

// A HubSession serves one client after its handshake. Its methods may be called by any
// number of goroutines.
type HubSession interface {
	// Run keeps the session until ctx ends.
	Run(ctx context.Context)
	// Initialize answers the handshake.
	Initialize(ctx context.Context, m *jsonrpc.Message) jsonrpc.Answer
	// Protocol returns the version that the handshake agreed on, "" before it.
	Protocol() string
	// Serve answers a request. What has to be said before the answer goes to r. end ends
	// the request early.
	Serve(r *PostExchange, end *jsonrpc.Cancellation, m *jsonrpc.Message) jsonrpc.Answer
	// Notify takes in a notification.
	Notify(m *jsonrpc.Message)
}

// A ModernSession serves the requests of 2026-07-28 that come with one token. Its
// methods may be called by any number of goroutines.
type ModernSession interface {
	// Run keeps the session until ctx ends.
	Run(ctx context.Context)
	// Read reads what a request says about its client; ok false: it is refused.
	Read(m *jsonrpc.Message) (r ModernRequest, refusal jsonrpc.Answer, ok bool)
	// Notify takes in a notification.
	Notify(m *jsonrpc.Message)
	// Busy reports whether work is under way that no request waits for.
	Busy() bool
	// HangUp ends all subscriptions/listen.
	HangUp()
}

// A ModernRequest is one request of 2026-07-28 that was read.
type ModernRequest interface {
	// Mirrors returns the parameters that headers repeat, of a call of a tool that is
	// known already. A tool that is found later is compared by [ModernExchange.CheckHeaders].
	Mirrors() []mirror.Mark
	// Elsewhere returns the name of another hub if the request continues a suspended call, and that hub keeps the call. refusal is the
	// answer that the client gets if this hub cannot forward the request. node is "" if no other hub keeps such a call.
	Elsewhere() (node string, refusal jsonrpc.Answer)
	// HasMethod reports whether the hub has such a method, or a server may have it.
	HasMethod() bool
	// Serve answers the request. What has to be said before the answer goes to r. The
	// end of ctx ends the request.
	Serve(ctx context.Context, r *ModernExchange) jsonrpc.Answer
}
