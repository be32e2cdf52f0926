package logins

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"mcphub/cmd/mcphub/internal/oauth"
	"mcphub/internal/callertoken"
	"mcphub/internal/printable"
)

// This file gets the tokens that are not kept: the tokens of the client itself, and the tokens that are had in exchange for a caller's own.

// An unkept is a token that is not kept, and is used by all Sources of its name.
type unkept struct {
	*oauth.TokenSet
	subject string    // the ID of the caller's token that it was had for; "": it was had for none
	of      *Source   // one of them
	got     time.Time // when
	instead bool      // the server had refused the one before it
}

// exchangeAgain is for how long no other token is had instead of one that the server has refused, if that one was had
// instead of a refused one.
const exchangeAgain = time.Minute

// fetchUnkept returns a token that is not used: one that was fetched meanwhile, or that is fetched now. There is nothing to be lost,
// so nothing is kept.
func (s *Source) fetchUnkept(ctx context.Context, used string, ch oauth.Challenge) (*oauth.TokenSet, error) {
	st := s.store
	st.mu.Lock()
	maps.DeleteFunc(st.unkept, func(_ string, u *unkept) bool { return u.of.isSpent(u) })
	have := st.unkept[s.nameFor(ctx)]
	st.mu.Unlock()
	refused := have != nil && have.Access == used
	switch {
	case have != nil && !refused && !have.Expired():
		return have.TokenSet, nil
	case s.exchange && refused && have.instead && time.Since(have.got) < exchangeAgain:
		return nil, fmt.Errorf("it refuses the token that %s gave in exchange for the caller's, and a new one too: the token is for another server, or the caller may not use this one; see \"auth\"%s", printable.Escape(have.Issuer, 200), s.entryPlace())
	}
	next, err := s.fetch(ctx, ch)
	if err != nil {
		return nil, err
	}
	next.of, next.got, next.instead = s, time.Now(), refused && !have.Expired()
	st.mu.Lock()
	st.unkept[s.nameFor(ctx)] = next
	st.mu.Unlock()
	return next.TokenSet, nil
}

// isSpent reports whether a token that was had in exchange is of no use any more: it has expired, or no session holds the caller's token that it
// was had for.
func (s *Source) isSpent(u *unkept) bool {
	return s.exchange && (!s.callers.IsHeld(s.principal, u.subject) || !time.Now().Before(u.Expiry))
}

// logInAsMachine gets a token for the client itself.
func (s *Source) logInAsMachine(ctx context.Context, ch oauth.Challenge) (*unkept, error) {
	p, err := s.client.Discover(ctx, ch)
	var g *oauth.TokenSet
	if err == nil {
		g, err = s.client.ClientCredentials(ctx, p)
	}
	if err != nil {
		return nil, fmt.Errorf("no login as the client of hub.json: %w", err)
	}
	return &unkept{TokenSet: g}, nil
}

// errNoCaller is why there is nothing to exchange.
var errNoCaller = errors.New(`this server is called with a token in exchange for the caller's, and this caller has shown none of an issuer; call over HTTP with a token of one of "http.issuers" of hub.json`)

// withSubject returns ctx with the token of the caller that is exchanged for a request to the server; false if there is none. For a call it is the token
// that the call has come with, and no other: another one of the same principal may have other rights. What the hub asks by itself, such as what the
// server offers, goes by the newest token of the sessions that the instance serves.
func (s *Source) withSubject(ctx context.Context) (context.Context, bool) {
	if shown, ok := callertoken.OfContext(ctx); ok {
		return ctx, s.callers.IsHeld(s.principal, shown.ID)
	}
	newest, ok := s.callers.NewestToken(s.principal)
	return callertoken.NewContext(ctx, newest), ok
}

// nameFor returns the name under which a token is held that is used for a request: each token of a caller has its own.
func (s *Source) nameFor(ctx context.Context) string {
	if shown, ok := callertoken.OfContext(ctx); ok && s.exchange {
		return s.name + "/" + shown.ID
	}
	return s.name
}

// tokenOfCaller returns the token that is had in exchange for the caller's, which ctx has. An earlier one counts only as long as a session holds that.
func (s *Source) tokenOfCaller(ctx context.Context) (token, advice string) {
	s.store.mu.Lock()
	have := s.store.unkept[s.nameFor(ctx)]
	s.store.mu.Unlock()
	if have != nil && !s.isSpent(have) && !have.Expired() {
		return have.Access, ""
	}
	g, err := s.renewTokens(ctx, "", oauth.Challenge{})
	if err != nil {
		return "", err.Error()
	}
	return g.Access, ""
}

// exchangeToken gets a token in exchange for the caller's, which ctx has.
func (s *Source) exchangeToken(ctx context.Context, ch oauth.Challenge) (*unkept, error) {
	shown, ok := callertoken.OfContext(ctx)
	if !ok {
		return nil, errNoCaller
	}
	set := s.set
	set.SubjectIssuer = shown.Issuer
	f, err := oauth.New(set)
	if err == nil && !ch.Bearer { // it was not asked yet
		ch, _, err = f.Probe(ctx, s.headers)
	}
	var p *oauth.Discovery
	if err == nil {
		p, err = f.Discover(ctx, ch)
	}
	var g *oauth.TokenSet
	if err == nil {
		g, err = f.ExchangeToken(ctx, p, oauth.Subject{Token: shown.Reveal(), Issuer: shown.Issuer, Expires: shown.Expires})
	}
	if err != nil {
		return nil, fmt.Errorf("there is no token in exchange for the caller's: %w; see \"auth\"%s", err, s.entryPlace())
	}
	return &unkept{TokenSet: g, subject: shown.ID}, nil
}

// adviseScopes returns what helps if the server asks for a token that may do more.
func (s *Source) adviseScopes(scopes []string) string {
	text := "the server asks for a token that may do more"
	if len(scopes) > 0 {
		text = "the server asks for a token with the scopes " + printable.Escape(strings.Join(scopes, " "), 300)
	}
	return text + `; write those that callers may have as "scopes" under "auth"` + s.entryPlace()
}

// entryPlace names the settings of the entry for a person.
func (s *Source) entryPlace() string {
	text := " of " + printable.Word(s.set.Name) + " in hub.json"
	if s.at != "" {
		text += " (" + printable.Escape(s.at, 300) + ")"
	}
	return text
}
