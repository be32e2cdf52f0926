package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
)

// This file exchanges the token of a caller for one that the server takes (RFC 8693).

// Names of RFC 8693.
const (
	grantExchange = "urn:ietf:params:oauth:grant-type:token-exchange"
	typeAccess    = "urn:ietf:params:oauth:token-type:access_token"
	typeJWT       = "urn:ietf:params:oauth:token-type:jwt"
)

// A Subject is the token of a caller, which is to be exchanged.
type Subject struct {
	Token   string
	Issuer  string // that has given it
	Expires time.Time
}

// ExchangeToken gets a token for the server in exchange for a caller's own. The caller's token goes to the issuer that has given it, or to the
// one that hub.json names for this server, and to no other: the server, which names the authorization server, cannot choose who gets
// the tokens of callers.
func (f *Flow) ExchangeToken(ctx context.Context, p *Discovery, subject Subject) (*TokenSet, error) {
	if f.set.ClientID == "" {
		return nil, errors.New("\"flow\": \"exchange\" needs \"clientId\" beside it in hub.json")
	}
	if !sameIssuer(p.Meta.Issuer, subject.Issuer) && (f.set.Issuer == "" || !sameIssuer(p.Meta.Issuer, f.set.Issuer)) {
		return nil, fmt.Errorf("the server names the authorization server %s, and the caller's token is of %s: it is not sent there; if it may be, write \"auth\": {\"issuer\": %q} for this server in hub.json",
			showText(p.Meta.Issuer), showText(subject.Issuer), showText(p.Meta.Issuer))
	}
	g, scopes := newTokenSet(p, f.configuredClient(p)), f.scopesToAsk(p, nil)
	token, err := f.requestToken(ctx, g, scopes, grantExchange, url.Values{"subject_token": {subject.Token}, "subject_token_type": {typeAccess}, "requested_token_type": {typeAccess}})
	if err != nil {
		return nil, err
	}
	kind, _ := token.Extra("issued_token_type").(string)
	switch {
	case !slices.Contains([]string{typeAccess, typeJWT}, kind):
		return nil, fmt.Errorf("%s: \"issued_token_type\" of the answer is %q, which is no access token; have the authorization server give one to this client", showText(g.TokenURL), showText(kind))
	case !strings.EqualFold(token.TokenType, "Bearer"):
		return nil, fmt.Errorf("%s: \"token_type\" of the answer is %q; have the authorization server give Bearer tokens to this client", showText(g.TokenURL), showText(token.TokenType))
	case token.AccessToken == subject.Token:
		return nil, fmt.Errorf("%s: the answer is the caller's own token, which no server is sent; have the authorization server give another one", showText(g.TokenURL))
	}
	if g, err = g.withToken(token, scopes); err != nil {
		return nil, err
	}
	g.Refresh = "" // it would outlast the caller's session
	if g.Expiry.IsZero() || g.Expiry.After(subject.Expires) {
		g.Expiry = subject.Expires
	}
	return g, nil
}
