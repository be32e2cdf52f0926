package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rs/zerolog"

	"mcphub/children/consent"
	"mcphub/cmd/mcphub/internal/bearer"
	"mcphub/cmd/mcphub/internal/config"
	"mcphub/cmd/mcphub/internal/config/keys"
	"mcphub/cmd/mcphub/internal/exit"
	"mcphub/cmd/mcphub/internal/issuers"
	"mcphub/cmd/mcphub/internal/rundir"
	"mcphub/cmd/mcphub/internal/secrets"
	"mcphub/hub"
	"mcphub/hub/metricsfront"
	"mcphub/hub/toolset"
	"mcphub/rootsmgr"
	"mcphub/rootsmgr/guard"
)

// OpenText reports what it means that no one needs a token.
const OpenText = "nobody needs a token over HTTP: every user and process of this machine that reaches the address can call, the servers of hubs as well, with roots of its own choice"

// TokenPlace returns the place of the token that the hub makes for this configuration. It makes the
// folder.
func TokenPlace(f *config.File, env func(string) string) (bearer.Place, error) {
	state := rundir.State(env)
	if state == "" {
		return bearer.Place{}, exit.ConfigErrorf("there is no folder for the token of HTTP clients: set HOME or XDG_STATE_HOME, or give them tokens by http.tokens of hub.json")
	}
	path := f.Path
	if path != "" {
		var err error
		if path, err = filepath.Abs(path); err != nil {
			return bearer.Place{}, err
		}
	}
	dir, err := consent.New(state).MakeFolder()
	return bearer.At(dir, path), err
}

// HTTPOptions turns the http block of hub.json into values, but for the token that the
// hub makes if it names none.
func HTTPOptions(f *config.File, env func(string) (string, bool), log zerolog.Logger) (hub.HTTPOptions, error) {
	o := hub.HTTPOptions{Hosts: f.HTTP.Hosts, Origins: f.HTTP.Origins, Sessions: f.Limits.Sessions, Poll: f.HTTP.Poll, Idle: f.HTTP.Idle, Drain: f.HTTP.Drain, Grace: f.HTTP.Grace, Open: f.HTTP.Auth == keys.AuthNone}
	for _, text := range f.HTTP.TrustedProxies {
		if network, err := keys.ParseNetwork(text); err == nil { // hub.json was checked
			o.Proxies = append(o.Proxies, network)
		}
	}
	if o.Node = f.HTTP.Node; o.Node == "" {
		o.Node, _ = os.Hostname() // without one no other hub is told about this
	}
	for _, text := range f.HTTP.Peers {
		if peer, err := keys.ParsePeer(text); err == nil { // hub.json was checked
			o.Peers = append(o.Peers, peer)
		}
	}
	if len(o.Peers) > 0 && len(f.HTTP.StateKey) == 0 {
		return o, errorAt(f, "hubs forward to each other by a key that they have in common: give all of them one \"stateKey\", such as `openssl rand -base64 32` prints", "http", "peers")
	}
	l := f.Limits.Principal
	o.Principal = hub.PrincipalLimits{Sessions: l.Sessions, Calls: l.Calls, Rate: l.Rate, Burst: l.Burst}
	home, _ := os.UserHomeDir() // without one, what needs it stays relative and is refused
	for i, key := range f.HTTP.StateKey {
		secret, err := readSecret(f, "the key of requestState", key, home, env)
		if err == nil && len(secret) < shortestKey {
			err = fmt.Errorf("the key of requestState has %d characters, fewer than %d; `openssl rand -base64 32` prints one", len(secret), shortestKey)
		}
		if err != nil {
			return o, errorAt(f, err.Error(), "http", "stateKey", fmt.Sprint(i))
		}
		o.StateKeys = append(o.StateKeys, []byte(secret))
	}
	if tls := f.HTTP.TLS; tls != nil && (tls.Cert == "" || tls.Key == "") {
		return o, errorAt(f, "HTTPS needs a certificate and its key: give both \"cert\" and \"key\"", "http", "tls")
	}
	for i, t := range f.HTTP.Tokens {
		secret, err := readSecret(f, fmt.Sprintf("the token of %q", t.Name), config.Secret{Env: t.Env, File: t.File}, home, env)
		if err != nil {
			return o, errorAt(f, err.Error(), "http", "tokens", fmt.Sprint(i))
		}
		for _, other := range o.Tokens {
			if other.Secret == secret {
				return o, errorAt(f, fmt.Sprintf("%q and %q have one secret, so whose a request is could not be told; give each its own", other.Name, t.Name), "http", "tokens", fmt.Sprint(i))
			}
		}
		o.Tokens = append(o.Tokens, hub.Token{Name: t.Name, Groups: groupsOf(t), Secret: secret, Roots: ceilingRoots(f, t.Roots, log, "http", "tokens", fmt.Sprint(i), "roots"), Toolsets: t.Toolsets})
	}
	o.Resource = protectedResource(f, log)
	return o, nil
}

// errorAt returns an error about a key of hub.json.
func errorAt(f *config.File, text string, path ...string) error {
	p := f.At(path...)
	p.Text = text
	return exit.ConfigErrorf("%w", p)
}

// MetricsOptions turns the metrics block of hub.json into values.
func MetricsOptions(f *config.File, env func(string) (string, bool)) (metricsfront.Options, error) {
	o := metricsfront.Options{Hosts: f.Metrics.Hosts}
	if f.Metrics.Token == (config.Secret{}) {
		return o, nil
	}
	home, _ := os.UserHomeDir() // without one, what needs it stays relative and is refused
	secret, err := readSecret(f, "the token of metrics", f.Metrics.Token, home, env)
	if err != nil {
		return o, errorAt(f, err.Error(), "metrics", "token")
	}
	o.Token = secret
	return o, nil
}

// ceilingRoots makes roots of directories that someone never leaves; at is their place in
// hub.json.
func ceilingRoots(f *config.File, dirs []string, log zerolog.Logger, at ...string) []rootsmgr.RootEntry {
	var all []rootsmgr.RootEntry
	for j, dir := range dirs {
		entry := rootsmgr.SettingEntry(guard.OS{}, dir, f.Dir())
		all = append(all, entry)
		for _, sk := range skippedRoots(entry) {
			p := f.At(append(slices.Clone(at), fmt.Sprint(j))...)
			log.Warn().Str("at", fmt.Sprintf("%s:%d", p.File, p.Line)).Str("root", dir).Str("reason", sk.Reason).Msg("a directory of a ceiling opens nothing")
		}
	}
	return all
}

// protectedResource makes the hub a protected resource, where hub.json has issuers; else nil.
func protectedResource(f *config.File, log zerolog.Logger) *hub.Resource {
	if len(f.HTTP.Issuers) == 0 {
		return nil
	}
	r := &hub.Resource{URL: f.HTTP.Resource}
	var all []issuers.Issuer
	for i, one := range f.HTTP.Issuers {
		made := issuers.Issuer{URL: one.Issuer, Audience: cmp.Or(one.Audience, f.HTTP.Resource), Principal: one.Principal, Groups: one.Groups, Scopes: one.Scopes}
		if one.Roots != nil {
			made.Ceiling = &issuers.Ceiling{Claim: one.Roots.Claim, Values: map[string][]rootsmgr.RootEntry{}}
			for value, dirs := range one.Roots.Values {
				made.Ceiling.Values[value] = ceilingRoots(f, dirs, log, "http", "issuers", fmt.Sprint(i), "roots", "values", value)
			}
		}
		if one.Toolsets != nil {
			made.Toolsets = &issuers.Toolsets{Claim: one.Toolsets.Claim, Values: one.Toolsets.Values}
		}
		all = append(all, made)
		r.Issuers = append(r.Issuers, one.Issuer)
		for _, scope := range one.Scopes {
			if !slices.Contains(r.Scopes, scope) {
				r.Scopes = append(r.Scopes, scope)
			}
		}
	}
	verifier := issuers.New(all, http.DefaultClient)
	verifier.Asked = func(issuer string, err error) {
		if err == nil {
			log.Info().Str("issuer", issuer).Msg("the issuer can be asked for its keys again")
			return
		}
		log.Error().Str("issuer", issuer).Err(err).Msg("the issuer cannot be asked for its keys: tokens that need them are answered with 503, and those of keys that are known count for a day")
	}
	r.Refresh = func(ctx context.Context) { verifier.Refresh(ctx, hub.RefreshEvery) }
	r.Basis = func(who hub.Caller) string { return issuerBasis(all, who) }
	r.Verify = func(ctx context.Context, token string) (hub.Caller, error) {
		id, err := verifier.Verify(ctx, token)
		if err != nil {
			return hub.Caller{}, err
		}
		return hub.Caller{Principal: id.Principal, Ceiling: id.Ceiling, Values: id.Values, Toolsets: toolset.Claim{Bound: id.Toolsets}, Named: id.Named, Expires: id.Expires}, nil
	}
	return r
}

// issuerBasis returns what a caller of an issuer is admitted by: all that is configured of the
// issuer, and the directories and toolsets of the values that the token has.
func issuerBasis(all []issuers.Issuer, who hub.Caller) string {
	for _, one := range all {
		if one.URL != who.Principal.Issuer {
			continue
		}
		of := []any{one.URL, one.Audience, one.Principal, one.Scopes, one.Groups, one.Ceiling != nil}
		if one.Ceiling != nil {
			of = append(of, one.Ceiling.Claim)
			for _, value := range who.Values {
				of = append(of, value, one.Ceiling.Values[value])
			}
		}
		if one.Toolsets != nil {
			of = append(of, "toolsets", one.Toolsets.Claim)
			for _, value := range who.Named {
				of = append(of, value, one.Toolsets.Values[value])
			}
		}
		return hub.DigestBasis(of...)
	}
	return ""
}

// skippedRoots returns why a directory of a token opens nothing.
func skippedRoots(dir rootsmgr.RootEntry) []rootsmgr.Skipped {
	seen := rootsmgr.NewSnapshot(guard.OS{}, 0, rootsmgr.OriginCeiling, []rootsmgr.RootEntry{dir})
	if seen.Len() > 0 {
		return nil // a pattern of which something else matches: get-roots shows the rest
	}
	return seen.Skipped()
}

const (
	// maxToken bounds the file of a secret: what is longer is another file.
	maxToken = 16 << 10
	// shortestKey is the least length of http.stateKey.
	shortestKey = 32
)

// Certificate names the files of the certificate and the key of http.tls; ok false: there are none.
func Certificate(f *config.File) (cert, key string, ok bool) {
	if f.HTTP.TLS == nil {
		return "", "", false
	}
	home, _ := os.UserHomeDir() // without one, what needs it stays relative
	return resolvePath(f, f.HTTP.TLS.Cert, home, false), resolvePath(f, f.HTTP.TLS.Key, home, false), true
}

// readSecret reads a secret from where hub.json states that it is; what names it.
func readSecret(f *config.File, what string, at config.Secret, home string, env func(string) (string, bool)) (string, error) {
	if at.File == "" {
		secret, _ := env(at.Env)
		if secret = strings.TrimSpace(secret); secret == "" {
			return "", fmt.Errorf("the variable %s is not set in the hub's environment; it must hold %s", at.Env, what)
		}
		return secret, nil
	}
	path := resolvePath(f, at.File, home, false)
	raw, err := secrets.ReadPrivate(path, maxToken)
	secret := strings.TrimSpace(string(raw))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("%s cannot be read: %w; write it into that file, or correct the path", what, err)
	case err != nil:
		return "", fmt.Errorf("%s cannot be read: %w", what, err)
	case secret == "" || strings.ContainsAny(secret, "\r\n"):
		return "", fmt.Errorf("%s must hold %s alone, on one line", path, what)
	}
	return secret, nil
}
