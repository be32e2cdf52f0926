package oauth

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"golang.org/x/oauth2"
)

// A Request says how a person is to log in.
type Request struct {
	Earlier *Registration // what this program was at the same issuer before; nil
	Scopes  []string      // beside those that hub.json or the server asks for
	Port    int           // of the redirect, where hub.json has none; 0: any
}

const callbackPath = "/callback"

// Browser has a person log in by a browser on this machine. open is given the address
// to be opened, once.
func (f *Flow) Browser(ctx context.Context, p *Discovery, r Request, open func(address string) error) (*TokenSet, error) {
	if !slices.Contains(p.Meta.CodeChallengeMethodsSupported, "S256") {
		return nil, fmt.Errorf("the authorization server %s has no PKCE with S256, without which a code could be stolen on its way", shown(p.Meta.Issuer))
	}
	if p.Meta.AuthorizationEndpoint == "" {
		return nil, fmt.Errorf("the authorization server %s has no page for people", shown(p.Meta.Issuer))
	}
	at, err := listen(ctx, f.set.CallbackPort, r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = at.Close() }()
	redirect := "http://" + at.Addr().String() + callbackPath
	id, err := f.identity(ctx, p, redirect, r.Earlier, "authorization_code")
	if err != nil {
		return nil, err
	}
	state, verifier := rand.Text(), oauth2.GenerateVerifier()
	scopes := offline(p, f.scopes(p, r.Scopes))
	conf := &oauth2.Config{ClientID: id.ID, Endpoint: oauth2.Endpoint{AuthURL: p.Meta.AuthorizationEndpoint}, RedirectURL: redirect, Scopes: scopes}
	params := []oauth2.AuthCodeOption{oauth2.S256ChallengeOption(verifier), oauth2.SetAuthURLParam("resource", p.Resource)}
	if slices.Contains(scopes, offlineAccess) { // OpenID Connect Core, 11: without it the scope is passed over
		params = append(params, oauth2.SetAuthURLParam("prompt", "consent"))
	}
	address := conf.AuthCodeURL(state, params...)
	answers := make(chan url.Values, 1)
	web := &http.Server{Handler: callback(state, answers), ReadHeaderTimeout: requestTime, ErrorLog: nil}
	served := make(chan error, 1)
	go func() { served <- web.Serve(at) }()
	defer func() {
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		if web.Shutdown(late) != nil { // the browser gets its page
			_ = web.Close()
		}
		<-served
	}()
	if err := open(address); err != nil {
		return nil, err
	}
	var answer url.Values
	select {
	case answer = <-answers:
	case <-ctx.Done():
		return nil, fmt.Errorf("nobody has logged in: %w", context.Cause(ctx))
	}
	code, err := codeOf(answer, &p.Meta)
	if err != nil {
		return nil, err
	}
	g := newTokenSet(p, id)
	g.Scopes = scopes // unless the answer says others
	return f.ask(ctx, g, nil, "authorization_code", url.Values{"code": {code}, "redirect_uri": {redirect}, "code_verifier": {verifier}})
}

// listen takes the port of the redirect: that of hub.json, that of the registration
// that may be used again, or any.
func listen(ctx context.Context, fixed int, r Request) (net.Listener, error) {
	var lc net.ListenConfig
	on := func(port int) (net.Listener, error) {
		return lc.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	}
	if port := cmp.Or(r.Port, fixed); port != 0 {
		l, err := on(port)
		if err != nil {
			return nil, fmt.Errorf("port %d, to which the browser is to come back, cannot be listened on: %w", port, bareOp(err))
		}
		return l, nil
	}
	if r.Earlier != nil {
		if u, err := url.Parse(r.Earlier.Redirect); err == nil && u.Hostname() == "127.0.0.1" {
			if port, err := strconv.Atoi(u.Port()); err == nil {
				if l, err := on(port); err == nil {
					return l, nil
				}
			}
		}
	}
	return on(0)
}

func bareOp(err error) error {
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return op.Err
	}
	return err
}

// callback takes the answer that the browser brings. What does not know state did not
// come from the page that was opened, and is passed over.
func callback(state string, answers chan<- url.Values) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+callbackPath, func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		h := w.Header()
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set("Cache-Control", "no-store")
		h.Set("Content-Security-Policy", "default-src 'none'")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("X-Content-Type-Options", "nosniff")
		if subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(state)) != 1 {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, "<!doctype html><title>mcphub</title><p>This is not the login that mcphub waits for.\n")
			return
		}
		select {
		case answers <- q:
		default: // the first one counts
		}
		text := "mcphub has the answer. You can close this page; the terminal says how it went."
		if q.Get("error") != "" {
			text = "The login was refused. You can close this page."
		}
		_, _ = io.WriteString(w, "<!doctype html><title>mcphub</title><p>"+text+"\n")
	})
	return mux
}

// codeOf reads the answer that the browser brought (RFC 9207: of the issuer that was
// asked, and of no other).
func codeOf(q url.Values, m *Metadata) (string, error) {
	iss := q.Get("iss")
	switch {
	case q.Has("iss") && iss != m.Issuer:
		return "", fmt.Errorf("the answer comes from another authorization server, %s, than was asked, %s; nothing was sent to it", shown(iss), shown(m.Issuer))
	case !q.Has("iss") && m.AuthorizationResponseIssParameterSupported:
		return "", fmt.Errorf("the answer does not say that it comes from %s, as it should (iss)", shown(m.Issuer))
	case q.Get("error") != "":
		return "", fmt.Errorf("the login was refused: %w", serverError(q.Get("error"), q.Get("error_description")))
	case q.Get("code") == "":
		return "", errors.New("the answer holds no code")
	}
	return q.Get("code"), nil
}

// A DevicePrompt is what a person needs to log in on another device.
type DevicePrompt struct {
	Address string // of the page to open
	Full    string // the same with the code in it; ""
	Code    string
}

// Device has a person log in on any device (RFC 8628). show is told what the person
// needs.
func (f *Flow) Device(ctx context.Context, p *Discovery, r Request, show func(DevicePrompt)) (*TokenSet, error) {
	if p.Meta.DeviceEndpoint == "" {
		return nil, fmt.Errorf("the authorization server %s has no logins by code on another device", shown(p.Meta.Issuer))
	}
	id, err := f.identity(ctx, p, "http://127.0.0.1"+callbackPath, r.Earlier, "urn:ietf:params:oauth:grant-type:device_code", "authorization_code")
	if err != nil {
		return nil, err
	}
	proof, err := f.proofOf(id, p.Meta.Issuer)
	if err != nil {
		return nil, err
	}
	scopes := offline(p, f.scopes(p, r.Scopes))
	conf := &oauth2.Config{ClientID: proof.id, ClientSecret: proof.secret, Scopes: scopes, Endpoint: oauth2.Endpoint{DeviceAuthURL: p.Meta.DeviceEndpoint, TokenURL: p.Meta.TokenEndpoint, AuthStyle: proof.style}}
	ctx = context.WithValue(ctx, oauth2.HTTPClient, f.http)
	opts := []oauth2.AuthCodeOption{oauth2.SetAuthURLParam("resource", p.Resource)}
	for name, value := range proof.params {
		opts = append(opts, oauth2.SetAuthURLParam(name, value[0]))
	}
	if proof.secret != "" && proof.style == oauth2.AuthStyleInParams {
		opts = append(opts, oauth2.SetAuthURLParam("client_secret", proof.secret))
	}
	asked, err := conf.DeviceAuth(ctx, opts...)
	if err != nil {
		return nil, sanitizeError(err)
	}
	for _, at := range []string{asked.VerificationURI, asked.VerificationURIComplete} {
		if err := f.reach.checkText(at); err != nil && at != "" {
			return nil, fmt.Errorf("the page for the code: %w", err)
		}
	}
	if asked.UserCode == "" || asked.VerificationURI == "" || asked.DeviceCode == "" {
		return nil, errors.New("the authorization server gave no code")
	}
	show(DevicePrompt{asked.VerificationURI, asked.VerificationURIComplete, shown(asked.UserCode)})
	token, err := conf.DeviceAccessToken(ctx, asked, opts...)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, errors.New("nobody has entered the code in time")
	}
	if err != nil {
		return nil, sanitizeError(err, asked.DeviceCode, proof.secret)
	}
	return newTokenSet(p, id).with(token, scopes)
}
