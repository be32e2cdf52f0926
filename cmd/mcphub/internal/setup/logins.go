package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"mcphub/children"
	"mcphub/children/remote"
	"mcphub/children/spec"
	"mcphub/cmd/mcphub/internal/config"
	"mcphub/cmd/mcphub/internal/config/keys"
	"mcphub/cmd/mcphub/internal/exit"
	"mcphub/cmd/mcphub/internal/loginpage"
	"mcphub/cmd/mcphub/internal/oauth"
	"mcphub/cmd/mcphub/internal/oauth/logins"
	"mcphub/cmd/mcphub/internal/secrets"
	"mcphub/internal/principal"
	"mcphub/internal/redact"
	"mcphub/internal/reference"
)

// Logins returns where logins are kept: among the secrets.
func Logins(store *secrets.Store, kept secrets.Options) *logins.Store {
	dir := ""
	if kept.Dir != "" {
		dir = filepath.Join(kept.Dir, "logins")
	}
	return logins.New(store, dir)
}

// LoginSettings returns what a Spec says about the login at its server. Its secrets
// have been put in.
func LoginSettings(s *spec.Spec) oauth.Settings {
	return oauth.Settings{
		Server: s.URL, Name: s.Name, Issuer: s.Auth.Issuer, ClientID: s.Auth.ClientID, Document: s.Auth.Document, ClientSecret: s.Auth.ClientSecret,
		Scopes: s.Auth.Scopes, Redirect: s.Auth.Redirect, CallbackPort: s.Auth.CallbackPort, TLS: s.TLS,
	}
}

// redirectOf returns the redirect of an entry, without its port.
func redirectOf(a *config.Auth) string {
	path := keys.RedirectPath
	if a.RedirectPath != nil {
		path = *a.RedirectPath
	}
	return "http://" + cmp.Or(a.RedirectHost, keys.RedirectIP) + path
}

// An Account is a server of hub.json at which one can log in, with its secrets put in.
type Account struct {
	spec.Spec
	Flow string // of hub.json; "": not said
}

// Account finds the server of that name.
func (r *Result) Account(ctx context.Context, name string) (*Account, error) {
	for i := range r.Hub.Children {
		c := &r.Hub.Children[i].Spec
		if c.Name != name {
			continue
		}
		switch {
		case c.URL == "":
			return nil, exit.UsageErrorf("%s is a program on this machine; logins are for servers with \"url\"", name)
		case !c.LogsIn():
			return nil, exit.UsageErrorf("%s has its credentials in \"headers\" of hub.json (Authorization); take them out to log in", name)
		}
		s, err := children.ResolveSecrets(*c, func(ref reference.Ref) (string, error) { return r.Hub.Secret(ctx, ref, nil) })
		if err != nil {
			return nil, exit.ConfigErrorf("%s: %w", name, err)
		}
		a := &Account{Spec: s}
		if auth := r.File.Server(name).Auth; auth != nil {
			a.Flow = auth.Flow
		}
		return a, nil
	}
	for _, b := range r.Hub.Broken {
		if b.Name == name {
			return nil, exit.ConfigErrorf("%s: %s", name, b.Reason)
		}
	}
	return nil, exit.NotFoundErrorf("there is no server %q in %s that is served", name, r.File.Path)
}

// A LoginMethod is how a person logs in.
type LoginMethod struct {
	oauth.Request
	Device bool                       // by a code, on another device
	Page   func(address string) error // shows the page to be opened
	Code   func(oauth.DevicePrompt)   // shows the code
}

// LogIn logs in at the server of that name for a principal, and keeps the login. One
// of the client itself is not kept, and has no Server.
func (r *Result) LogIn(ctx context.Context, name, principal string, by LoginMethod) (*logins.Login, error) {
	account, err := r.Account(ctx, name)
	if err != nil {
		return nil, err
	}
	if account.Auth.Exchange {
		return nil, exit.UsageErrorf("there is nothing to log in at %s: with \"flow\": \"exchange\" it is called with a token in exchange for each HTTP caller's own; see \"auth\" at %s", name, account.Auth.At)
	}
	if account.HeadersFrom.Command != "" {
		more, err := children.HeaderProgramOf(account.Spec, r.Hub.Environ, r.Hub.Written).Run(ctx)
		if err != nil {
			return nil, err
		}
		for name, value := range more {
			if strings.EqualFold(name, "Authorization") {
				return nil, exit.UsageErrorf("%s has its credentials of \"headersFrom\" of hub.json (Authorization); take that out to log in", account.Name)
			}
			account.Headers[name] = value
		}
	}
	c, err := oauth.New(LoginSettings(&account.Spec))
	if err != nil {
		return nil, err
	}
	ch, asked, err := c.Probe(ctx, account.Headers)
	if err != nil {
		return nil, err
	}
	at, err := c.Discover(ctx, ch)
	if err != nil {
		if !asked {
			err = fmt.Errorf("the server does not ask for one, and %w", err)
		}
		return nil, err
	}
	if account.Auth.Machine {
		g, err := c.ClientCredentials(ctx, at)
		if err != nil {
			return nil, err
		}
		return &logins.Login{TokenSet: *g}, nil
	}
	if was, err := r.Logins.Find(ctx, account.URL, principal); err == nil && was.Issuer == at.Meta.Issuer {
		by.Earlier = &was.Identity
		if by.Scopes = append(by.Scopes, was.Wanted...); len(by.Scopes) > 0 {
			by.Scopes = append(by.Scopes, was.Scopes...) // more, and not others
		}
	}
	if by.Return != nil {
		r.useIdentity(&by.Request, at.Meta.Issuer, by.Return.Address)
	}
	var g *oauth.TokenSet
	if by.Device || account.Flow == keys.FlowDevice {
		g, err = c.Device(ctx, at, by.Request, by.Code)
	} else {
		g, err = c.Browser(ctx, at, by.Request, by.Page)
	}
	if err != nil {
		return nil, err
	}
	l := &logins.Login{TokenSet: *g, Server: account.URL, Principal: principal, Made: time.Now().UTC()}
	return l, r.Logins.Keep(context.WithoutCancel(ctx), l)
}

// startLogin works like LogIn for a person whom a client of the hub shows the page: a page of the hub, if a token names the person.
func (r *Result) startLogin(ctx context.Context, name string, who principal.Principal, page func(address, code string) error) error {
	if who.Key() == "" {
		return r.logInByClient(ctx, name, page)
	}
	return r.logInByPage(ctx, name, who, page)
}

// errLoggedIn is why a login is not waited for any more: there is one.
var errLoggedIn = errors.New("the person has logged in by another page")

// logInByPage works like LogIn by a page of the hub. The page shows the result when ctx ends: the session, which ends ctx, knows the result by
// then, so a person who calls again is not given the page again.
func (r *Result) logInByPage(ctx context.Context, name string, who principal.Principal, page func(address, code string) error) error {
	account, err := r.Account(ctx, name)
	switch {
	case err != nil:
		return err
	case r.Desk == nil:
		return exit.ConfigErrorf("nobody can log in over HTTP: \"http\" in hub.json has no \"resource\", the address of this hub as browsers know it")
	case account.Flow != "" && account.Flow != keys.FlowBrowser:
		return exit.ConfigErrorf("nobody logs in at %s by a browser: its \"auth\" has \"flow\": %q", name, account.Flow)
	}
	known := ctx
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	ticket, err := r.Desk.Open(loginpage.Order{
		Base: loginpage.BaseOf(r.File.HTTP.Resource), Server: name, At: redact.URL(account.URL), Who: who, Prove: r.proverOf(who),
		End: func(err error) { stop(cmp.Or(err, errLoggedIn)) },
	})
	if err != nil {
		return err
	}
	result := make(chan error, 1)
	context.AfterFunc(known, func() { ticket.Close(<-result) })
	_, err = r.LogIn(ctx, name, who.Key(), LoginMethod{Request: oauth.Request{Return: ticket.Return()}, Page: func(address string) error {
		ticket.Lead(address)
		return page(ticket.Link(), "")
	}})
	switch cause := context.Cause(ctx); {
	case err != nil && errors.Is(cause, errLoggedIn):
		err = nil
	case err != nil && cause != nil:
		err = cause
	}
	result <- err
	return err
}

// useIdentity has a login by a page use what this program is to an issuer already.
func (r *Result) useIdentity(ask *oauth.Request, issuer, redirect string) {
	if known := r.Desk.IdentityAt(issuer, redirect); known != nil {
		ask.Earlier = known
	}
	ask.Registered = func(i *oauth.Registration) { r.Desk.NoteIdentity(issuer, redirect, i) }
}

// proverOf returns what begins a login at the issuer of someone's tokens, by which a browser proves whose it is; nil if no issuer gives them.
func (r *Result) proverOf(who principal.Principal) func(ctx context.Context, redirect string) (*oauth.Attempt, error) {
	for i, one := range r.File.HTTP.Issuers {
		if one.Issuer != who.Issuer {
			continue
		}
		return func(ctx context.Context, redirect string) (*oauth.Attempt, error) {
			set := oauth.Settings{Server: r.File.HTTP.Resource, Issuer: one.Issuer, ClientID: one.Login.ClientID, Scopes: one.Scopes}
			var err error
			if one.Login.Secret != (config.Secret{}) {
				home, _ := os.UserHomeDir() // without one, what needs it stays relative and is refused
				if set.ClientSecret, err = readSecret(r.File, "the secret of the client", one.Login.Secret, home, os.LookupEnv); err != nil {
					return nil, fmt.Errorf("%s: %w", r.File.At("http", "issuers", fmt.Sprint(i), "login"), err)
				}
			}
			f, err := oauth.New(set)
			if err != nil {
				return nil, err
			}
			at, err := f.DiscoverIssuer(ctx)
			if err != nil {
				return nil, err
			}
			ask := oauth.Request{Brief: true}
			r.useIdentity(&ask, one.Issuer, redirect)
			return f.Begin(ctx, at, ask, redirect)
		}
	}
	return nil
}

// logInByClient works like LogIn for a person whom a client of the hub shows the page.
func (r *Result) logInByClient(ctx context.Context, name string, page func(address, code string) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	_, err := r.LogIn(ctx, name, "", LoginMethod{
		Page: func(address string) error { return page(address, "") },
		Code: func(d oauth.DevicePrompt) {
			if err := page(cmp.Or(d.Full, d.Address), d.Code); err != nil {
				stop(err)
			}
		},
	})
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	return err
}

// loginWait is how long the end of a hub waits for a login that is being renewed: what
// comes back may be good once.
const loginWait = 5 * time.Second

// WaitForLogins returns when no login is being renewed any more, or after a few seconds.
func (r *Result) WaitForLogins() {
	ctx, cancel := context.WithTimeout(context.Background(), loginWait)
	defer cancel()
	r.Logins.Wait(ctx)
}

// childLogin gives the login of a child. A server whose address is not encrypted has none,
// unless hub.json states that it asks for one, which is an error then.
func (r *Result) childLogin(k spec.Key, s spec.Spec) (remote.Login, error) {
	o := logins.Options{Settings: LoginSettings(&s), Principal: k.Principal, Asked: s.Auth.Asked, Machine: s.Auth.Machine}
	if s.Auth.Exchange {
		o.Exchange, o.Callers, o.Headers, o.At = true, r.Hub.Callers, s.Headers, s.Auth.At
	}
	src, err := r.Logins.Source(o)
	switch {
	case err == nil:
		return src, nil
	case s.Auth.Asked:
		return nil, err
	}
	return nil, nil
}
