package oauth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"mcphub/internal/lazyregexp"
)

// A TokenSet holds the tokens of a login, and all that is needed to renew them.
type TokenSet struct {
	Issuer    string       `json:"issuer"`
	Resource  string       `json:"resource"`
	TokenURL  string       `json:"tokenUrl"`
	RevokeURL string       `json:"revokeUrl,omitempty"`
	Identity  Registration `json:"identity"`
	Access    string       `json:"access"`
	Refresh   string       `json:"refresh,omitempty"`
	Expiry    time.Time    `json:"expiry,omitzero"` // of Access; zero: not known
	Scopes    []string     `json:"scopes,omitempty"`
}

// Expired reports whether the token is not good for one more request.
func (g *TokenSet) Expired() bool { return !g.Expiry.IsZero() && time.Until(g.Expiry) < early }

// early is how long before its end a token is not used any more: a request takes time,
// and clocks differ.
const early = 15 * time.Second

// newTokenSet makes a TokenSet for what was discovered. It holds no token yet.
func newTokenSet(p *Discovery, i *Registration) *TokenSet {
	return &TokenSet{Issuer: p.Meta.Issuer, Resource: p.Resource, TokenURL: p.Meta.TokenEndpoint, RevokeURL: p.Meta.RevocationEndpoint, Identity: *i}
}

// askForToken asks for a token, and returns the TokenSet with it.
func (f *Flow) askForToken(ctx context.Context, g *TokenSet, scopes []string, kind string, params url.Values) (*TokenSet, error) {
	token, err := f.requestToken(ctx, g, scopes, kind, params)
	if err != nil {
		return nil, err
	}
	return g.withToken(token, scopes)
}

// requestToken asks for a token, and returns the answer.
func (f *Flow) requestToken(ctx context.Context, g *TokenSet, scopes []string, kind string, params url.Values) (*oauth2.Token, error) {
	if err := f.reach.checkText(g.TokenURL); err != nil {
		return nil, fmt.Errorf("token_endpoint: %w", err)
	}
	proof, err := f.proofOf(&g.Identity, g.Issuer)
	if err != nil {
		return nil, err
	}
	all := url.Values{"grant_type": {kind}, "resource": {g.Resource}}
	for _, more := range []url.Values{params, proof.params} {
		for name, value := range more {
			all[name] = value
		}
	}
	// It sends any kind of request for a token, and once.
	conf := clientcredentials.Config{ClientID: proof.id, ClientSecret: proof.secret, TokenURL: g.TokenURL, AuthStyle: proof.style, Scopes: scopes, EndpointParams: all}
	token, err := conf.Token(context.WithValue(ctx, oauth2.HTTPClient, f.token))
	if err != nil {
		err = sanitizeError(err, proof.secret, all.Get("refresh_token"), all.Get("code"), all.Get("code_verifier"), all.Get("client_assertion"), all.Get("subject_token"))
		return nil, fmt.Errorf("%s: %w", showText(g.TokenURL), err)
	}
	return token, nil
}

// otherTypes are the types of tokens whose standards send them in another way than as Bearer. A type without a standard, such
// as "user", is sent as Bearer, as official clients do.
var otherTypes = []string{"dpop", "pop", "mac", "n_a"}

// withToken returns the TokenSet with the tokens of an answer.
func (g *TokenSet) withToken(token *oauth2.Token, asked []string) (*TokenSet, error) {
	if slices.Contains(otherTypes, strings.ToLower(token.TokenType)) {
		return nil, fmt.Errorf("%s: \"token_type\" of the answer is %s, which this program cannot send; have the authorization server give Bearer tokens to this client", showText(g.TokenURL), showText(token.TokenType))
	}
	if token.AccessToken == "" || strings.ContainsFunc(token.AccessToken, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, fmt.Errorf("%s: \"access_token\" of the answer cannot be sent in a header", showText(g.TokenURL))
	}
	next := *g
	next.Access, next.Refresh, next.Expiry = token.AccessToken, cmp.Or(token.RefreshToken, g.Refresh), token.Expiry
	if len(asked) > 0 {
		next.Scopes = slices.Clone(asked)
	}
	if text, ok := token.Extra("scope").(string); ok && text != "" {
		next.Scopes = strings.Fields(text)
	}
	return &next, nil
}

// ErrRefused is the error of a renewal that the authorization server does not do, and
// will not do later either: the login is over.
var ErrRefused = errors.New("the authorization server does not renew the login")

// Refresh renews a TokenSet. The error is ErrRefused where only a new login helps.
func (f *Flow) Refresh(ctx context.Context, g *TokenSet) (*TokenSet, error) {
	if g.Refresh == "" {
		return nil, fmt.Errorf("%w: it gave nothing to renew it with", ErrRefused)
	}
	next, err := f.askForToken(ctx, g, nil, "refresh_token", url.Values{"refresh_token": {g.Refresh}})
	var no *ServerError
	if errors.As(err, &no) && slices.Contains([]string{"invalid_grant", "invalid_client", "unauthorized_client", "access_denied"}, no.Code) {
		return nil, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return next, err
}

// ClientCredentials logs in as the client itself, for which no person is asked.
func (f *Flow) ClientCredentials(ctx context.Context, p *Discovery) (*TokenSet, error) {
	if f.set.ClientID == "" || f.set.ClientSecret == "" {
		return nil, errors.New("\"flow\": \"client\" needs \"clientId\" and \"clientSecret\" beside it in hub.json")
	}
	return f.askForToken(ctx, newTokenSet(p, f.configuredClient(p)), f.scopesToAsk(p, nil), "client_credentials", nil)
}

// Revoke returns the authorization server that a TokenSet is not needed any more (RFC
// 7009). done is false if the server takes no such requests.
func (f *Flow) Revoke(ctx context.Context, g *TokenSet) (done bool, err error) {
	if g.RevokeURL == "" {
		return false, nil
	}
	proof, err := f.proofOf(&g.Identity, g.Issuer)
	if err != nil {
		return false, err
	}
	form := url.Values{"token": {g.Access}, "token_type_hint": {"access_token"}}
	if g.Refresh != "" {
		form = url.Values{"token": {g.Refresh}, "token_type_hint": {"refresh_token"}}
	}
	for name, value := range proof.params {
		form[name] = value
	}
	if proof.style == oauth2.AuthStyleInParams {
		form.Set("client_id", proof.id)
		if proof.secret != "" {
			form.Set("client_secret", proof.secret)
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, g.RevokeURL, strings.NewReader(form.Encode()))
	if err != nil {
		return false, errors.New("the address for that is none")
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if proof.style == oauth2.AuthStyleInHeader {
		req.SetBasicAuth(url.QueryEscape(proof.id), url.QueryEscape(proof.secret))
	}
	resp, err := f.http.Do(req)
	if err != nil {
		return false, stripAddress(err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	if resp.StatusCode != http.StatusOK {
		return false, fmt.Errorf("it answers with HTTP status %d", resp.StatusCode)
	}
	return true, nil
}

// A ServerError is what an authorization server says about a request that it refuses.
type ServerError struct {
	Code string // of RFC 6749, such as invalid_grant
	Text string // for people, clean; ""
}

func (e *ServerError) Error() string {
	text := "the authorization server answers " + e.Code
	if e.Text != "" {
		text += ": " + e.Text
	}
	return text
}

// Code, and words for people, that an error may have. Anything longer than words are
// could be a token that is quoted.
var (
	errorCode = lazyregexp.New(`^[A-Za-z0-9_.:-]{1,64}$`)
	longWord  = lazyregexp.New(`[^\s]{25,}`)
)

func serverError(code, text string, secrets ...string) *ServerError {
	for _, secret := range secrets {
		if secret == "" {
			continue
		}
		if strings.Contains(code, secret) {
			code = ""
		}
		text = strings.ReplaceAll(text, secret, "…")
	}
	if !errorCode.MatchString(code) {
		code = "an error"
	}
	return &ServerError{code, longWord.ReplaceAllString(showText(text), "…")}
}

// sanitizeError keeps of an error what may be shown: the libraries quote whole answers, which
// may hold tokens, and servers quote what they were sent.
func sanitizeError(err error, secrets ...string) error {
	var token *oauth2.RetrieveError
	var u *url.Error
	switch {
	case errors.As(err, &token):
		if token.ErrorCode == "" {
			return fmt.Errorf("the authorization server answers with HTTP status %d", token.Response.StatusCode)
		}
		return serverError(token.ErrorCode, token.ErrorDescription, secrets...)
	case errors.As(err, &u):
		return u.Err
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	return errors.New("the answer holds no \"access_token\", or is not what was asked for in another way")
}
