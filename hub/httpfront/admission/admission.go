package admission

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"mcphub/hub/toolset"
	"mcphub/internal/mirror"
	"mcphub/internal/principal"
	"mcphub/internal/printable"
)

// An Admission decides who may speak to the HTTP front at all. It does not change: a reload
// puts another one in its place.
type Admission struct {
	hosts    map[string]bool // lower case, as listed
	origins  map[string]bool
	headers  []string // that a listed page may send
	exposed  string   // that it may read
	cross    *http.CrossOriginProtection
	tokens   []digest
	bases    map[string]bool // of their callers
	resource *resource       // nil: none
	open     bool            // the one who reaches the address may call
}

type digest struct {
	caller Caller
	sum    [sha256.Size]byte
}

// New makes an Admission. An error is why no one could call, or who may is said twice.
func New(o Options) (*Admission, error) {
	a := &Admission{open: o.Open, headers: o.Headers, exposed: strings.Join(o.Exposed, ", "), hosts: map[string]bool{}, origins: map[string]bool{}, cross: http.NewCrossOriginProtection()}
	for _, h := range o.Hosts {
		a.hosts[strings.ToLower(h)] = true
	}
	for _, origin := range o.Origins {
		if err := a.cross.AddTrustedOrigin(origin); err != nil {
			return nil, fmt.Errorf("http.origins: %q: %w", origin, err)
		}
		a.origins[strings.ToLower(origin)] = true
	}
	for _, t := range o.Tokens {
		if t.Secret == "" || t.Name == "" {
			return nil, fmt.Errorf("http.tokens: the token of %q is empty, or nobody's", t.Name)
		}
		sum := sha256.Sum256([]byte(t.Secret))
		for _, other := range a.tokens {
			if other.sum == sum || other.caller.Principal.Name == t.Name {
				return nil, fmt.Errorf("http.tokens: %q and %q have one name or one secret: whose a request is could not be told", other.caller.Principal.Name, t.Name)
			}
		}
		who := Caller{Principal: principal.Principal{Name: t.Name, Groups: t.Groups}, Ceiling: t.Roots, Toolsets: toolset.Claim{Bound: t.Toolsets}, Basis: Basis(t)}
		a.tokens = append(a.tokens, digest{who, sum})
	}
	known := len(a.tokens) > 0 || o.Resource != nil
	switch {
	case known && o.LocalToken != "", a.open && (known || o.LocalToken != ""):
		return nil, errors.New("who may call is said twice: by tokens, and otherwise")
	case o.LocalToken != "":
		a.tokens = append(a.tokens, digest{Caller{Principal: principal.User(), Basis: Basis(o.LocalToken)}, sha256.Sum256([]byte(o.LocalToken))})
	case !known && !a.open:
		return nil, errors.New("nobody could call: there is no token that anybody could show")
	}
	a.bases = map[string]bool{}
	for _, t := range a.tokens {
		a.bases[t.caller.Basis] = true
	}
	var err error
	if o.Resource != nil {
		a.resource, err = newResource(*o.Resource, o.Tokens)
	}
	return a, err
}

// A Refusal is why a request is not taken.
type Refusal struct {
	Status int
	Reason string // one of the Reason constants
	Text   string
	Again  time.Duration // after which it is worth trying again; 0: that is not known
}

// Reasons of a Refusal.
const (
	ReasonHost   = "host"
	ReasonOrigin = "origin"
	ReasonToken  = "token"  // there is none, or none that counts
	ReasonScope  = "scope"  // the token lacks one
	ReasonIssuer = "issuer" // it cannot be asked for its keys
)

func (e *Refusal) Error() string { return e.Text }

// ErrAnswered: the request asks what a page may send, and is answered.
var ErrAnswered = errors.New("the request is answered")

// Admit checks one request and tells whose it is. The error is ErrAnswered or a *Refusal,
// of which the headers are set. A request that shows what another on its connection was
// admitted by is compared with it.
func (a *Admission) Admit(w http.ResponseWriter, r *http.Request) (Caller, error) {
	before := visitorOf(r.Context()).lastCredentials(a)
	if err := a.checkHost(r, before); err != nil {
		return Caller{}, &Refusal{Status: http.StatusForbidden, Reason: ReasonHost, Text: err.Error()}
	}
	if err := a.checkOrigin(r); err != nil {
		return Caller{}, &Refusal{Status: http.StatusForbidden, Reason: ReasonOrigin, Text: err.Error()}
	}
	if origin := r.Header.Get("Origin"); origin != "" && a.origins[strings.ToLower(origin)] {
		h := w.Header()
		h.Set("Access-Control-Allow-Origin", origin)
		h.Add("Vary", "Origin")
		h.Set("Access-Control-Expose-Headers", a.exposed)
		if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
			h.Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
			h.Set("Access-Control-Allow-Headers", strings.Join(a.allowedHeaders(r.Header), ", "))
			h.Set("Access-Control-Max-Age", "600")
			w.WriteHeader(http.StatusNoContent)
			return Caller{}, ErrAnswered
		}
	}
	return a.authenticateBearer(w, r, before)
}

// Metadata serves what tells clients where to get a token, to everybody; nil if that is
// not at this path.
func (a *Admission) Metadata(path string) http.Handler {
	if a.resource == nil || path != wellKnown && !a.resource.isAt(path) {
		return nil
	}
	return a.resource.metadata
}

// allowedHeaders returns the headers that a listed page may send: the
// protocol's, and of the parameters of tools (Mcp-Param-) the ones that it asks
// for.
func (a *Admission) allowedHeaders(h http.Header) []string {
	all := append([]string{"Authorization", "Content-Type", "Accept"}, a.headers...)
	for _, v := range h.Values("Access-Control-Request-Headers") {
		for _, name := range strings.Split(v, ",") {
			name = strings.TrimSpace(name)
			prefix := len(mirror.Prefix)
			if len(name) > prefix && strings.EqualFold(name[:prefix], mirror.Prefix) && mirror.Token(name) {
				all = append(all, name)
			}
		}
	}
	return all
}

// bearerToken returns the token of an Authorization header; false if it is of another scheme.
func bearerToken(authorization string) (secret string, ok bool) {
	scheme, secret, _ := strings.Cut(authorization, " ")
	return strings.TrimSpace(secret), strings.EqualFold(scheme, "Bearer")
}

// BearerToken returns the token by which a request was admitted; "" if it has none.
func BearerToken(r *http.Request) string {
	secret, ok := bearerToken(r.Header.Get("Authorization"))
	if !ok {
		return ""
	}
	return secret
}

// authenticateBearer returns whose bearer token a request carries.
func (a *Admission) authenticateBearer(w http.ResponseWriter, r *http.Request, before *credentials) (Caller, error) {
	if a.open {
		return Caller{}, nil
	}
	authorization := r.Header.Get("Authorization")
	if before != nil && subtle.ConstantTimeCompare([]byte(authorization), []byte(before.authorization)) == 1 {
		return before.caller, nil
	}
	secret, ok := bearerToken(authorization)
	if !ok {
		return a.authenticateByIssuer(w, r, "")
	}
	who, ok := a.callerByToken(secret)
	if !ok {
		return a.authenticateByIssuer(w, r, secret)
	}
	visitorOf(r.Context()).noteAdmitted(&credentials{a, r.Host, authorization, who})
	return who, nil
}

// StillAdmits reports whether a caller whom an earlier Admission let in would be let in by this one,
// with the same rights. No one is asked, and nothing is fetched.
func (a *Admission) StillAdmits(who Caller) bool {
	if who.Basis == "" {
		return a.open
	}
	return a.bases[who.Basis] || a.resource != nil && a.resource.Basis(who) == who.Basis
}

// CheckHost returns why a request is not for this hub, by its Host header.
func (a *Admission) CheckHost(r *http.Request) error { return a.checkHost(r, nil) }

// Whose returns whom a token admits. The error reports why it admits no one.
func (a *Admission) Whose(ctx context.Context, token string) (principal.Principal, error) {
	if token == "" || a.open {
		return principal.Principal{}, errNoToken
	}
	if who, ok := a.callerByToken(token); ok {
		return who.Principal, nil
	}
	if a.resource == nil {
		return principal.Principal{}, errNoToken
	}
	who, err := a.resource.Verify(ctx, token)
	return who.Principal, err
}

var errNoToken = errors.New("the token is of no one")

// Basis returns a digest of what a caller is admitted by: callers of other settings have others.
func Basis(settings ...any) string {
	text, err := json.Marshal(settings)
	if err != nil {
		panic(err) // they are texts and lists of them
	}
	sum := sha256.Sum256(text)
	return string(sum[:])
}

// callerByToken finds whose token it is. All are compared, each in constant time, so that the
// time taken tells nothing.
func (a *Admission) callerByToken(secret string) (who Caller, ok bool) {
	sum := sha256.Sum256([]byte(secret))
	for _, t := range a.tokens {
		if subtle.ConstantTimeCompare(sum[:], t.sum[:]) == 1 {
			who, ok = t.caller, true
		}
	}
	return who, ok
}

// authenticateByIssuer returns whose a request is by the issuers that the hub trusts.
func (a *Admission) authenticateByIssuer(w http.ResponseWriter, r *http.Request, secret string) (Caller, error) {
	if a.resource != nil {
		return a.resource.callerOf(w, r, secret)
	}
	w.Header().Set("WWW-Authenticate", `Bearer realm="mcphub"`)
	return Caller{}, &Refusal{Status: http.StatusUnauthorized, Reason: ReasonToken, Text: "a bearer token is needed that this hub knows; mcphub install CLIENT --http gives a client the one of this user"}
}

// checkHost refuses a name that the hub is not known by: a web page whose name was
// pointed at this machine (DNS rebinding) comes with that name. One that was let
// through on this connection before is known.
func (a *Admission) checkHost(r *http.Request, before *credentials) error {
	if before != nil && r.Host == before.host {
		return nil
	}
	name := hostWithoutPort(r.Host)
	if a.hosts[strings.ToLower(r.Host)] || a.hosts[name] {
		return nil
	}
	here, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	local := addrOf(here)
	addr, err := netip.ParseAddr(name)
	switch {
	case err == nil && addr.Unmap() == local:
		return nil
	case local.IsLoopback() && (name == "localhost" || err == nil && addr.Unmap().IsLoopback()):
		return nil
	}
	return fmt.Errorf("the host %q is not one that this hub serves; add it to http.hosts in hub.json if it is yours", printable.Escape(r.Host, 100))
}

var errOrigin = errors.New("the page that sent this request is not listed in http.origins of hub.json")

// checkOrigin refuses web pages that are not listed, but for the ones that the
// hub's own address served.
func (a *Admission) checkOrigin(r *http.Request) error {
	for _, origin := range r.Header.Values("Origin") {
		u, err := url.Parse(origin)
		same := err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && strings.EqualFold(u.Host, r.Host)
		if !same && !a.origins[strings.ToLower(origin)] {
			return errOrigin
		}
	}
	if len(r.Header.Values("Origin")) > 1 || a.cross.Check(r) != nil {
		return errOrigin
	}
	return nil
}

// hostWithoutPort returns the name of a Host header without its port, in lower case.
func hostWithoutPort(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.ToLower(host)
}

func addrOf(a net.Addr) netip.Addr {
	if tcp, ok := a.(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap()
	}
	return netip.Addr{}
}
