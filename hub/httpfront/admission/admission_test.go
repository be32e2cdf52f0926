package admission

import (
	"context"
	"testing"

	"mcphub/internal/principal"
)

const secret = "made by the hub"

// issued returns a resource that an issuer gives tokens for.
func issued() *Resource {
	return &Resource{URL: "https://hub.example/mcp", Issuers: []string{"https://login.example"},
		Verify: func(context.Context, string) (Caller, error) { return Caller{}, principal.ErrScope }, Basis: func(Caller) string { return "" }}
}

// TestHTTPTokensThatCannotBeTold: a front with them is not served at all.
func TestHTTPTokensThatCannotBeTold(t *testing.T) {
	t.Parallel()
	for name, tokens := range map[string][]Token{
		"no secret":  {{Name: "a"}},
		"no name":    {{Secret: "s"}},
		"one secret": {{Name: "a", Secret: "s"}, {Name: "b", Secret: "s"}},
		"one name":   {{Name: "a", Secret: "s"}, {Name: "a", Secret: "t"}},
	} {
		if _, err := New(Options{Tokens: tokens}); err == nil {
			t.Errorf("%s: served", name)
		}
	}
	if _, err := New(Options{Tokens: []Token{{Name: "a", Secret: "s"}, {Name: "b", Secret: "t"}}}); err != nil {
		t.Error(err)
	}
}

// TestNamesOfTokens: no token may be called like a principal of an issuer.
func TestNamesOfTokens(t *testing.T) {
	t.Parallel()
	if _, err := New(Options{Tokens: []Token{{Name: "alice@login.example", Secret: "x"}}, Resource: issued()}); err == nil {
		t.Error("a token is called like a principal")
	}
	if _, err := New(Options{Tokens: []Token{{Name: "alice", Secret: "x"}}, Resource: issued()}); err != nil {
		t.Error(err)
	}
}

// TestWhoMayCallIsSaidOnce: a front that no one could call, or of which two things are
// said, is not served.
func TestWhoMayCallIsSaidOnce(t *testing.T) {
	t.Parallel()
	tokens := []Token{{Name: "a", Secret: "s"}}
	for name, tc := range map[string]struct {
		o    Options
		good bool
	}{
		"nothing":              {Options{}, false},
		"made and open":        {Options{LocalToken: secret, Open: true}, false},
		"made and tokens":      {Options{LocalToken: secret, Tokens: tokens}, false},
		"made and issuers":     {Options{LocalToken: secret, Resource: issued()}, false},
		"open and tokens":      {Options{Open: true, Tokens: tokens}, false},
		"open and issuers":     {Options{Open: true, Resource: issued()}, false},
		"control: made":        {Options{LocalToken: secret}, true},
		"control: open":        {Options{Open: true}, true},
		"control: tokens":      {Options{Tokens: tokens}, true},
		"control: issuers":     {Options{Resource: issued()}, true},
		"control: both tokens": {Options{Tokens: tokens, Resource: issued()}, true},
	} {
		if _, err := New(tc.o); err == nil != tc.good {
			t.Errorf("%s: %v", name, err)
		}
	}
}
