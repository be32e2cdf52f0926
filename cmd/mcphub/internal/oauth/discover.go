package oauth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"mcphub/internal/lazyregexp"
	"mcphub/internal/printable"
	"mcphub/internal/trust"
)

// Settings are what hub.json says about the login at one server.
type Settings struct {
	Server       string // its URL
	Name         string // what it is called in the hub
	Issuer       string // of the authorization server; "": the first that the server names
	ClientID     string // "": this program registers itself; an https address: a client id metadata document
	Document     string // the address of a client id metadata document, where ClientID is ""; "": none
	ClientSecret string // a password, or a private key in PEM; "": none
	Scopes       []string
	Redirect     string         // of the browser, without its port: http, and 127.0.0.1 or localhost; "": http://127.0.0.1/callback
	CallbackPort int            // of the redirect; 0: any
	TLS          trust.Settings // of connections to Server; its authority counts for all

	SubjectIssuer string // the issuer of the token that is to be exchanged, whose address hub.json names too; "": none is
}

// A Flow speaks to the authorization server of one server.
type Flow struct {
	set   Settings
	back  *url.URL // the redirect, without its port
	reach allowedHosts
	http  *http.Client
	token *http.Client // for what golang.org/x/oauth2 asks
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
	back, err := url.Parse(cmp.Or(s.Redirect, "http://127.0.0.1/callback"))
	if err != nil || back.Scheme != "http" || back.Host != "127.0.0.1" && back.Host != loopback || back.User != nil || back.RawQuery != "" || back.Fragment != "" {
		return nil, fmt.Errorf("the redirect %s does not come back to this machine, by 127.0.0.1 or localhost", showText(s.Redirect))
	}
	r := reachOf(s.Server, s.Issuer, s.SubjectIssuer)
	plain, err := r.makeClient(u, s.TLS)
	if err != nil {
		return nil, fmt.Errorf("tls: %w", err)
	}
	token := *plain
	token.Transport = jsonTransport{plain.Transport}
	return &Flow{set: s, back: back, reach: r, http: plain, token: &token}, nil
}

// A Discovery is where to log in for one server.
type Discovery struct {
	Resource string   // what the token is to be for
	Scopes   []string // that the server asks for; none: it does not say
	Meta     Metadata
}

// Metadata is what an authorization server says about itself, as far as it is of use here: a fault in another member does
// no harm.
type Metadata struct {
	Issuer                            string   `json:"issuer"`
	AuthorizationEndpoint             string   `json:"authorization_endpoint"`
	TokenEndpoint                     string   `json:"token_endpoint"`
	RegistrationEndpoint              string   `json:"registration_endpoint"`
	RevocationEndpoint                string   `json:"revocation_endpoint"`
	DeviceEndpoint                    string   `json:"device_authorization_endpoint"`
	ScopesSupported                   []string `json:"scopes_supported"`
	TokenEndpointAuthMethodsSupported []string `json:"token_endpoint_auth_methods_supported"`
	CodeChallengeMethodsSupported     []string `json:"code_challenge_methods_supported"` // nil: it does not say
	ClientIDMetadataDocumentSupported bool     `json:"client_id_metadata_document_supported"`
	// AuthorizationResponseIssParameterSupported promises that the browser brings iss (RFC 9207).
	AuthorizationResponseIssParameterSupported bool `json:"authorization_response_iss_parameter_supported"`
}

// resourceMetadata is what a server says about itself (RFC 9728), likewise.
type resourceMetadata struct {
	Resource             string   `json:"resource"`
	AuthorizationServers []string `json:"authorization_servers"`
	ScopesSupported      []string `json:"scopes_supported"`
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
	for _, text := range h.Values("WWW-Authenticate") {
		all, err := oauthex.ParseWWWAuthenticate([]string{text})
		if err != nil {
			all = []oauthex.Challenge{looseChallenge(text)}
		}
		for _, one := range all {
			if one.Scheme == "bearer" && !c.Bearer {
				c = Challenge{true, one.Params["resource_metadata"], one.Params["error"], strings.Fields(one.Params["scope"])}
			}
		}
	}
	return c
}

// parameter is one of a challenge, its value in quotes or not.
var parameter = lazyregexp.New(`[\s,](resource_metadata|error|scope)=(?:"([^"]*)"|([^\s,"]+))`)

// looseChallenge reads a challenge that is not written as it should be, with an empty value or without a comma: official
// clients look for the parameters alone.
func looseChallenge(text string) oauthex.Challenge {
	scheme, _, _ := strings.Cut(strings.TrimSpace(text), " ")
	c := oauthex.Challenge{Scheme: strings.ToLower(scheme), Params: map[string]string{}}
	for _, found := range parameter.FindAllStringSubmatch(text, -1) {
		c.Params[found[1]] = found[2] + found[3]
	}
	return c
}

// Probe asks the server without a token, and returns what it says. headers are the
// headers of hub.json. asked is false if it does not mind. Some servers let everybody
// say hello, and ask for a login afterwards.
func (f *Flow) Probe(ctx context.Context, headers map[string]string) (ch Challenge, asked bool, err error) {
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"mcphub","version":"1"}}`
	hello, err := f.sendProbe(ctx, headers, nil, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"mcphub","version":"1"}}}`)
	if err != nil {
		return ch, false, fmt.Errorf("the server cannot be asked: %w", err)
	}
	resp := hello
	switch {
	case isRefused(hello):
	case hello.StatusCode == http.StatusOK:
		session := map[string]string{"Mcp-Session-Id": hello.Header.Get("Mcp-Session-Id"), "MCP-Protocol-Version": "2025-11-25"}
		resp, err = f.sendProbe(ctx, headers, session, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
	default:
		modern := map[string]string{"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "server/discover"}
		resp, err = f.sendProbe(ctx, headers, modern, `{"jsonrpc":"2.0","id":2,"method":"server/discover","params":{`+meta+`}}`)
	}
	if err != nil { // it has answered once
		return ch, false, nil
	}
	return ChallengeOf(resp.Header), isRefused(resp), nil
}

func isRefused(resp *http.Response) bool {
	return resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden
}

// sendProbe sends one message to the server, and reads no more than the head of the answer.
func (f *Flow) sendProbe(ctx context.Context, headers, more map[string]string, body string) (*http.Response, error) {
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
		return nil, stripAddress(err)
	}
	return resp, resp.Body.Close()
}

// Discover finds out where to log in. ch is what the server said when it was asked
// without a token.
func (f *Flow) Discover(ctx context.Context, ch Challenge) (*Discovery, error) {
	resource, why, err := f.readResource(ctx, ch.Metadata)
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
		resource = &resourceMetadata{Resource: plain.String()}
	case len(resource.AuthorizationServers) == 0: // it may be its own one then too, and has to say so
		issuer = cmp.Or(f.set.Issuer, origin)
	case f.set.Issuer == "":
		issuer = resource.AuthorizationServers[0]
	case !slices.ContainsFunc(resource.AuthorizationServers, func(s string) bool { return sameIssuer(s, f.set.Issuer) }):
		return nil, fmt.Errorf("the server's authorization server is %s, and \"auth\": {\"issuer\"} in hub.json says %s", showText(strings.Join(resource.AuthorizationServers, ", ")), showText(f.set.Issuer))
	default:
		issuer = f.set.Issuer
	}
	p := &Discovery{Resource: resource.Resource, Scopes: ch.Scopes}
	if len(p.Scopes) == 0 {
		p.Scopes = resource.ScopesSupported
	}
	meta, err := f.readMetadata(ctx, issuer)
	var private privateError
	var other *issuerError
	switch {
	case errors.As(err, &private) && f.set.Issuer == "":
		return nil, fmt.Errorf("the authorization server %s: %w; if it is the one that you log in at, write \"auth\": {\"issuer\": %q} for this server in hub.json", showText(issuer), err, showText(issuer))
	case errors.As(err, &other) && !named && f.set.Issuer == "":
		return nil, fmt.Errorf("the server: %w; if that is the one that you log in at, write \"auth\": {\"issuer\": %q} for this server in hub.json", err, showText(other.issuer))
	case err != nil:
		return nil, fmt.Errorf("the authorization server %s: %w", showText(issuer), err)
	case meta == nil && named:
		return nil, fmt.Errorf("the authorization server %s tells nothing of itself: none of its well-known addresses answers with metadata", showText(issuer))
	case meta == nil && (ch.Metadata != "" || !ch.Bearer && f.set.Issuer == ""):
		return nil, fmt.Errorf("the server does not say where to log in: %w; it may need none, or a token under \"headers\" in hub.json", why)
	case meta == nil: // 2025-03-26, the fixed addresses
		meta = &Metadata{Issuer: issuer, AuthorizationEndpoint: issuer + "/authorize", TokenEndpoint: issuer + "/token", RegistrationEndpoint: issuer + "/register"}
	}
	p.Meta = *meta
	return p, f.checkMetadata(meta)
}

// DiscoverIssuer returns where a person logs in for the server of the Settings at their Issuer. It asks the Issuer alone.
func (f *Flow) DiscoverIssuer(ctx context.Context) (*Discovery, error) {
	meta, err := f.readMetadata(ctx, f.set.Issuer)
	if err == nil && meta == nil {
		err = errors.New("none of its well-known addresses answers with metadata")
	}
	if err == nil {
		err = f.checkMetadata(meta)
	}
	if err != nil {
		return nil, fmt.Errorf("the authorization server %s: %w", showText(f.set.Issuer), err)
	}
	return &Discovery{Resource: f.set.Server, Meta: *meta}, nil
}

func showText(s string) string { return printable.Escape(s, 200) }

// sameIssuer compares issuers as people write them.
func sameIssuer(a, b string) bool { return strings.TrimSuffix(a, "/") == strings.TrimSuffix(b, "/") }

// readResource reads the metadata of the server. m is nil if it has none, and why is the reason then. named is the address that its
// challenge names for them, or "". Official clients look at the well-known places if that is no address or if nothing is there,
// so this does too. These places are on the host of the server.
func (f *Flow) readResource(ctx context.Context, named string) (m *resourceMetadata, why, err error) {
	server, _ := url.Parse(f.set.Server)
	root := url.URL{Scheme: server.Scheme, Host: server.Host}
	var places []string
	switch at, err := url.Parse(named); {
	case named == "" || err != nil:
	case at.IsAbs():
		places = append(places, named)
	case at.Host == "":
		at = server.ResolveReference(at)
		at.User = nil
		places = append(places, at.String())
	}
	at := root
	if at.Path = wellKnownResource + strings.TrimSuffix(server.Path, "/"); at.Path != wellKnownResource {
		places = append(places, at.String())
	}
	at.Path = wellKnownResource
	for _, at := range append(places, at.String()) {
		var m resourceMetadata
		switch err := f.getJSON(ctx, at, &m); {
		case errors.As(err, new(*absentError)):
			why = cmp.Or(why, err)
		case err == nil && m.Resource == "":
			why = cmp.Or[error](why, &absentError{at, http.StatusOK, "has no \"resource\""})
		case err != nil:
			return nil, nil, fmt.Errorf("the metadata of the server, %s: %w", showText(at), err)
		case !coversServer(m.Resource, server):
			return nil, nil, fmt.Errorf("the metadata of the server, %s, is that of another one: a token for its \"resource\", %s, is not sent to %s", showText(at), showText(m.Resource), root.String())
		default:
			return &m, nil, nil
		}
	}
	return nil, why, nil
}

// coversServer reports whether a resource is the server, or a folder on the same host that
// it lies in.
func coversServer(resource string, server *url.URL) bool {
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

// MetadataAddresses returns the places of an authorization server's metadata, in the
// order of the MCP specification (authorization, Authorization Server Metadata
// Discovery).
func MetadataAddresses(issuer *url.URL) []string {
	path := strings.TrimSuffix(issuer.EscapedPath(), "/")
	root := (&url.URL{Scheme: issuer.Scheme, User: issuer.User, Host: issuer.Host}).String()
	places := []string{root + wellKnownServer + path, root + wellKnownOpenID + path}
	if path != "" {
		places = append(places, root+path+wellKnownOpenID)
	}
	return places
}

// readMetadata reads what an authorization server says about itself; nil if it says
// nothing.
func (f *Flow) readMetadata(ctx context.Context, issuer string) (*Metadata, error) {
	u, err := url.Parse(issuer)
	if err != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("it is no address of an issuer")
	}
	for _, at := range MetadataAddresses(u) {
		var m Metadata
		err := f.getJSON(ctx, at, &m)
		if absent, ok := errors.AsType[*absentError](err); ok && absent.status < http.StatusInternalServerError {
			continue
		}
		if err != nil {
			return nil, err
		}
		if !sameIssuer(m.Issuer, issuer) {
			return nil, &issuerError{at, m.Issuer}
		}
		return &m, nil
	}
	return nil, nil
}

// An issuerError is the error of metadata that are those of another authorization server.
type issuerError struct{ at, issuer string }

func (e *issuerError) Error() string {
	return fmt.Sprintf("%s says that it is another one: its \"issuer\" is %s", showText(e.at), showText(e.issuer))
}

// checkMetadata looks at all addresses that will be spoken to, or opened in a browser.
func (f *Flow) checkMetadata(m *Metadata) error {
	if m.TokenEndpoint == "" {
		return fmt.Errorf("the authorization server %s names no address for tokens: its metadata have no \"token_endpoint\"", showText(m.Issuer))
	}
	for _, at := range [...]struct{ name, address string }{
		{"authorization_endpoint", m.AuthorizationEndpoint}, {"token_endpoint", m.TokenEndpoint}, {"registration_endpoint", m.RegistrationEndpoint},
		{"revocation_endpoint", m.RevocationEndpoint}, {"device_authorization_endpoint", m.DeviceEndpoint},
	} {
		if at.address == "" {
			continue
		}
		if err := f.reach.checkText(at.address); err != nil {
			return fmt.Errorf("the authorization server %s: %s: %w", showText(m.Issuer), at.name, err)
		}
	}
	return nil
}

// An absentError is the error of an address that answers, and not with the document that should be there.
type absentError struct {
	at     string
	status int    // of HTTP
	why    string // it is none
}

func (e *absentError) Error() string { return showText(e.at) + " " + e.why }

// getJSON reads a JSON document. The error is an absentError if there is none.
func (f *Flow) getJSON(ctx context.Context, at string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, http.NoBody)
	if err != nil {
		return errors.New("it is no address")
	}
	req.Header.Set("Accept", "application/json")
	resp, err := f.http.Do(req)
	if err != nil {
		return stripAddress(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return &absentError{at, resp.StatusCode, fmt.Sprintf("answers with HTTP status %d", resp.StatusCode)}
	}
	if why, err := decodeObject(resp.Body, into); err != nil {
		return err
	} else if why != "" { // a page for people stands at many a well-known address
		return &absentError{at, resp.StatusCode, why}
	}
	return nil
}

// stripAddress leaves out the address that net/http puts before an error.
func stripAddress(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}
