package httpfront

import (
	"context"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/rs/zerolog"

	"mcphub/hub/httpfront/admission"
	"mcphub/hub/httpfront/headers"
	"mcphub/hub/httpfront/quota"
	"mcphub/internal/callertoken"
	"mcphub/internal/principal"
)

// FrontOptions shape the front. The zero value serves no one: one of LocalToken, Open, and Tokens or
// Resource has to say who may call.
type FrontOptions struct {
	Hosts      []string            // more names by which clients may call, with or without a port
	Origins    []string            // web pages that may call
	LocalToken string              // what the one user of this hub sends as a bearer token, as whom no one is named
	Open       bool                // the one who reaches the address may call, without a token
	Tokens     []admission.Token   // who may call
	Resource   *admission.Resource // whose signed tokens count beside Tokens; nil: no one's
	Sessions   int                 // at a time; 0: 1000
	Principal  quota.Limits        // of what each of those may take
	StateKeys  [][]byte            // what the hub seals requestState with, 32 bytes or more each, so that several hubs may serve one client: the first seals, all open; nil: a random one
	Node       string              // of several hubs of these StateKeys, this one: it is sealed into the ids of sessions
	Peers      []*url.URL          // of those hubs: what is for one of them is forwarded. A name stands for all its addresses
	Idle       time.Duration       // a session without connection and request ends after it; 0: 30 min
	Poll       time.Duration       // a connection lasts no longer, if the client comes back for the rest (2025-11-25); 0: as long as its request
	Drain      time.Duration       // the front goes on as before for so long after its end was asked for, while /readyz reports that it ends; 0: not
	Grace      time.Duration       // for calls under way after that; 0: none
	Hurry      <-chan struct{}     // closed: neither of both goes on; nil: never
	Toolsets   []string            // names of the toolsets that all sessions are held to; nil: any. They stay New's
	Callers    *callertoken.Table  // holds the tokens of issuers by which callers were admitted; nil: none is held. It stays New's
	Log        zerolog.Logger

	// Login serves the pages below LoginPrefix, on which people log in at servers. whose returns whom a token admits. refused is why Login has refused
	// the request; "" if it has not. nil: there are no such pages.
	Login func(w http.ResponseWriter, r *http.Request, whose func(ctx context.Context, token string) (principal.Principal, error)) (status int, refused string)

	Proxies []netip.Prefix                  // whose X-Forwarded-For and Forwarded count
	Count   func(status int, reason string) // learns of each request that is refused; nil: no one does
	Tell    func(Rejection)                 // learns of as many of them as a person can read, and of how many others there were; nil: no one does
}

// admissionOptions returns who may call.
func (options *FrontOptions) admissionOptions() admission.Options {
	return admission.Options{Hosts: options.Hosts, Origins: options.Origins, LocalToken: options.LocalToken, Open: options.Open, Tokens: options.Tokens, Resource: options.Resource,
		Headers: []string{headers.Session, headers.Protocol, headers.LastEvent, mcp.HeaderMethod, mcp.HeaderName}, Exposed: []string{headers.Session, headers.Protocol}}
}
