package httpfront

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"mcphub/e2e/fronttest"
	"mcphub/hub/httpfront/admission"
	"mcphub/hub/httpfront/headers"
	"mcphub/internal/callertoken"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/principal"
	"mcphub/rootsmgr"
)

const initializeMessage = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

// vouched returns a resource whose tokens are "NAME" or "NAME until SECONDS", counted from the time it was made.
func vouched() *admission.Resource {
	start := time.Now()
	return &admission.Resource{
		URL: "https://hub.example/mcp", Issuers: []string{"https://login.example"}, Scopes: []string{"mcp"},
		Basis: func(caller admission.Caller) string { return admission.Basis("an issuer", caller.Values) },
		Verify: func(_ context.Context, token string) (admission.Caller, error) {
			var name, group string
			var seconds int
			_, _ = fmt.Sscanf(token, "%s of %s until %d", &name, &group, &seconds)
			switch {
			case name == "bad":
				return admission.Caller{}, errors.New(`the token is not valid: "quoted" é`)
			case name == "away":
				return admission.Caller{}, fmt.Errorf("%w: https://login.example", principal.ErrUnreachable)
			case name == "small":
				return admission.Caller{}, fmt.Errorf("%w: %q", principal.ErrScope, "mcp")
			}
			return admission.Caller{Principal: principal.Principal{Name: name, Issuer: "https://login.example"}, Values: []string{group}, Ceiling: []rootsmgr.RootEntry{{URI: "/srv/" + group}}, Expires: start.Add(time.Duration(seconds) * time.Second)}, nil
		},
	}
}

// TestChallenges: what a client without a good token is told (RFC 6750, RFC 9728).
func TestChallenges(t *testing.T) {
	t.Parallel()
	w := serveWeb(t, newFakeHub(), FrontOptions{Tokens: []admission.Token{{Name: "static", Secret: "s3cret"}}, Resource: vouched()})
	where := `resource_metadata="https://hub.example/.well-known/oauth-protected-resource/mcp"`
	for _, tc := range []struct {
		name, header string
		status       int
		want         []string
	}{
		{"none", "", 401, []string{"Bearer realm=", where, `scope="mcp"`}},
		{"another scheme", "Basic Z29vZA==", 401, []string{where}},
		{"bad", "Bearer bad", 401, []string{where, `error="invalid_token"`, `error_description="the token is not valid: \"quoted\" ?"`}},
		{"small", "Bearer small", 403, []string{where, `error="insufficient_scope"`, `scope="mcp"`}},
		{"of an issuer that is away", "Bearer away", 503, nil},
		{"good", "Bearer alice of a until 60", 200, nil},
		{"static", "Bearer s3cret", 200, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := w.do(http.MethodPost, initializeMessage, "Authorization", tc.header)
			got := r.Header.Get("WWW-Authenticate")
			if r.StatusCode != tc.status || (tc.want == nil) != (got == "") {
				t.Fatalf("%d, %q", r.StatusCode, got)
			}
			if again := r.Header.Get("Retry-After"); (again != "") != (tc.status == 503) {
				t.Errorf("Retry-After: %q", again)
			}
			for _, part := range tc.want {
				if !strings.Contains(got, part) {
					t.Errorf("%q lacks %q", got, part)
				}
			}
			if tc.want == nil {
				return
			}
			all, err := oauthex.ParseWWWAuthenticate([]string{got})
			if err != nil || len(all) != 1 || all[0].Params["resource_metadata"] == "" {
				t.Errorf("a client reads %+v, %v", all, err)
			}
		})
	}
}

func TestResourceMetadata(t *testing.T) {
	t.Parallel()
	w := serveWeb(t, newFakeHub(), FrontOptions{Resource: vouched()})
	for _, path := range []string{"/.well-known/oauth-protected-resource" + "/mcp", "/.well-known/oauth-protected-resource"} {
		r := fronttest.Do(t, w.c, http.MethodGet, strings.TrimSuffix(w.url, endpoint)+path, "")
		var m oauthex.ProtectedResourceMetadata
		if err := json.Unmarshal([]byte(fronttest.Body(t, r)), &m); err != nil {
			t.Fatal(err)
		}
		if m.Resource != "https://hub.example/mcp" || len(m.AuthorizationServers) != 1 || m.ScopesSupported[0] != "mcp" {
			t.Errorf("%+v", m)
		}
	}
	plain := serveWeb(t, newFakeHub(), FrontOptions{})
	if r := fronttest.Do(t, plain.c, http.MethodGet, strings.TrimSuffix(plain.url, endpoint)+"/.well-known/oauth-protected-resource", ""); r.StatusCode != http.StatusNotFound {
		t.Errorf("without a resource: %d", r.StatusCode)
	}
}

// TestWhoseSession: a session belongs to one principal with one ceiling.
func TestWhoseSession(t *testing.T) {
	t.Parallel()
	w := serveWeb(t, newFakeHub(), FrontOptions{Resource: vouched()})
	opened := w.do(http.MethodPost, initializeMessage, "Authorization", "Bearer alice of a until 60")
	id := opened.Header.Get(headers.Session)
	for token, want := range map[string]int{
		"alice of a until 60": http.StatusAccepted, "alice of a until 90": http.StatusAccepted,
		"alice of b until 60": http.StatusNotFound, "bob of a until 60": http.StatusNotFound,
	} {
		r := w.do(http.MethodPost, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, "Authorization", "Bearer "+token, headers.Session, id)
		if r.StatusCode != want {
			t.Errorf("%s: %d, want %d", token, r.StatusCode, want)
		}
	}
}

// TestExpiry: a session ends with its token, unless its client has shown a later one.
func TestExpiry(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		later bool
		lives time.Duration
	}{{"one token", false, 60 * time.Second}, {"a later one", true, 90 * time.Second}} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				session := newFrontSession("id", admission.Caller{Principal: principal.Principal{Name: "alice"}}, 1, nil)
				start := time.Now()
				session.extendTo(start.Add(60 * time.Second))
				if tc.later {
					session.extendTo(start.Add(90 * time.Second))
					session.extendTo(start.Add(30 * time.Second)) // the older of two that are shown in turn
				}
				<-session.ctx.Done()
				if got := time.Since(start); got != tc.lives {
					t.Errorf("it lived %s", got)
				}
				if context.Cause(session.ctx) != errExpired {
					t.Error(context.Cause(session.ctx))
				}
				session.closeSession()
			})
		})
	}
}

// TestTokensAreHeldForSessions: the newest token that admitted a request of a session is held as long as the session, in both eras, and
// only if one is wanted. What was refused, and what came for the session of another, is not.
func TestTokensAreHeldForSessions(t *testing.T) {
	t.Parallel()
	for _, era := range []struct {
		name    string
		message string
		header  []string
	}{{"handshake", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + call("token", "{}") + `}`, nil}, {"2026-07-28", modernCall, modernHeaders}} {
		t.Run(era.name, func(t *testing.T) {
			table := callertoken.New()
			synctest.Test(t, func(t *testing.T) {
				h := newFakeHub()
				h.modern = fakeRequest{hasMethod: true, serve: func(ctx context.Context, _ *ModernExchange) jsonrpc.Answer {
					return jsonrpc.ResultAnswer([]byte(tokenIn(ctx)))
				}}
				w, _, _ := bubbleWeb(t, h, FrontOptions{Resource: vouched(), Tokens: []admission.Token{{Name: "static", Secret: "s3cret"}}, Callers: table})
				held := func(name, want string) {
					t.Helper()
					owner := admission.Caller{Principal: principal.Principal{Name: name, Issuer: "https://login.example"}, Values: []string{"a"}}.Owner()
					if got, _ := table.NewestToken(owner); got.Reveal() != want {
						t.Errorf("%s: %q is held, want %q", name, got.Reveal(), want)
					}
				}
				var id []string
				send := func(token, has string) {
					t.Helper()
					r := w.do(http.MethodPost, era.message, append(append([]string{"Authorization", "Bearer " + token}, era.header...), id...)...)
					if got := body(w.t, r); r.StatusCode == http.StatusOK && !strings.Contains(got, has) || (r.StatusCode == http.StatusOK) != (has != "") {
						t.Errorf("%s: %d %s, want %s", token, r.StatusCode, got, has)
					}
				}
				shown := func(token string) string { return fmt.Sprintf(`{"token":%q,"has":true}`, token) }
				const none = `{"token":"","has":false}`
				if era.header == nil {
					id = []string{headers.Session, w.do(http.MethodPost, initializeMessage, "Authorization", "Bearer alice of a until 60").Header.Get(headers.Session)}
				}
				send("alice of a until 60", none)
				held("alice", "")
				table.SetWanted(true)
				send("alice of a until 60", shown("alice of a until 60"))
				held("alice", "alice of a until 60")
				send("alice of a until 90", shown("alice of a until 90"))
				send("alice of a until 60", shown("alice of a until 60")) // a request goes by its own token
				held("alice", "alice of a until 90")
				send("bad", "")
				if era.header == nil { // it is not their session
					send("s3cret", "")
					send("alice of b until 99", "")
					send("bob of a until 60", "")
					held("bob", "")
				} else {
					send("s3cret", none)
					send("alice of b until 99", shown("alice of b until 99"))
				}
				held("alice", "alice of a until 90")
				if _, ok := table.NewestToken("static"); ok {
					t.Error("a configured token is held")
				}
				for _, session := range h.open() {
					session.End()
				}
				h.front.Load().mu.Lock()
				for _, session := range h.front.Load().modernSessions {
					session.End()
				}
				h.front.Load().mu.Unlock()
				synctest.Wait()
				held("alice", "")
			})
		})
	}
}
