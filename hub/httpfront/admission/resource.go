package admission

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"mcphub/hub/toolset"
	"mcphub/internal/principal"
	"mcphub/internal/printable"
)

// This file makes the hub a protected resource of OAuth (MCP specification, basic,
// Authorization): it reports which authorization servers it trusts, and what is
// wrong with a token.

// wellKnown is where a resource's metadata is, before the path of the resource
// (RFC 9728, 3.1).
const wellKnown = "/.well-known/oauth-protected-resource"

// A resource is a Resource that the front serves.
type resource struct {
	Resource
	path     string // of its metadata
	address  string // the same with its origin, for clients
	metadata http.Handler
}

func newResource(o Resource, tokens []Token) (*resource, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Host == "" || u.Fragment != "" || u.RawQuery != "" {
		return nil, fmt.Errorf("http.resource: %q is not the URL of this hub", o.URL)
	}
	if o.Verify == nil || o.Basis == nil {
		return nil, errors.New("http.issuers: nothing verifies a token, or says by what it counts")
	}
	for _, t := range tokens {
		for _, issuer := range o.Issuers {
			if strings.HasSuffix(t.Name, principal.IssuerSuffix(issuer)) {
				return nil, fmt.Errorf("http.tokens: %q is called like those that %s vouches for", t.Name, issuer)
			}
		}
	}
	path := wellKnown + strings.TrimSuffix(u.EscapedPath(), "/")
	return &resource{o, path, u.Scheme + "://" + u.Host + path, auth.ProtectedResourceMetadataHandler(&oauthex.ProtectedResourceMetadata{
		Resource: o.URL, AuthorizationServers: o.Issuers, ScopesSupported: o.Scopes,
		BearerMethodsSupported: []string{"header"}, ResourceName: "mcphub",
	})}, nil
}

// isAt reports whether metadata is at a path: that of the endpoint, or of a toolset below it, which takes the same tokens. Whether
// there is such a toolset is told to no one without a token.
func (p *resource) isAt(path string) bool {
	below, ok := strings.CutPrefix(path, p.path+"/")
	return path == p.path || ok && toolset.IsName(below)
}

// callerOf returns whose a request with this token is; token may be empty.
func (p *resource) callerOf(w http.ResponseWriter, r *http.Request, token string) (Caller, error) {
	challenge := []string{`realm="mcphub"`, "resource_metadata=" + quoteString(p.address)}
	if len(p.Scopes) > 0 {
		challenge = append(challenge, "scope="+quoteString(strings.Join(p.Scopes, " ")))
	}
	status, reason, text := http.StatusUnauthorized, ReasonToken, "a token is needed: "+p.address+" says which authorization servers give one"
	if token != "" {
		who, err := p.Verify(r.Context(), token)
		if err == nil {
			who.Basis = p.Basis(who)
			return who, nil
		}
		text = printable.Escape(err.Error(), 300)
		if errors.Is(err, principal.ErrUnreachable) {
			// The token may be right: its client must not throw it away.
			return Caller{}, &Refusal{Status: http.StatusServiceUnavailable, Reason: ReasonIssuer, Text: text + "; try again later with the same token", Again: issuerAgain}
		}
		code := "invalid_token"
		if errors.Is(err, principal.ErrScope) {
			status, reason, code = http.StatusForbidden, ReasonScope, "insufficient_scope"
		}
		challenge = append(challenge, "error="+quoteString(code), "error_description="+quoteString(text))
	}
	w.Header().Set("WWW-Authenticate", "Bearer "+strings.Join(challenge, ", "))
	return Caller{}, &Refusal{Status: status, Reason: reason, Text: text}
}

// issuerAgain is when it is worth asking again, if an issuer could not be reached.
const issuerAgain = 10 * time.Second

// quoteString returns a text as a quoted-string (RFC 9110, 5.6.4), in ASCII.
func quoteString(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, text)
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}
