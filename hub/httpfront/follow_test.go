package httpfront

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"mcphub/e2e/fronttest"
	"mcphub/hub/httpfront/admission"
	"mcphub/hub/httpfront/headers"
	"mcphub/internal/principal"
	"mcphub/rootsmgr"
)

func token(name, secret string, roots ...string) admission.Token {
	t := admission.Token{Name: name, Secret: secret}
	for _, dir := range roots {
		t.Roots = append(t.Roots, rootsmgr.RootEntry{URI: dir})
	}
	return t
}

func as(secret string) []string { return []string{"Authorization", "Bearer " + secret} }

// The end of a token, or another one under its name, ends what came with it, within a second, and
// none of others.
func TestTheEndOfATokenEndsItsSessions(t *testing.T) {
	t.Parallel()
	all := []admission.Token{token("leaked", "leaked-secret"), token("stays", "stays-secret", "/srv/a")}
	for name, next := range map[string][]admission.Token{
		"taken out":       {token("stays", "stays-secret", "/srv/a")},
		"another secret":  {token("leaked", "other-secret"), token("stays", "stays-secret", "/srv/a")},
		"renamed":         {token("renamed", "leaked-secret"), token("stays", "stays-secret", "/srv/a")},
		"other directory": {token("leaked", "leaked-secret", "/srv/b"), token("stays", "stays-secret", "/srv/a")},
		"control":         all,
	} {
		t.Run(name, func(t *testing.T) {
			hostile(t, FrontOptions{Tokens: all}, func(t *testing.T, h *fakeHub, w *web, _ *fronttest.Memory) {
				leaked, stays := w.initialize(`{}`, as("leaked-secret")...).initialized(), w.initialize(`{}`, as("stays-secret")...).initialized()
				listens := leaked.do("GET", "", append(as("leaked-secret"), headers.Session, leaked.session)...)
				heard := make(chan struct{})
				go func() { _, _ = io.Copy(io.Discard, listens.Body); close(heard) }()
				cut, kept := leaked.later(5*time.Second), stays.later(5*time.Second)
				synctest.Wait()
				follow, err := h.front.Load().Prepare(FrontOptions{Tokens: next, Hosts: []string{"hub.test"}})
				if err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				follow()
				if name == "control" {
					if got := <-cut; !strings.Contains(got, `"done":true`) {
						t.Errorf("a call of an unchanged token: %s", got)
					}
					<-kept
					return
				}
				<-heard
				if got := <-cut; !strings.Contains(got, "cancelled") {
					t.Errorf("a call under way: %s", got)
				}
				if took := time.Since(began); took > time.Second {
					t.Errorf("it took %s", took)
				}
				want := map[string]int{"renamed": http.StatusNotFound, "other directory": http.StatusNotFound}[name]
				if want == 0 {
					want = http.StatusUnauthorized // also on the connection that the secret was shown on before
				}
				if r := leaked.request("ping", `{}`); r.StatusCode != want {
					t.Errorf("the session: %d, want %d", r.StatusCode, want)
				}
				if got := <-kept; !strings.Contains(got, `"done":true`) {
					t.Errorf("a call of somebody else: %s", got)
				}
				if n := len(h.open()); n != 1 {
					t.Errorf("%d sessions run", n)
				}
			})
		})
	}
}

// A request without a session ends with its token, and the next is asked by what holds then.
func TestTheEndOfATokenEndsRequestsWithoutSession(t *testing.T) {
	t.Parallel()
	hostile(t, FrontOptions{Tokens: []admission.Token{token("leaked", "leaked-secret"), token("stays", "stays-secret")}}, func(t *testing.T, h *fakeHub, w *web, _ *fronttest.Memory) {
		h.modern = fakeRequest{hasMethod: true, serve: serveFor(5 * time.Second)}
		ask := func(secret string) *http.Response {
			return w.do("POST", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","_meta":{"`+mcp.MetaKeyProtocolVersion+`":"2026-07-28"}}}`,
				append(as(secret), headers.Protocol, "2026-07-28", mcp.HeaderMethod, "tools/call", mcp.HeaderName, "x")...)
		}
		cut, kept := make(chan *http.Response, 1), make(chan *http.Response, 1)
		go func() { cut <- ask("leaked-secret") }()
		go func() { kept <- ask("stays-secret") }()
		synctest.Wait()
		follow, err := h.front.Load().Prepare(FrontOptions{Tokens: []admission.Token{token("stays", "stays-secret")}, Hosts: []string{"hub.test"}})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		follow()
		if r := <-cut; r.StatusCode != http.StatusServiceUnavailable || time.Since(began) > time.Second {
			t.Errorf("%d after %s", r.StatusCode, time.Since(began))
		}
		if r := ask("leaked-secret"); r.StatusCode != http.StatusUnauthorized {
			t.Errorf("a further one: %d", r.StatusCode)
		}
		if r := <-kept; r.StatusCode != http.StatusOK {
			t.Errorf("somebody else: %d", r.StatusCode)
		}
	})
}

// FrontOptions by which no one could call change nothing.
func TestPrepareRefuses(t *testing.T) {
	t.Parallel()
	hostile(t, FrontOptions{Tokens: []admission.Token{token("a", "secret")}}, func(t *testing.T, h *fakeHub, w *web, _ *fronttest.Memory) {
		c := w.initialize(`{}`, as("secret")...).initialized()
		for _, options := range []FrontOptions{{}, {Tokens: []admission.Token{token("a", "x"), token("b", "x")}}, {Open: true, LocalToken: "x"}} {
			if _, err := h.front.Load().Prepare(options); err == nil {
				t.Errorf("%+v was taken", options)
			}
		}
		if r := c.request("ping", `{}`); r.StatusCode != http.StatusOK {
			t.Errorf("%d", r.StatusCode)
		}
	})
}

// Who was admitted just before a reload, and comes to its turn after it, gets in no more.
func TestNobodyEntersByFormerSettings(t *testing.T) {
	t.Parallel()
	hostile(t, FrontOptions{Tokens: []admission.Token{token("leaked", "leaked-secret")}}, func(t *testing.T, h *fakeHub, w *web, _ *fronttest.Memory) {
		synctest.Wait()
		f := h.front.Load()
		was := f.active.Load().admission
		caller := admission.Caller{Basis: admission.Basis(token("leaked", "leaked-secret"))}
		if !was.StillAdmits(caller) {
			t.Fatal("the token has another basis")
		}
		follow, err := f.Prepare(FrontOptions{Tokens: []admission.Token{token("other", "other-secret")}})
		if err != nil {
			t.Fatal(err)
		}
		follow()
		if err := f.enterSession(newFrontSession("id", caller, 1, &f.slow)); err != refusedRevoked {
			t.Errorf("a session: %v", err)
		}
		if _, err := f.enterModernSession(caller, &http.Request{}); err != refusedRevoked {
			t.Errorf("a request without a session: %v", err)
		}
	})
}

// How long a session may be idle, and what one principal may have, follow the settings.
func TestIdleTimeAndLimitsFollowAReload(t *testing.T) {
	t.Parallel()
	a, b := token("a", "a-secret"), token("b", "b-secret")
	hostile(t, FrontOptions{Sessions: 4, Tokens: []admission.Token{a}}, func(t *testing.T, h *fakeHub, _ *web, _ *fronttest.Memory) {
		synctest.Wait()
		f := h.front.Load()
		open := func(id string) *refusal {
			return f.enterSession(newFrontSession(id, admission.Caller{Principal: principal.Principal{Name: "a"}, Basis: admission.Basis(a)}, 1, &f.slow))
		}
		count := func() int {
			f.mu.Lock()
			defer f.mu.Unlock()
			return len(f.sessions)
		}
		for _, id := range []string{"1", "2", "3"} {
			if err := open(id); err != nil {
				t.Fatal(err)
			}
		}
		follow, err := f.Prepare(FrontOptions{Idle: time.Hour, Tokens: []admission.Token{a, b}})
		if err != nil {
			t.Fatal(err)
		}
		follow()
		if err := open("4"); err == nil || !strings.Contains(err.Error(), "limits.principal.sessions") {
			t.Errorf("three quarters of the sessions are taken, and there is another token: %v", err)
		}
		if time.Sleep(31 * time.Minute); count() != 3 {
			t.Error("a session ended by the former time")
		}
		if time.Sleep(time.Hour); count() != 0 {
			t.Error("a session did not end by the new time")
		}
	})
}
