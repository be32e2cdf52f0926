package oauth

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"mcphub/internal/printable"
)

// Settings are what hub.json says of the login at one server.
type Settings struct {
	Server       string // its URL
	Name         string // what it is called in the hub
	Issuer       string // of the authorization server; "": the first that the server names
	ClientID     string // "": this program registers itself; an https address: a client id metadata document
	Document     string // the address of a client id metadata document, where ClientID is ""; "": none
	ClientSecret string // a password, or a private key in PEM; "": none
	Scopes       []string
	CallbackPort int // of the redirect of the browser; 0: any
}

// A Flow speaks to the authorization server of one server.
type Flow struct {
	set   Settings
	reach allowedHosts
	http  *http.Client
}

// New makes a Flow. It sends nothing.
func New(s Settings) (*Flow, error) {
	u, err := url.Parse(s.Server)
	if err != nil || u.Host == "" {
		return nil, errors.New("url: it is no address") // not quoted: it may hold a secret
	}
	if u.Scheme != "https" && hostOf(u.Hostname()) != loopback {
		return nil, fmt.Errorf("url: the token of a login would go over the network unencrypted; write https instead of %s", u.Scheme)
	}
	r := reachOf(s.Server, s.Issuer)
	return &Flow{set: s, reach: r, http: r.client()}, nil
}

// A Discovery is where to log in for one server.
type Discovery struct {
	Resource string   // what the token is to be for
	Scopes   []string // that the server asks for; none: it does not say
	Meta     Metadata
}

// Metadata is what an authorization server says of itself.
type Metadata struct {
	oauthex.AuthServerMeta
	DeviceEndpoint string `json:"device_authorization_endpoint"`
}

// The beginnings of well-known addresses.
const (
	wellKnownResource = "/.well-known/oauth-protected-resource"
	wellKnownServer   = "/.well-known/oauth-authorization-server"
	wellKnownOpenID   = "/.well-known/openid-configuration"
)

// A Challenge is what a server says as it refuses a request.
type Challenge struct {
	Bearer   bool     // it asks for a token
	Metadata string   // where it says more of itself; ""
	Error    string   // such as insufficient_scope; ""
	Scopes   []string // that it wants
}

// ChallengeOf reads the header WWW-Authenticate of an answer.
func ChallengeOf(h http.Header) Challenge {
	var c Challenge
	all, _ := oauthex.ParseWWWAuthenticate(h.Values("WWW-Authenticate")) // of what cannot be read nothing is known
	for _, one := range all {
		if one.Scheme != "bearer" || c.Bearer {
			continue
		}
		c = Challenge{true, one.Params["resource_metadata"], one.Params["error"], strings.Fields(one.Params["scope"])}
	}
	return c
}

// Probe asks the server without a token, and returns what it says. headers are those of
// hub.json. asked is false where it does not mind. Some servers let everybody say
// hello, and ask for a login afterwards.
func (f *Flow) Probe(ctx context.Context, headers map[string]string) (ch Challenge, asked bool, err error) {
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"mcphub","version":"1"}}`
	hello, err := f.probe(ctx, headers, nil, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"mcphub","version":"1"}}}`)
	if err != nil {
		return ch, false, fmt.Errorf("the server cannot be asked: %w", err)
	}
	resp := hello
	switch {
	case refused(hello):
	case hello.StatusCode == http.StatusOK:
		session := map[string]string{"Mcp-Session-Id": hello.Header.Get("Mcp-Session-Id"), "MCP-Protocol-Version": "2025-11-25"}
		resp, err = f.probe(ctx, headers, session, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
	default:
		modern := map[string]string{"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "server/discover"}
		resp, err = f.probe(ctx, headers, modern, `{"jsonrpc":"2.0","id":2,"method":"server/discover","params":{`+meta+`}}`)
	}
	if err != nil { // it has answered once
		return ch, false, nil
	}
	return ChallengeOf(resp.Header), refused(resp), nil
}

func refused(resp *http.Response) bool {
	return resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden
}

// probe sends one message to the server, and reads no more than the head of the answer.
func (f *Flow) probe(ctx context.Context, headers, more map[string]string, body string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, f.set.Server, strings.NewReader(body))
	if err != nil {
		return nil, errors.New("url: it is no address")
	}
	for _, all := range []map[string]string{headers, more} {
		for name, value := range all {
			if value != "" {
				req.Header.Set(name, value)
			}
		}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	resp, err := f.http.Do(req)
	if err != nil {
		return nil, bare(err)
	}
	return resp, resp.Body.Close()
}

// Discover finds out where to log in. ch is what the server said when it was asked
// without a token.
func (f *Flow) Discover(ctx context.Context, ch Challenge) (*Discovery, error) {
	resource, err := f.resource(ctx, ch.Metadata)
	if err != nil {
		return nil, err
	}
	issuer, named := "", resource != nil
	server, _ := url.Parse(f.set.Server)
	origin := (&url.URL{Scheme: server.Scheme, Host: server.Host}).String()
	switch {
	case !named: // 2025-03-26: the server is its own authorization server
		issuer = cmp.Or(f.set.Issuer, origin)
		plain := *server
		plain.RawQuery, plain.Fragment, plain.User = "", "", nil
		resource = &oauthex.ProtectedResourceMetadata{Resource: plain.String()}
	case len(resource.AuthorizationServers) == 0:
		return nil, errors.New("the server names no authorization server in its metadata")
	case f.set.Issuer == "":
		issuer = resource.AuthorizationServers[0]
	case !slices.ContainsFunc(resource.AuthorizationServers, func(s string) bool { return sameIssuer(s, f.set.Issuer) }):
		return nil, fmt.Errorf("the server's authorization server is %s, and \"auth\": {\"issuer\"} in hub.json says %s", shown(strings.Join(resource.AuthorizationServers, ", ")), shown(f.set.Issuer))
	default:
		issuer = f.set.Issuer
	}
	p := &Discovery{Resource: resource.Resource, Scopes: ch.Scopes}
	if len(p.Scopes) == 0 {
		p.Scopes = resource.ScopesSupported
	}
	meta, err := f.metadata(ctx, issuer)
	var private privateError
	switch {
	case errors.As(err, &private) && f.set.Issuer == "":
		return nil, fmt.Errorf("the authorization server %s: %w; if it is the one that you log in at, write \"auth\": {\"issuer\": %q} for this server in hub.json", shown(issuer), err, shown(issuer))
	case err != nil:
		return nil, fmt.Errorf("the authorization server %s: %w", shown(issuer), err)
	case meta == nil && named:
		return nil, fmt.Errorf("the authorization server %s tells nothing of itself: none of its well-known addresses answers", shown(issuer))
	case meta == nil: // 2025-03-26, the fixed addresses
		if ch.Bearer || f.set.Issuer != "" {
			meta = &Metadata{}
			meta.Issuer = issuer
			meta.AuthorizationEndpoint, meta.TokenEndpoint, meta.RegistrationEndpoint = issuer+"/authorize", issuer+"/token", issuer+"/register"
			meta.CodeChallengeMethodsSupported = []string{"S256"}
		} else {
			return nil, errors.New("the server does not say where to log in; it may need none, or a token under \"headers\" in hub.json")
		}
	}
	p.Meta = *meta
	return p, f.checkMetadata(meta)
}

func shown(s string) string { return printable.Escape(s, 200) }

// sameIssuer compares issuers as people write them.
func sameIssuer(a, b string) bool { return strings.TrimSuffix(a, "/") == strings.TrimSuffix(b, "/") }

// resource reads what the server says of itself; nil where it says nothing.
func (f *Flow) resource(ctx context.Context, named string) (*oauthex.ProtectedResourceMetadata, error) {
	server, _ := url.Parse(f.set.Server)
	root := url.URL{Scheme: server.Scheme, Host: server.Host}
	var places []string
	if named != "" {
		places = []string{named}
	} else {
		at := root
		if at.Path = wellKnownResource + strings.TrimSuffix(server.Path, "/"); at.Path != wellKnownResource {
			places = append(places, at.String())
		}
		at.Path = wellKnownResource
		places = append(places, at.String())
	}
	for _, at := range places {
		var m oauthex.ProtectedResourceMetadata
		found, err := f.get(ctx, at, &m)
		if err != nil {
			return nil, fmt.Errorf("the metadata of the server, %s: %w", shown(at), err)
		}
		if !found {
			continue
		}
		if !covers(m.Resource, server) {
			return nil, fmt.Errorf("the metadata of the server, %s, is that of another one, %s: a token for that is not sent to this server", shown(at), shown(m.Resource))
		}
		return &m, nil
	}
	if named != "" {
		return nil, fmt.Errorf("the metadata of the server, %s, is not there", shown(named))
	}
	return nil, nil
}

// covers reports whether a resource is the server, or a folder on the same host that
// it lies in.
func covers(resource string, server *url.URL) bool {
	r, err := url.Parse(resource)
	if err != nil || r.Fragment != "" || r.User != nil || r.Scheme != server.Scheme || !strings.EqualFold(hostPort(r), hostPort(server)) {
		return false
	}
	if r.RawQuery != "" {
		return r.RawQuery == server.RawQuery && r.EscapedPath() == server.EscapedPath()
	}
	folder := strings.TrimSuffix(r.EscapedPath(), "/") + "/"
	return strings.HasPrefix(strings.TrimSuffix(server.EscapedPath(), "/")+"/", folder)
}

func hostPort(u *url.URL) string { return u.Hostname() + ":" + portOf(u) }

func portOf(u *url.URL) string {
	return cmp.Or(u.Port(), map[string]string{"https": "443", "http": "80"}[u.Scheme])
}

// MetadataAddresses are the places of an authorization server's metadata, in the order
// of the MCP specification (authorization, Authorization Server Metadata Discovery).
func MetadataAddresses(issuer *url.URL) []string {
	path := strings.TrimSuffix(issuer.EscapedPath(), "/")
	root := (&url.URL{Scheme: issuer.Scheme, User: issuer.User, Host: issuer.Host}).String()
	places := []string{root + wellKnownServer + path, root + wellKnownOpenID + path}
	if path != "" {
		places = append(places, root+path+wellKnownOpenID)
	}
	return places
}

// metadata reads what an authorization server says of itself; nil where it says
// nothing.
func (f *Flow) metadata(ctx context.Context, issuer string) (*Metadata, error) {
	u, err := url.Parse(issuer)
	if err != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("it is no address of an issuer")
	}
	for _, at := range MetadataAddresses(u) {
		var m Metadata
		found, err := f.get(ctx, at, &m)
		if err != nil {
			return nil, err
		}
		if !found {
			continue
		}
		if !sameIssuer(m.Issuer, issuer) {
			return nil, fmt.Errorf("%s says that it is %s, another one", shown(at), shown(m.Issuer))
		}
		return &m, nil
	}
	return nil, nil
}

// checkMetadata looks at all addresses that will be spoken to, or opened in a browser.
func (f *Flow) checkMetadata(m *Metadata) error {
	if m.TokenEndpoint == "" {
		return fmt.Errorf("the authorization server %s names no address for tokens", shown(m.Issuer))
	}
	for _, at := range [...]struct{ name, address string }{
		{"authorization_endpoint", m.AuthorizationEndpoint}, {"token_endpoint", m.TokenEndpoint}, {"registration_endpoint", m.RegistrationEndpoint},
		{"revocation_endpoint", m.RevocationEndpoint}, {"device_authorization_endpoint", m.DeviceEndpoint},
	} {
		if at.address == "" {
			continue
		}
		if err := f.reach.checkText(at.address); err != nil {
			return fmt.Errorf("the authorization server %s: %s: %w", shown(m.Issuer), at.name, err)
		}
	}
	return nil
}

// get reads a JSON document. found is false where there is none.
func (f *Flow) get(ctx context.Context, at string, into any) (found bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, http.NoBody)
	if err != nil {
		return false, errors.New("it is no address")
	}
	req.Header.Set("Accept", "application/json")
	resp, err := f.http.Do(req)
	if err != nil {
		return false, bare(err)
	}
	defer func() { _ = resp.Body.Close() }()
	switch {
	case resp.StatusCode >= 400 && resp.StatusCode < 500:
		return false, nil
	case resp.StatusCode != http.StatusOK:
		return false, fmt.Errorf("it answers with HTTP status %d", resp.StatusCode)
	}
	// A page for people stands at many a well-known address.
	return json.NewDecoder(resp.Body).Decode(into) == nil, nil
}

// bare leaves out the address that net/http puts before an error.
func bare(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}
