package hub

import (
	"net/http"
	"strings"
	"testing"

	"mcphub/e2e/childtest"
)

// One principal fills limits.children with its sessions and goes away. Another one gets its server
// all the same. Control: while the first one's clients are there, it is refused, and told why.
func TestHTTPChildrenOfIdleSessionsYield(t *testing.T) {
	for _, there := range []bool{false, true} {
		cfg := testConfig(t, scripted("kid", childtest.Script{}))
		cfg.Launcher, cfg.Limits.Children = childtest.Pipes{}, 4
		w := serveWeb(t, runHub(t, cfg), HTTPOptions{Tokens: []Token{{Name: "greedy", Secret: "a"}, {Name: "modest", Secret: "b"}}})
		call := func(c *webClient) string {
			return body(t, c.request("tools/call", toolCall("kid__echo", `{"a":1}`)))
		}
		for range 4 {
			c := w.initialize(`{}`, "Authorization", "Bearer a").initialized()
			if there {
				r := c.do("GET", "", append([]string{headerSession, c.session}, c.header...)...)
				if r.StatusCode != http.StatusOK {
					t.Fatal(r.Status)
				}
				defer r.Body.Close()
			}
			if got := call(c); !strings.Contains(got, `"a":1`) {
				t.Fatal(got)
			}
		}
		got := call(w.initialize(`{}`, "Authorization", "Bearer b").initialized())
		if served := strings.Contains(got, `"a":1`); served == there {
			t.Errorf("clients there %v: %s", there, got)
		}
		if there && !strings.Contains(got, "as many as limits.children in hub.json allows") {
			t.Errorf("it was not told why: %s", got)
		}
	}
}

// A principal is held to its own part of the children, and told which bound it is at.
func TestHTTPChildrenOfOnePrincipal(t *testing.T) {
	cfg := testConfig(t, scripted("kid", childtest.Script{}))
	cfg.Launcher, cfg.Limits.Children, cfg.Limits.PrincipalChildren = childtest.Pipes{}, 4, 2
	w := serveWeb(t, runHub(t, cfg), HTTPOptions{Tokens: []Token{{Name: "greedy", Secret: "a"}, {Name: "modest", Secret: "b"}}})
	for n, c := range []struct{ secret, want string }{
		{"a", `"a":1`}, {"a", `"a":1`}, {"a", "greedy runs 2 children, as many as limits.principal.children in hub.json allows"}, {"b", `"a":1`},
	} {
		got := body(t, w.initialize(`{}`, "Authorization", "Bearer "+c.secret).initialized().request("tools/call", toolCall("kid__echo", `{"a":1}`)))
		if !strings.Contains(got, c.want) {
			t.Errorf("call %d: %s", n, got)
		}
	}
}

// If there come to be several principals, each is held to its part of the children that there are, and if there is one again
// that one may have them all. Control: without the change no one is refused.
func TestHTTPChildrenOfOnePrincipalFollow(t *testing.T) {
	for _, several := range []bool{true, false} {
		cfg := testConfig(t, scripted("kid", childtest.Script{}))
		cfg.Launcher, cfg.Limits.Children = childtest.Pipes{}, 4
		h := runHub(t, cfg)
		w := serveWeb(t, h, HTTPOptions{Tokens: []Token{{Name: "greedy", Secret: "a"}}})
		call := func() string {
			return body(t, w.initialize(`{}`, "Authorization", "Bearer a").initialized().request("tools/call", toolCall("kid__echo", `{"a":1}`)))
		}
		apply := func(several bool) {
			t.Helper()
			cfg.Limits.MultiplePrincipals, cfg.Limits.Children = several, 400 // of which only what there is at the start counts
			if _, err := h.Apply(t.Context(), cfg); err != nil {
				t.Fatal(err)
			}
		}
		for range 3 {
			if got := call(); !strings.Contains(got, `"a":1`) {
				t.Fatal(got)
			}
		}
		apply(several)
		got := call()
		if refused := strings.Contains(got, "greedy runs 3 children, as many as limits.principal.children in hub.json allows"); refused != several {
			t.Errorf("several %v: %s", several, got)
		}
		if apply(false); several {
			if got := call(); !strings.Contains(got, `"a":1`) {
				t.Errorf("one again: %s", got)
			}
		}
	}
}
