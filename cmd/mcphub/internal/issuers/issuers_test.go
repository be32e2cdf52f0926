package issuers

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"

	"mcphub/internal/principal"
	"mcphub/rootsmgr"
)

// An authority is an authorization server that publishes its keys, and signs what it is told.
type authority struct {
	*httptest.Server
	key     *ecdsa.PrivateKey
	id      string // of the key that is published
	at      string // path of the metadata
	issuer  string // that the metadata names; "": its own address
	fetched atomic.Int32
	cache   string // Cache-Control of the keys
	down    atomic.Bool
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	a := &authority{key: key, id: "k1", at: "/.well-known/oauth-authorization-server"}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if a.down.Load() {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		switch r.URL.Path {
		case a.at:
			issuer := a.issuer
			if issuer == "" {
				issuer = a.URL
			}
			_ = json.NewEncoder(w).Encode(map[string]string{"issuer": issuer, "jwks_uri": a.URL + "/keys"})
		case "/keys":
			a.fetched.Add(1)
			if a.cache != "" {
				w.Header().Set("Cache-Control", a.cache)
			}
			_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: &a.key.PublicKey, KeyID: a.id, Algorithm: "ES256", Use: "sig"}}})
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(a.Close)
	return a
}

// claims returns the claims of a token that is right in all respects.
func (a *authority) claims(more map[string]any) map[string]any {
	c := map[string]any{"iss": a.URL, "aud": []string{"https://hub.example/mcp"}, "sub": "alice", "exp": time.Now().Add(time.Hour).Unix(), "iat": time.Now().Unix(), "scope": "mcp files"}
	maps.Copy(c, more)
	maps.DeleteFunc(c, func(_ string, v any) bool { return v == nil }) // nil: the claim is not there
	return c
}

func sign(t *testing.T, alg jose.SignatureAlgorithm, key any, id string, claims map[string]any) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: jose.JSONWebKey{Key: key, KeyID: id}}, (&jose.SignerOptions{}).WithType("at+jwt"))
	if err != nil {
		t.Fatal(err)
	}
	payload, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		t.Fatal(err)
	}
	token, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func (a *authority) token(t *testing.T, more map[string]any) string {
	return sign(t, jose.ES256, a.key, a.id, a.claims(more))
}

func (a *authority) verifier(also ...Issuer) *Verifier {
	return New(append([]Issuer{{URL: a.URL, Audience: "https://hub.example/mcp", Scopes: []string{"mcp"}}}, also...), a.Client())
}

func TestVerify(t *testing.T) {
	t.Parallel()
	a, other := newAuthority(t), newAuthority(t)
	v := a.verifier(Issuer{URL: other.URL, Audience: "https://hub.example/mcp"})
	public, err := a.key.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	none := func() string {
		payload, _ := json.Marshal(a.claims(nil))
		return base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) + "." + base64.RawURLEncoding.EncodeToString(payload) + "."
	}
	for _, tc := range []struct{ name, token, want string }{
		{"right", a.token(t, nil), ""},
		{"one audience as a text", a.token(t, map[string]any{"aud": "https://hub.example/mcp"}), ""},
		{"scopes as a list", a.token(t, map[string]any{"scope": nil, "scp": []string{"mcp"}}), ""},
		{"empty", "", "no JWT"},
		{"opaque", "s3cret", "no JWT"},
		{"deep", base64.RawURLEncoding.EncodeToString([]byte("{}")) + "." + base64.RawURLEncoding.EncodeToString([]byte(strings.Repeat("[", 5000))) + ".x", "no JWT"},
		{"long", strings.Repeat("a", 20<<10), "too long"},
		{"another issuer", a.token(t, map[string]any{"iss": "https://evil.example"}), "does not know"},
		{"signed by another issuer that counts", sign(t, jose.ES256, other.key, "k1", a.claims(nil)), "not valid"},
		{"another audience", a.token(t, map[string]any{"aud": "https://other.example/mcp"}), "audience"},
		{"an audience that only begins alike", a.token(t, map[string]any{"aud": "https://hub.example/mcp2"}), "audience"},
		{"no audience", a.token(t, map[string]any{"aud": nil}), "audience"},
		{"expired", a.token(t, map[string]any{"exp": time.Now().Add(-time.Minute).Unix()}), "expired"},
		{"without an end", a.token(t, map[string]any{"exp": nil}), "expired"},
		{"not yet", a.token(t, map[string]any{"nbf": time.Now().Add(time.Hour).Unix()}), "not valid"},
		{"unsigned", none(), "not valid"},
		{"signed by the public key as a secret", sign(t, jose.HS256, public, "k1", a.claims(nil)), "not valid"},
		{"changed", a.token(t, nil)[:40] + "A" + a.token(t, nil)[41:], ""},
		{"nobody", a.token(t, map[string]any{"sub": ""}), "names nobody"},
		{"a number for a name", a.token(t, map[string]any{"sub": 7}), "not valid"},
		{"a name of several lines", a.token(t, map[string]any{"sub": "alice\nbob"}), "names nobody"},
		{"a name in another direction", a.token(t, map[string]any{"sub": "alice\u202e"}), "names nobody"},
		{"a name that acts on a terminal", a.token(t, map[string]any{"sub": "alice\u009b2J"}), "names nobody"},
		{"too small a scope", a.token(t, map[string]any{"scope": "mcpx"}), `lacks a scope: "mcp"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			id, err := v.Verify(t.Context(), tc.token)
			switch {
			case tc.name == "changed":
				if err == nil {
					t.Error("a changed token counts")
				}
			case tc.want == "":
				if err != nil || id.Principal.Name != "alice" || id.Principal.Issuer != a.URL || id.Ceiling != nil {
					t.Errorf("%+v, %v", id, err)
				}
			case err == nil || !strings.Contains(err.Error(), tc.want):
				t.Errorf("%+v, %v; want %q", id, err, tc.want)
			case len(tc.token) > 20 && strings.Contains(err.Error(), tc.token[:20]):
				t.Errorf("the error has the token: %v", err)
			}
			if errors.Is(err, principal.ErrScope) != strings.Contains(tc.want, "scope") {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestCeiling(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	dirs := func(paths ...string) []rootsmgr.RootEntry {
		all := []rootsmgr.RootEntry{}
		for _, p := range paths {
			all = append(all, rootsmgr.RootEntry{URI: p})
		}
		return all
	}
	v := New([]Issuer{{URL: a.URL, Audience: "https://hub.example/mcp", Principal: "email", Ceiling: &Ceiling{"groups", map[string][]rootsmgr.RootEntry{
		"a": dirs("/srv/a"), "b": dirs("/srv/b", "/srv/shared"),
	}}}}, a.Client())
	for _, tc := range []struct {
		name   string
		claim  any
		values []string
		want   []rootsmgr.RootEntry
	}{
		{"one", "a", []string{"a"}, dirs("/srv/a")},
		{"several", []string{"b", "x", "a", "a"}, []string{"b", "a"}, dirs("/srv/b", "/srv/shared", "/srv/a")},
		{"none that counts", []string{"x"}, []string{}, dirs()},
		{"no claim", nil, []string{}, dirs()},
		{"two in one text", "a b", []string{}, dirs()},
		{"an object", map[string]any{"a": true}, []string{}, dirs()},
	} {
		t.Run(tc.name, func(t *testing.T) {
			id, err := v.Verify(t.Context(), a.token(t, map[string]any{"groups": tc.claim, "email": "alice@example.com"}))
			if err != nil {
				t.Fatal(err)
			}
			if id.Principal.Name != "alice@example.com" || id.Ceiling == nil {
				t.Errorf("%+v", id)
			}
			if diff := cmp.Diff(tc.values, id.Values); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tc.want, id.Ceiling); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A token may have the toolsets of the values of its claim, and none if no value counts. An issuer without toolsets says nothing about them.
func TestToolsets(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	of := func(sets *Toolsets) *Verifier {
		return New([]Issuer{{URL: a.URL, Audience: "https://hub.example/mcp", Principal: "sub", Toolsets: sets}}, a.Client())
	}
	with := of(&Toolsets{"groups", map[string][]string{"a": {"web"}, "b": {"ops", "web"}}})
	for _, tc := range []struct {
		verifier    *Verifier
		claim       any
		named, want []string
	}{
		{with, "a", []string{"a"}, []string{"web"}},
		{with, []string{"b", "x", "a", "a"}, []string{"a", "b"}, []string{"web", "ops", "web"}},
		{with, []string{"x"}, []string{}, []string{}},
		{with, nil, []string{}, []string{}},
		{with, map[string]any{"a": true}, []string{}, []string{}},
		{of(nil), "a", nil, nil},
	} {
		id, err := tc.verifier.Verify(t.Context(), a.token(t, map[string]any{"groups": tc.claim, "sub": "alice"}))
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(id.Named, tc.named) || !reflect.DeepEqual(id.Toolsets, tc.want) {
			t.Errorf("%v: %q and %q", tc.claim, id.Named, id.Toolsets)
		}
	}
}

// TestGroups: they are those of the claim that is named, in order, each once; what can be no name is left out.
func TestGroups(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	claimed := func(claim any) map[string]any { return map[string]any{"sub": "alice", "teams": claim} }
	for _, tc := range []struct {
		name, named string
		claim       any
		want        []string
	}{
		{"a list", "teams", []string{"ops", "dev", "ops"}, []string{"dev", "ops"}},
		{"one", "teams", "dev", []string{"dev"}},
		{"two in one text", "teams", "dev ops", []string{"dev ops"}},
		{"none", "teams", nil, nil},
		{"no names", "teams", []any{"", "a\x00b", "a\nb", "a\u2067b", 1, strings.Repeat("x", maxName+1), "dev"}, []string{"dev"}},
		{"no claim is named", "", []string{"dev"}, nil},
	} {
		v := New([]Issuer{{URL: a.URL, Audience: "https://hub.example/mcp", Groups: tc.named}}, a.Client())
		id, err := v.Verify(t.Context(), a.token(t, claimed(tc.claim)))
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
		}
		if diff := cmp.Diff(tc.want, id.Principal.Groups); diff != "" {
			t.Errorf("%s: %s", tc.name, diff)
		}
	}
	v := New([]Issuer{{URL: a.URL, Audience: "https://hub.example/mcp", Groups: "teams"}}, a.Client())
	var many []string
	for i := range maxGroups + 1 {
		many = append(many, strconv.Itoa(i))
	}
	if _, err := v.Verify(t.Context(), a.token(t, claimed(many))); err == nil {
		t.Error("more groups than are kept")
	}
}

// TestMetadata: where the metadata may be, and what it may not say.
func TestMetadata(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"} {
		a := newAuthority(t)
		a.at = at
		if _, err := a.verifier().Verify(t.Context(), a.token(t, nil)); err != nil {
			t.Errorf("%s: %v", at, err)
		}
	}
	a := newAuthority(t)
	a.issuer = "https://other.example"
	v, told := a.verifier(), ""
	v.Asked = func(_ string, err error) { told = err.Error() }
	if _, err := v.Verify(t.Context(), a.token(t, nil)); !errors.Is(err, principal.ErrUnreachable) || !strings.Contains(told, "is of the issuer") {
		t.Errorf("metadata of another issuer: %v, and the operator is told %q", err, told)
	}
	b := newAuthority(t)
	token := b.token(t, nil)
	b.Close()
	if _, err := b.verifier().Verify(t.Context(), token); err == nil || !strings.Contains(err.Error(), "cannot be asked") {
		t.Errorf("an issuer that is away: %v", err)
	}
}

// TestFloodOfKeys: tokens that name unknown keys do not make the hub ask the issuer each time, and a known token does
// not need it at all.
func TestFloodOfKeys(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	v := a.verifier()
	good := a.token(t, nil)
	if _, err := v.Verify(t.Context(), good); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if _, err := v.Verify(t.Context(), sign(t, jose.ES256, a.key, rand.Text(), a.claims(nil))); err == nil {
			t.Fatal("an unknown key counts")
		}
	}
	if n := a.fetched.Load(); n > 2 {
		t.Errorf("the keys were fetched %d times", n)
	}
	a.Close()
	if _, err := v.Verify(t.Context(), good); err != nil {
		t.Error(err)
	}
}

// TestManyTokens: what is kept of verified tokens is bounded.
func TestManyTokens(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	v := a.verifier()
	for i := range 2*maxKept + 10 {
		if _, err := v.Verify(t.Context(), a.token(t, map[string]any{"n": i})); err != nil {
			t.Fatal(err)
		}
	}
	if len(v.kept) > maxKept {
		t.Errorf("%d tokens are kept", len(v.kept))
	}
}
