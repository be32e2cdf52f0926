package logins_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"mcphub/cmd/mcphub/internal/oauth"
	"mcphub/cmd/mcphub/internal/oauth/logins"
	"mcphub/e2e/oauthtest"
	"mcphub/internal/callertoken"
	"mcphub/internal/principal"
)

const (
	grantExchange = "urn:ietf:params:oauth:grant-type:token-exchange"
	typeAccess    = "urn:ietf:params:oauth:token-type:access_token"
)

// An exchanger is an authorization server that exchanges the tokens of callers, "of NAME", for others, "for NAME".
type exchanger struct {
	*oauthtest.Server
	callers *callertoken.Table

	mu    sync.Mutex
	asked []url.Values // requests for an exchange
	words map[string]string
}

// anExchanger makes one; change changes the members of its answer, or takes them out with "".
func anExchanger(t *testing.T, words map[string]string) *exchanger {
	x := &exchanger{Server: oauthtest.New(t), callers: callertoken.New(), words: words}
	x.callers.SetWanted(true)
	x.Token = func(w http.ResponseWriter, f url.Values) bool {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.asked = append(x.asked, f)
		name, _ := strings.CutPrefix(f.Get("subject_token"), oauthtest.Canary+" of ")
		answer := map[string]string{"access_token": x.GiveAccess(name), "token_type": "Bearer", "expires_in": "3600", "issued_token_type": typeAccess, "refresh_token": oauthtest.Canary}
		for member, text := range x.words {
			if answer[member] = text; text == "" {
				delete(answer, member)
			}
		}
		w.Header().Set("Content-Type", "application/json")
		if answer["error"] != "" {
			w.WriteHeader(http.StatusBadRequest)
		}
		_ = json.NewEncoder(w).Encode(answer)
		return true
	}
	return x
}

// exchangesAsked returns the requests for an exchange.
func (x *exchanger) exchangesAsked() []url.Values {
	x.mu.Lock()
	defer x.mu.Unlock()
	return append([]url.Values(nil), x.asked...)
}

// openSession opens a session of someone for whom an issuer vouches, and shows a token in it.
func (x *exchanger) openSession(name, issuer string) (who principal.Principal, session *callertoken.Holder) {
	who = principal.Principal{Name: name, Issuer: issuer}
	session = x.callers.NewHolder(who, who.Key())
	session.KeepToken(oauthtest.Canary+" of "+name, time.Now().Add(time.Hour))
	return who, session
}

// sourceFor returns the Source of a principal.
func (x *exchanger) sourceFor(t *testing.T, st *logins.Store, key string, change func(o *logins.Options)) *logins.Source {
	t.Helper()
	o := logins.Options{
		Settings:  oauth.Settings{Server: x.Resource, Name: "protected", ClientID: "confidential", ClientSecret: x.Secret},
		Principal: key, Asked: true, Exchange: true, Callers: x.callers, At: "hub.json:7",
	}
	if change != nil {
		change(&o)
	}
	src, err := st.Source(o)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// TestExchange: each caller has a token of its own, in exchange for its own; it is used until it is refused or its session ends; and
// the server is sent no token of a caller.
func TestExchange(t *testing.T) {
	t.Parallel()
	x, st := anExchanger(t, nil), store(t.TempDir())
	alice, session := x.openSession("alice", x.Issuer)
	bob, _ := x.openSession("bob", x.Issuer)
	of := map[string]*logins.Source{}
	for _, who := range []principal.Principal{alice, bob} {
		of[who.Name] = x.sourceFor(t, st, who.Key(), nil)
	}
	want := func(src *logins.Source, user string, exchanges int) string {
		t.Helper()
		token, advice := src.Token(t.Context())
		if got := x.User(token); got != user || advice != "" || len(x.exchangesAsked()) != exchanges {
			t.Errorf("the token of %q, %q, after %d exchanges; want that of %q after %d", got, advice, len(x.exchangesAsked()), user, exchanges)
		}
		return token
	}
	want(of["alice"], "alice", 1)
	want(of["bob"], "bob", 2)
	want(of["alice"], "alice", 2)
	expect(t, of["alice"], x.Server, http.StatusOK, "")
	another := x.sourceFor(t, st, alice.Key(), nil) // of another session of hers
	want(another, "alice", 2)
	want(x.sourceFor(t, st, alice.Key(), func(o *logins.Options) { o.Settings.Name = "other entry" }), "alice", 3)
	for i, f := range x.exchangesAsked() {
		name := []string{"alice", "bob", "alice"}[i]
		if f.Get("grant_type") != grantExchange || f.Get("subject_token") != oauthtest.Canary+" of "+name || f.Get("subject_token_type") != typeAccess || f.Get("resource") != x.Resource {
			t.Errorf("asked for %q", f)
		}
	}

	// The server refuses all tokens: one exchange makes up for it, for all sessions.
	x.Expire()
	expect(t, of["alice"], x.Server, http.StatusOK, "")
	expect(t, another, x.Server, http.StatusOK, "")
	want(of["alice"], "alice", 4)

	// The newest token of a caller counts.
	session.KeepToken(oauthtest.Canary+" of newest", time.Now().Add(2*time.Hour))
	x.Change(func() { x.Life = -time.Second })
	x.Expire()
	expect(t, of["alice"], x.Server, http.StatusUnauthorized, `it refuses the token that `+x.Issuer+` gave in exchange for the caller's, and a new one too`)
	asked := x.exchangesAsked()
	expect(t, of["alice"], x.Server, http.StatusUnauthorized, `see "auth" of protected in hub.json (hub.json:7)`)
	if len(x.exchangesAsked()) != len(asked) {
		t.Errorf("a server that refuses all makes the hub ask %d times more", len(x.exchangesAsked())-len(asked))
	}
	x.Change(func() { x.Life = 0 })

	// No session, no token, although one was had.
	expect(t, of["bob"], x.Server, http.StatusOK, "")
	session.ForgetTokens()
	for _, src := range []*logins.Source{of["alice"], another} {
		if token, advice := src.Token(t.Context()); token != "" || !strings.Contains(advice, `call over HTTP with a token of one of "http.issuers"`) {
			t.Errorf("%q %q", token, advice)
		}
	}

	// Tokens of callers who have gone are forgotten when another one is had.
	before := len(x.exchangesAsked())
	want(x.sourceFor(t, st, bob.Key(), func(o *logins.Options) { o.Settings.Name = "other entry" }), "bob", before+1)
	x.openSession("alice", x.Issuer)
	want(x.sourceFor(t, st, alice.Key(), nil), "alice", before+2)
	for _, call := range x.Calls() {
		if call.User != "alice" && call.User != "bob" {
			t.Errorf("the server was called by %+v", call)
		}
	}
}

// TestExchangeEndsWithItsSession: what was had in exchange for a token counts no longer than a session holds that token. Else a caller whose rights were
// taken back, and whose sessions were ended for that, would call with the former rights again as soon as it begins another session.
func TestExchangeEndsWithItsSession(t *testing.T) {
	t.Parallel()
	x, st := anExchanger(t, nil), store(t.TempDir())
	alice, former := x.openSession("alice", x.Issuer)
	src := x.sourceFor(t, st, alice.Key(), nil)
	want := func(user string, exchanges int) {
		t.Helper()
		if token, advice := src.Token(t.Context()); x.User(token) != user || advice != "" || len(x.exchangesAsked()) != exchanges {
			t.Errorf("%q, %q after %d exchanges, want %q after %d", x.User(token), advice, len(x.exchangesAsked()), user, exchanges)
		}
	}
	want("alice", 1)
	former.ForgetTokens()
	_, session := x.openSession("alice", x.Issuer)
	want("alice", 2)
	want("alice", 2)
	session.KeepToken(oauthtest.Canary+" of older", time.Now().Add(time.Minute)) // lasts no longer than the one that is held
	want("alice", 2)
	session.KeepToken(oauthtest.Canary+" of newer", time.Now().Add(2*time.Hour))
	want("newer", 3)
	_, other := x.openSession("alice", x.Issuer) // another session of hers changes nothing
	want("newer", 3)
	other.ForgetTokens()
	want("newer", 3)
}

// TestACallGoesByItsOwnToken is an attack: a call comes with a token that may do less than another one that its principal has shown, and that lasts longer. It goes by
// what was had in exchange for its own token, also after the server has refused that, and by nothing if its own token is held no more or is another owner's. Control: what
// the hub asks by itself goes by the one that lasts longest.
func TestACallGoesByItsOwnToken(t *testing.T) {
	t.Parallel()
	x, st := anExchanger(t, nil), store(t.TempDir())
	alice, session := x.openSession("wide", x.Issuer)
	session.KeepToken(oauthtest.Canary+" of narrow", time.Now().Add(time.Minute))
	src := x.sourceFor(t, st, alice.Key(), nil)
	with := func(h *callertoken.Holder, name string) context.Context {
		return callertoken.NewContext(t.Context(), h.HeldToken(oauthtest.Canary+" of "+name))
	}
	want := func(ctx context.Context, user string, exchanges int) string {
		t.Helper()
		token, advice := src.Token(ctx)
		if x.User(token) != user || (advice == "") != (user != "") || len(x.exchangesAsked()) != exchanges {
			t.Errorf("%q, %q after %d exchanges, want %q after %d", x.User(token), advice, len(x.exchangesAsked()), user, exchanges)
		}
		return token
	}
	want(t.Context(), "wide", 1)
	narrow := with(session, "narrow")
	used := want(narrow, "narrow", 2)
	want(with(session, "wide"), "wide", 2)
	want(narrow, "narrow", 2)
	if token, advice, _ := src.Refused(narrow, used, http.StatusUnauthorized, http.Header{}); x.User(token) != "narrow" || token == used {
		t.Errorf("instead of a refused one: %q, %q", x.User(token), advice)
	}
	want(narrow, "narrow", 3)

	other := x.callers.NewHolder(alice, alice.Key()+"\x00\x00dev")
	other.KeepToken(oauthtest.Canary+" of dev", time.Now().Add(9*time.Hour))
	want(with(other, "dev"), "", 3)
	want(t.Context(), "wide", 3)
	want(with(session, "unknown"), "", 3)
	session.ForgetTokens()
	want(narrow, "", 3)
	if token, advice, _ := src.Refused(narrow, used, http.StatusUnauthorized, http.Header{}); token != "" || advice == "" || len(x.exchangesAsked()) != 3 {
		t.Errorf("after the end of its session: %q, %q", x.User(token), advice)
	}
}

// TestExchangeForNoOne: who has shown no token of an issuer gets no token, and no request is sent anywhere. Control: TestExchange.
func TestExchangeForNoOne(t *testing.T) {
	t.Parallel()
	x, st := anExchanger(t, nil), store(t.TempDir())
	x.Asked = func(r *http.Request) { t.Errorf("asked for %s", r.URL) }
	x.openSession("alice", x.Issuer)
	x.callers.NewHolder(principal.Principal{Name: "token"}, "token").KeepToken(oauthtest.Canary, time.Now().Add(time.Hour))
	for _, key := range []string{"", "token", "alice", "alice@elsewhere.example"} {
		expect(t, x.sourceFor(t, st, key, nil), x.Server, 0, "this caller has shown none of an issuer; call over HTTP")
	}
	expect(t, x.sourceFor(t, st, "alice@"+x.Issuer, func(o *logins.Options) { o.Callers = nil }), x.Server, 0, "this caller has shown none of an issuer; call over HTTP")
}

// TestTokensStayWithTheirIssuer is an attack: a server names another authorization server than the one that its caller's token is of, to
// get the tokens of those who call it. Control: hub.json names that authorization server for the server.
func TestTokensStayWithTheirIssuer(t *testing.T) {
	t.Parallel()
	x, far, st := anExchanger(t, nil), anExchanger(t, nil), store(t.TempDir())
	tenant, _ := x.openSession("alice", x.Issuer+"/tenant") // at the same address, so that nothing but its name keeps the token from it
	expect(t, x.sourceFor(t, st, tenant.Key(), nil), x.Server, 0, "the caller's token is of "+x.Issuer+"/tenant: it is not sent there; if it may be, write \"auth\": {\"issuer\": \""+x.Issuer+"\"}")
	alice, _ := x.openSession("alice", x.Issuer)
	x.Resources = func(m map[string]any) { m["authorization_servers"] = []string{far.Issuer} }
	src := x.sourceFor(t, st, alice.Key(), nil)
	expect(t, src, x.Server, 0, "is a private address")
	x.Resources, x.Metadata = nil, func(m map[string]any) { m["issuer"] = far.Issuer }
	expect(t, src, x.Server, 0, "says that it is another one")
	if n := len(far.exchangesAsked()) + len(x.exchangesAsked()); n != 0 {
		t.Errorf("%d exchanges", n)
	}
	x.Metadata = nil
	expect(t, src, x.Server, http.StatusOK, "")
	expect(t, x.sourceFor(t, st, tenant.Key(), func(o *logins.Options) { o.Settings.Issuer = x.Issuer }), x.Server, http.StatusOK, "")
	if n := len(x.exchangesAsked()); n != 2 {
		t.Errorf("the control: %d exchanges", n)
	}
}

// TestExchangeFails: an answer that is no token for the server is refused, and the error names the place and the next step.
func TestExchangeFails(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		words map[string]string
		want  string // of the error; "": there is none
	}{
		"control":             {nil, ""},
		"a JWT":               {map[string]string{"issued_token_type": "urn:ietf:params:oauth:token-type:jwt"}, ""},
		"an id token":         {map[string]string{"issued_token_type": "urn:ietf:params:oauth:token-type:id_token"}, `"issued_token_type"`},
		"no type":             {map[string]string{"issued_token_type": ""}, `"issued_token_type"`},
		"a type with a proof": {map[string]string{"token_type": "DPoP"}, `"token_type"`},
		"a type of its own":   {map[string]string{"token_type": "user"}, `"token_type"`},
		"no access token":     {map[string]string{"token_type": "N_A"}, `"token_type"`},
		"a refusal":           {map[string]string{"error": "unauthorized_client", "error_description": "not " + oauthtest.Canary + " of alice"}, "the authorization server answers unauthorized_client"},
		"the caller's own":    {map[string]string{"access_token": oauthtest.Canary + " of alice"}, "the caller's own token"},
		"nothing":             {map[string]string{"access_token": ""}, `"access_token"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x, st := anExchanger(t, test.words), store(t.TempDir())
			alice, _ := x.openSession("alice", x.Issuer)
			src := x.sourceFor(t, st, alice.Key(), nil)
			token, advice := src.Token(t.Context())
			switch {
			case test.want == "" && (advice != "" || x.User(token) != "alice"):
				t.Errorf("%q %q", token, advice)
			case test.want != "" && (token != "" || !strings.Contains(advice, test.want) || !strings.Contains(advice, x.Issuer+"/token") || !strings.Contains(advice, "hub.json:7") || strings.Contains(advice, oauthtest.Canary)):
				t.Errorf("%q %q, want %q", token, advice, test.want)
			}
		})
	}
}
