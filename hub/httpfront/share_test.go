package httpfront

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mcphub/hub/httpfront/admission"
	"mcphub/hub/httpfront/headers"
	"mcphub/hub/httpfront/quota"
)

var (
	ofA = []string{"Authorization", "Bearer a"}
	ofB = []string{"Authorization", "Bearer b"}
)

// twoPrincipals returns a front that a and b may call.
func twoPrincipals(t *testing.T, h *fakeHub, l quota.Limits) *web {
	t.Helper()
	w, _, _ := bubbleWeb(t, h, FrontOptions{Tokens: []admission.Token{{Name: "a", Secret: "a"}, {Name: "b", Secret: "b"}}, Principal: l})
	return w
}

// A principal that makes more calls than its rate is told, and when it may again; in whatever
// session, and also after it has ended them all. No one else is.
func TestPrincipalRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := twoPrincipals(t, newFakeHub(), quota.Limits{Rate: 2, Burst: 3})
		call := func(c *webClient) *http.Response {
			return c.request("tools/call", `{"name":"echo","arguments":{}}`)
		}
		a := w.initialize(`{}`, ofA...).initialized()
		for n := range 3 {
			if r := call(a); r.StatusCode != http.StatusOK {
				t.Fatalf("call %d: %d", n, r.StatusCode)
			}
		}
		if r := w.do("DELETE", "", append([]string{headers.Session, a.session}, ofA...)...); r.StatusCode >= 300 {
			t.Fatal(r.StatusCode)
		}
		a = w.initialize(`{}`, ofA...).initialized()
		r := call(a)
		if text := body(t, r); r.StatusCode != http.StatusTooManyRequests || r.Header.Get("Retry-After") != "1" || !strings.Contains(text, "a makes more than 2 calls a second (limits.principal.rate): send it again in 500ms") {
			t.Errorf("%d %v %s", r.StatusCode, r.Header, text)
		}
		if r := a.request("tools/list", `{}`); r.StatusCode != http.StatusOK {
			t.Errorf("what goes to no server: %d", r.StatusCode)
		}
		if r := call(w.initialize(`{}`, ofB...).initialized()); r.StatusCode != http.StatusOK {
			t.Errorf("another principal: %d", r.StatusCode)
		}
		time.Sleep(500 * time.Millisecond)
		if r := call(a); r.StatusCode != http.StatusOK {
			t.Errorf("after as long as it was told: %d", r.StatusCode)
		}
	})
}

// All sessions of a principal together have no more requests under way than it may. More of
// them wait, and others are refused and told.
func TestPrincipalCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newFakeHub()
		w := twoPrincipals(t, h, quota.Limits{Calls: 2})
		clients := []*webClient{w.initialize(`{}`, ofA...).initialized(), w.initialize(`{}`, ofA...).initialized()}
		var calls sync.WaitGroup
		for n := range 2 * (quota.Waiting + 1) {
			calls.Go(func() { clients[n%2].request("tools/call", `{"name":"sleep"}`) })
		}
		synctest.Wait()
		time.Sleep(time.Second)
		synctest.Wait()
		if n := working(h); n != 2 {
			t.Errorf("%d are under way", n)
		}
		r := clients[0].request("tools/call", `{"name":"echo","arguments":{}}`)
		if text := body(t, r); r.StatusCode != http.StatusTooManyRequests || !strings.Contains(text, "a has 2 calls under way (limits.principal.calls), and 8 that wait: send it again when one of them has ended") {
			t.Errorf("%d %s", r.StatusCode, text)
		}
		if r := w.initialize(`{}`, ofB...).initialized().request("tools/call", `{"name":"echo","arguments":{}}`); r.StatusCode != http.StatusOK {
			t.Errorf("another principal: %d", r.StatusCode)
		}
		for _, c := range clients {
			w.do("DELETE", "", append([]string{headers.Session, c.session}, ofA...)...)
		}
		calls.Wait()
		if r := w.initialize(`{}`, ofA...).initialized().request("tools/call", `{"name":"echo","arguments":{}}`); r.StatusCode != http.StatusOK {
			t.Errorf("after they have ended: %d", r.StatusCode)
		}
	})
}

// However many call with one token, the hub works for a few of them at a time: the others wait
// if they delay no one. Calls that wait for their servers do not count for long.
func TestPrincipalQueuesApart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		tokens int  // that there are
		other  bool // the other one has called within quota.CallTime
		want   int  // of 300 that the hub works for at once
	}{
		{"another one calls", 2, true, quota.WorksAtOnce()}, {"control: nobody else calls", 2, false, 300}, {"control: the local user", 0, false, 300},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newFakeHub()
				h.limits.Calls = 300
				options := FrontOptions{}
				who := []string(nil)
				if c.tokens > 0 {
					options.Tokens, who = []admission.Token{{Name: "a", Secret: "a"}, {Name: "b", Secret: "b"}}, ofA
				}
				w, _, _ := bubbleWeb(t, h, options)
				if c.tokens > 0 {
					w.initialize(`{}`, ofB...).initialized()
				}
				a := w.initialize(`{}`, who...).initialized()
				if !c.other {
					time.Sleep(quota.CallTime)
				}
				var calls sync.WaitGroup
				for n := range 300 {
					calls.Go(func() {
						a.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"n%d","method":"tools/call","params":{"name":"sleep"}}`, n))
					})
				}
				synctest.Wait()
				if n := working(h); n != c.want {
					t.Errorf("the hub works for %d", n)
				}
				time.Sleep(time.Duration(300/quota.WorksAtOnce()) * quota.WorkTime)
				synctest.Wait()
				if n := working(h); n != 300 {
					t.Errorf("%d are under way after a while", n)
				}
				w.do("DELETE", "", append([]string{headers.Session, a.session}, who...)...)
				calls.Wait()
			})
		})
	}
}

// working is for how many requests the front has begun to work.
func working(h *fakeHub) (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sleeping
}
