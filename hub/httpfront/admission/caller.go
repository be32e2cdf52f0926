package admission

import (
	"context"
	"strings"
	"time"

	"mcphub/hub/toolset"
	"mcphub/internal/principal"
	"mcphub/rootsmgr"
)

// Options say who may call. One of LocalToken, Open, and Tokens or Resource has to.
type Options struct {
	Hosts      []string  // more names by which clients may call, with or without a port
	Origins    []string  // web pages that may call
	LocalToken string    // what the one user of this hub sends as a bearer token, as whom no one is named
	Open       bool      // the one who reaches the address may call, without a token
	Tokens     []Token   // who may call
	Resource   *Resource // whose signed tokens count beside Tokens; nil: no one's
	Headers    []string  // of the protocol, that a listed page may send
	Exposed    []string  // of the protocol, that it may read
}

// A Token admits one client. Its Secret is what the client sends as a bearer
// token (RFC 6750). Roots, where not nil, is the ceiling of everything that the
// client may touch: absolute paths, and patterns of them.
type Token struct {
	Name   string
	Groups []string // that rules name
	Secret string
	Roots  []rootsmgr.RootEntry

	Toolsets []string // that bound what the client sees; nil: any
}

// A Resource is the hub as a protected resource of OAuth: clients get their tokens
// from an authorization server, and find that by the resource's metadata (RFC 9728).
type Resource struct {
	URL     string   // of the endpoint, as clients know it
	Issuers []string // authorization servers whose tokens count
	Scopes  []string // that tokens have to have
	// Verify tells whose a token is. An error reports why it counts for nothing; it wraps
	// [principal.ErrScope] if the token only lacks a scope, and [principal.ErrUnreachable] if its issuer cannot be asked. Any number
	// of goroutines may call it.
	Verify func(ctx context.Context, token string) (Caller, error)
	// Basis returns the basis of a caller whom Verify has returned at any time, by the settings that
	// hold now: another one if these would tell otherwise.
	Basis func(who Caller) string
	// Refresh is called again and again while the front serves, to fetch what Verify needs of the issuers
	// before it is too old; nil: nothing is.
	Refresh func(ctx context.Context)
}

// A Caller is whom a request belongs to. Two requests are of one caller if all but
// Expires is the same.
type Caller struct {
	Principal principal.Principal
	Ceiling   []rootsmgr.RootEntry // of everything that the caller may touch; nil: none
	Values    []string             // what an issuer reports that the ceiling comes from; nil if it says nothing about it
	Expires   time.Time            // of the token; zero: never
	Toolsets  toolset.Claim        // that the token bounds, and the request comes for
	Named     []string             // what an issuer reports that the bound of Toolsets comes from; nil if it says nothing about it
	Basis     string               // what of the settings the caller is admitted by, see [Basis]; "": that no one shows a token
}

// Owner tells callers apart: no session of one is found by another.
func (caller Caller) Owner() string {
	key := caller.Principal.Key()
	if caller.Values != nil || caller.Principal.Groups != nil || caller.Named != nil {
		key = strings.Join([]string{key, strings.Join(caller.Values, "\x00"), strings.Join(caller.Principal.Groups, "\x00"), strings.Join(caller.Named, "\x00")}, "\x00\x00")
	}
	if of := caller.Toolsets.Owner(); of != "" {
		key += "\x00\x00\x00" + of
	}
	return key
}
