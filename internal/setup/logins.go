package setup

import (
	"context"
	"path/filepath"
	"time"

	"mcphub/children"
	"mcphub/internal/exit"
	"mcphub/internal/oauth"
	"mcphub/internal/oauth/logins"
	"mcphub/internal/reference"
	"mcphub/internal/secrets"
)

// Logins is where logins are kept: among the secrets.
func Logins(store *secrets.Store, kept secrets.Options) *logins.Store {
	dir := ""
	if kept.Dir != "" {
		dir = filepath.Join(kept.Dir, "logins")
	}
	return logins.New(store, dir)
}

// LoginSettings are what a Spec says of the login at its server. Its secrets have been
// put in.
func LoginSettings(s *children.Spec) oauth.Settings {
	return oauth.Settings{
		Server: s.URL, Name: s.Name, Issuer: s.Auth.Issuer, ClientID: s.Auth.ClientID, ClientSecret: s.Auth.ClientSecret,
		Scopes: s.Auth.Scopes, CallbackPort: s.Auth.CallbackPort,
	}
}

// An Account is a server of hub.json at which one can log in, with its secrets put in.
type Account struct {
	children.Spec
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
			return nil, exit.Errorf(exit.Usage, "%s is a program on this machine; logins are for servers with \"url\"", name)
		case !c.LogsIn():
			return nil, exit.Errorf(exit.Usage, "%s has its credentials in \"headers\" of hub.json (Authorization); take them out to log in", name)
		}
		s, err := children.Resolved(*c, func(ref reference.Ref) (string, error) { return r.Hub.Secret(ctx, ref) })
		if err != nil {
			return nil, exit.Errorf(exit.Config, "%s: %w", name, err)
		}
		a := &Account{Spec: s}
		if auth := r.File.Server(name).Auth; auth != nil {
			a.Flow = auth.Flow
		}
		return a, nil
	}
	for _, b := range r.Hub.Broken {
		if b.Name == name {
			return nil, exit.Errorf(exit.Config, "%s: %s", name, b.Reason)
		}
	}
	return nil, exit.Errorf(exit.NotFound, "there is no server %q in %s that is served", name, r.File.Path)
}

// settleTime is how long the end of a hub waits for a login that is being renewed: what
// comes back may be good once.
const settleTime = 5 * time.Second

// Settle returns when no login is being renewed any more, or after a few seconds.
func (r *Result) Settle() {
	ctx, cancel := context.WithTimeout(context.Background(), settleTime)
	defer cancel()
	r.Logins.Wait(ctx)
}

// login gives the login of a child. A server whose address is not encrypted has none,
// unless hub.json says that it asks for one, which is an error then.
func (r *Result) login(k children.Key, s children.Spec) (children.Login, error) {
	src, err := r.Logins.Source(logins.Options{Settings: LoginSettings(&s), Principal: k.Principal, Asked: s.Auth.Asked, Machine: s.Auth.Machine})
	switch {
	case err == nil:
		return src, nil
	case s.Auth.Asked:
		return nil, err
	}
	return nil, nil
}
