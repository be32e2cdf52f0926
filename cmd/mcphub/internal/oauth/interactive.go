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
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"
)

// A Request describes how a person is to log in.
type Request struct {
	Earlier *Registration // what this program was at the same issuer before; nil
	Scopes  []string      // beside the ones that hub.json or the server asks for
	Port    int           // of the redirect, where hub.json has none; 0: any
	Return  *Return       // where the browser comes back; nil: to a port of this machine
	Brief   bool          // no token for renewal is asked for
	// Registered is given what this program is to the authorization server, once a login by a browser has begun; nil: no one is.
	Registered func(*Registration)
}

// A Return is an address at which a browser comes back with the answer of an authorization server.
type Return struct {
	Address string // the redirect
	// Expect begins to wait for the answer to the request of a state. stop ends that.
	Expect func(state string) (answers <-chan url.Values, stop func())
	advice string // if no browser comes back
}

// Browser has a person log in by a browser: on this machine, if the Request names no Return. open is given the address
// to be opened, once.
func (f *Flow) Browser(ctx context.Context, p *Discovery, r Request, open func(address string) error) (*TokenSet, error) {
	if err := checkPages(p); err != nil {
		return nil, err
	}
	back := r.Return
	if back == nil {
		all, err := f.listenForRedirect(ctx, r)
		if err != nil {
			return nil, err
		}
		defer closeAll(all)
		back = f.loopbackReturn(ctx, all)
	}
	attempt, err := f.Begin(ctx, p, r, back.Address)
	if err != nil {
		return nil, err
	}
	answers, stop := back.Expect(attempt.State)
	defer stop()
	if err := open(attempt.Address); err != nil {
		return nil, err
	}
	select {
	case answer := <-answers:
		return attempt.Finish(ctx, answer)
	case <-ctx.Done():
		return nil, fmt.Errorf("nobody has logged in: the browser did not come back to %s (%w); if the page said that it does not know this redirect_uri, register it for the client there%s", back.Address, context.Cause(ctx), back.advice)
	}
}

// checkPages returns why no browser can be sent to an authorization server.
func checkPages(p *Discovery) error {
	// Many authorization servers know S256 and do not list it; official clients send it to those too. One that lists other ways
	// only would have the verifier itself go through the browser.
	if known := p.Meta.CodeChallengeMethodsSupported; known != nil && !slices.Contains(known, "S256") {
		return fmt.Errorf("the authorization server %s has no PKCE with S256, without which a code could be stolen on its way: its \"code_challenge_methods_supported\" lists %q; it has to list S256", showText(p.Meta.Issuer), showText(strings.Join(known, " ")))
	}
	if p.Meta.AuthorizationEndpoint == "" {
		return fmt.Errorf("the authorization server %s has no page for people: its metadata have no \"authorization_endpoint\"", showText(p.Meta.Issuer))
	}
	return nil
}

// An Attempt is a login by a browser that has begun.
type Attempt struct {
	Address string // of the page to be opened
	State   string // that the answer has to have

	flow               *Flow
	at                 *Discovery
	identity           *Registration
	scopes             []string
	redirect, verifier string
}

// Begin begins a login by a browser that comes back to a redirect.
func (f *Flow) Begin(ctx context.Context, p *Discovery, r Request, redirect string) (*Attempt, error) {
	if err := checkPages(p); err != nil {
		return nil, err
	}
	id, err := f.chooseIdentity(ctx, p, redirect, r.Earlier, "authorization_code")
	if err != nil {
		return nil, err
	}
	a := &Attempt{State: rand.Text(), flow: f, at: p, identity: id, scopes: f.scopesToAsk(p, r.Scopes), redirect: redirect, verifier: oauth2.GenerateVerifier()}
	if r.Registered != nil {
		r.Registered(id)
	}
	if !r.Brief {
		a.scopes = addOffline(p, a.scopes)
	}
	conf := &oauth2.Config{ClientID: id.ID, Endpoint: oauth2.Endpoint{AuthURL: p.Meta.AuthorizationEndpoint}, RedirectURL: redirect, Scopes: a.scopes}
	params := []oauth2.AuthCodeOption{oauth2.S256ChallengeOption(a.verifier), oauth2.SetAuthURLParam("resource", p.Resource)}
	if slices.Contains(a.scopes, offlineAccess) { // OpenID Connect Core, 11: without it the scope is passed over
		params = append(params, oauth2.SetAuthURLParam("prompt", "consent"))
	}
	a.Address = conf.AuthCodeURL(a.State, params...)
	return a, nil
}

// Finish takes the answer that the browser has brought, whose state the caller has compared, and returns the tokens.
func (a *Attempt) Finish(ctx context.Context, answer url.Values) (*TokenSet, error) {
	code, err := codeOf(answer, &a.at.Meta)
	if err != nil {
		return nil, err
	}
	g := newTokenSet(a.at, a.identity)
	g.Scopes = a.scopes // unless the answer says others
	return a.flow.askForToken(ctx, g, nil, "authorization_code", url.Values{"code": {code}, "redirect_uri": {a.redirect}, "code_verifier": {a.verifier}})
}

// loopbackReturn returns the Return of listeners on this machine.
func (f *Flow) loopbackReturn(ctx context.Context, all []net.Listener) *Return {
	_, port, _ := net.SplitHostPort(all[0].Addr().String())
	return &Return{
		Address: f.redirectAddress(port),
		advice:  ", or write the registered one under \"auth\" of the server in hub.json, as \"redirectHost\", \"callbackPort\" and \"redirectPath\"",
		Expect: func(state string) (<-chan url.Values, func()) {
			answers := make(chan url.Values, 1)
			web := &http.Server{Handler: callbackHandler(cmp.Or(f.back.Path, "/"), state, answers), ReadHeaderTimeout: requestTime, ErrorLog: nil}
			var served sync.WaitGroup
			for _, at := range all {
				served.Go(func() { _ = web.Serve(at) })
			}
			return answers, func() {
				late, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
				defer cancel()
				if web.Shutdown(late) != nil { // the browser gets its page
					_ = web.Close()
				}
				served.Wait()
			}
		},
	}
}

// redirectAddress returns the address at which the browser is to come back, on a port of this machine; "": the port is not known yet.
func (f *Flow) redirectAddress(port string) string {
	back := *f.back
	if port != "" {
		back.Host += ":" + port
	}
	return back.String()
}

// listenForRedirect takes the port of the redirect: hub.json's, that of the registration that may be used again, or any.
func (f *Flow) listenForRedirect(ctx context.Context, r Request) ([]net.Listener, error) {
	addresses := []string{"127.0.0.1"}
	if f.back.Host == loopback && hasAddress(ctx, "::1") {
		addresses = append(addresses, "::1") // the browser may take either
	}
	if port := cmp.Or(r.Port, f.set.CallbackPort); port != 0 {
		all, err := listenAt(ctx, addresses, port)
		if err != nil {
			return nil, fmt.Errorf("the browser is to come back to %s, and that cannot be listened on: %w", f.redirectAddress(strconv.Itoa(port)), bareOp(err))
		}
		return all, nil
	}
	if r.Earlier != nil {
		if u, err := url.Parse(r.Earlier.Redirect); err == nil && u.Hostname() == f.back.Host {
			if port, err := strconv.Atoi(u.Port()); err == nil {
				if all, err := listenAt(ctx, addresses, port); err == nil {
					return all, nil
				}
			}
		}
	}
	var all []net.Listener
	var err error
	for range 10 { // a port that is free at one address may be taken at the other
		if all, err = listenAt(ctx, addresses, 0); err == nil {
			break
		}
	}
	return all, err
}

// hasAddress reports whether this machine has an address.
func hasAddress(ctx context.Context, address string) bool {
	all, err := listenAt(ctx, []string{address}, 0)
	closeAll(all)
	return err == nil
}

// listenAt takes a port at all of the addresses. 0 is any. If another program listens at one of them, it fails: the browser
// could bring that program the code.
func listenAt(ctx context.Context, addresses []string, port int) ([]net.Listener, error) {
	var lc net.ListenConfig
	var all []net.Listener
	for _, address := range addresses {
		l, err := lc.Listen(ctx, "tcp", net.JoinHostPort(address, strconv.Itoa(port)))
		if err != nil {
			closeAll(all)
			return nil, err
		}
		all = append(all, l)
		if at, ok := l.Addr().(*net.TCPAddr); ok {
			port = at.Port
		}
	}
	return all, nil
}

func closeAll(all []net.Listener) {
	for _, l := range all {
		_ = l.Close()
	}
}

func bareOp(err error) error {
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return op.Err
	}
	return err
}

// callbackHandler takes the answer that the browser brings. What does not know state did not
// come from the page that was opened, and is passed over.
func callbackHandler(path, state string, answers chan<- url.Values) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.URL.Path != path {
			http.NotFound(w, r)
			return
		}
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
}

// codeOf reads the answer that the browser brought (RFC 9207: of the issuer that was
// asked, and of no other).
func codeOf(q url.Values, m *Metadata) (string, error) {
	iss := q.Get("iss")
	switch {
	case q.Has("iss") && iss != m.Issuer:
		return "", fmt.Errorf("the answer comes from another authorization server, %s, than was asked, %s; nothing was sent to it", showText(iss), showText(m.Issuer))
	case !q.Has("iss") && m.AuthorizationResponseIssParameterSupported:
		return "", fmt.Errorf("the answer does not say that it comes from %s, as it should (iss)", showText(m.Issuer))
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

// Device has a person log in on any device (RFC 8628). show learns what the person
// needs.
func (f *Flow) Device(ctx context.Context, p *Discovery, r Request, show func(DevicePrompt)) (*TokenSet, error) {
	if p.Meta.DeviceEndpoint == "" {
		return nil, fmt.Errorf("the authorization server %s has no logins by code on another device", showText(p.Meta.Issuer))
	}
	id, err := f.chooseIdentity(ctx, p, f.redirectAddress(""), r.Earlier, "urn:ietf:params:oauth:grant-type:device_code", "authorization_code")
	if err != nil {
		return nil, err
	}
	proof, err := f.proofOf(id, p.Meta.Issuer)
	if err != nil {
		return nil, err
	}
	scopes := addOffline(p, f.scopesToAsk(p, r.Scopes))
	conf := &oauth2.Config{ClientID: proof.id, ClientSecret: proof.secret, Scopes: scopes, Endpoint: oauth2.Endpoint{DeviceAuthURL: p.Meta.DeviceEndpoint, TokenURL: p.Meta.TokenEndpoint, AuthStyle: proof.style}}
	ctx = context.WithValue(ctx, oauth2.HTTPClient, f.token)
	opts := []oauth2.AuthCodeOption{oauth2.SetAuthURLParam("resource", p.Resource)}
	for name, value := range proof.params {
		opts = append(opts, oauth2.SetAuthURLParam(name, value[0]))
	}
	if proof.secret != "" && proof.style == oauth2.AuthStyleInParams {
		opts = append(opts, oauth2.SetAuthURLParam("client_secret", proof.secret))
	}
	asked, err := conf.DeviceAuth(ctx, opts...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", showText(p.Meta.DeviceEndpoint), sanitizeError(err, proof.secret))
	}
	for _, at := range []string{asked.VerificationURI, asked.VerificationURIComplete} {
		if err := f.reach.checkText(at); err != nil && at != "" {
			return nil, fmt.Errorf("the page for the code: %w", err)
		}
	}
	if asked.UserCode == "" || asked.VerificationURI == "" || asked.DeviceCode == "" {
		return nil, errors.New("the authorization server gave no code")
	}
	show(DevicePrompt{asked.VerificationURI, asked.VerificationURIComplete, showText(asked.UserCode)})
	token, err := conf.DeviceAccessToken(ctx, asked, opts...)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, errors.New("nobody has entered the code in time")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", showText(p.Meta.TokenEndpoint), sanitizeError(err, asked.DeviceCode, proof.secret))
	}
	return newTokenSet(p, id).withToken(token, scopes)
}
