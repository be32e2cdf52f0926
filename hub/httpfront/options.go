package httpfront

import (
	"context"
	"errors"
	"time"

	"github.com/rs/zerolog"

	"mcphub/rootsmgr"
)

// Options shape the front. The zero value serves nobody: one of Local, Open, and Tokens or
// Resource has to say who may call.
type Options struct {
	Hosts    []string      // more names by which clients may call, with or without a port
	Origins  []string      // web pages that may call
	Local    string        // what the one user of this hub sends as a bearer token, as whom nobody is named
	Open     bool          // whoever reaches the address may call, without a token
	Tokens   []Token       // who may call
	Resource *Resource     // whose signed tokens count beside Tokens; nil: nobody's
	Sessions int           // at a time; 0: 1000
	StateKey []byte        // what the hub seals requestState with, 32 bytes or more, so that several hubs may serve one client; nil: a random one
	Idle     time.Duration // a session without connection and request ends after it; 0: 30 min
	Poll     time.Duration // a connection lasts no longer, where the client comes back for the rest (2025-11-25); 0: as long as its request
	Log      zerolog.Logger
}

// A Token admits one client. Its Secret is what the client sends as a bearer
// token (RFC 6750). Roots, where not nil, is the ceiling of everything that the
// client may touch: absolute paths, and patterns of them.
type Token struct {
	Name   string
	Secret string
	Roots  []rootsmgr.Entry
}

// A Resource is the hub as a protected resource of OAuth: clients get their tokens
// from an authorization server, and find that by the resource's metadata (RFC 9728).
type Resource struct {
	URL     string   // of the endpoint, as clients know it
	Issuers []string // authorization servers whose tokens count
	Scopes  []string // that tokens have to have
	// Verify tells whose a token is. An error says why it counts for nothing; it wraps
	// [ErrScope] where the token only lacks a scope. Any number of goroutines may call it.
	Verify func(ctx context.Context, token string) (Caller, error)
}

// ErrScope is why a valid token is not enough.
var ErrScope = errors.New("the token lacks a scope")
