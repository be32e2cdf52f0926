package hub

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"mcphub/e2e/fronttest"
)

// A fleet is several hubs of one key that forward to each other.
type fleet struct {
	hubs []*web
	stop []func()
}

// newFleet starts hubs; change may change the options of each.
func newFleet(t testing.TB, n int, change func(i int, o *HTTPOptions)) *fleet {
	t.Helper()
	f := &fleet{}
	var all []*url.URL
	var listeners []net.Listener
	for range n {
		ln := fronttest.Listen(t)
		listeners = append(listeners, ln)
		all = append(all, &url.URL{Scheme: "http", Host: ln.Addr().String()})
	}
	for i, ln := range listeners {
		o := HTTPOptions{Tokens: []Token{{Name: "alice", Secret: "a"}, {Name: "bob", Secret: "b"}}, StateKeys: [][]byte{bytes.Repeat([]byte("k"), 32)}, Node: fmt.Sprint("hub-", i), Peers: all}
		if change != nil {
			change(i, &o)
		}
		h := newPlayedHub(t, askingKid("kid"))
		c, stop := fronttest.Run(t, &http.Transport{}, func(ctx context.Context) error { return h.ServeStreamableHTTP(ctx, ln, o) })
		f.hubs, f.stop = append(f.hubs, &web{t, "http://" + ln.Addr().String() + "/mcp", c}), append(f.stop, stop)
	}
	return f
}

// at returns a client that goes on at another hub with its session.
func (f *fleet) at(i int, c *webClient) *webClient {
	return &webClient{web: f.hubs[i], session: c.session, header: c.header, id: 1000 * (i + 1)}
}

// TestForwarding: a session goes on at whichever hub its client reaches. The control is TestASessionOfAnotherHub: without peers the
// session is unknown there.
func TestForwarding(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 3, nil)
	c := f.hubs[0].initialize(`{"elicitation":{"form":{}}}`, "Authorization", "Bearer a").initialized()
	for i := range f.hubs {
		other := f.at(i, c)
		if m := other.frames(other.request("ping", `{}`), nil); string(m.Result) != `{}` {
			t.Errorf("hub %d: a ping: %s%s", i, m.Result, m.Error)
		}
		if m := other.frames(other.request("tools/call", toolCall("kid__echo", `{"n":12345678901234567890}`)), nil); !strings.Contains(string(m.Result), "12345678901234567890") {
			t.Errorf("hub %d: a call: %s%s", i, m.Result, m.Error)
		}
	}
	if r := f.at(2, c).do("POST", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, headerSession, c.session, headerProtocol, "2025-11-25", "Authorization", "Bearer b"); r.StatusCode != http.StatusNotFound || r.Header.Get("Mcphub-Node") != "" {
		t.Errorf("another person at another hub: %d, of %q", r.StatusCode, r.Header.Get("Mcphub-Node"))
	}
	if r := f.at(1, c).do("DELETE", "", headerSession, c.session, headerProtocol, "2025-11-25", "Authorization", "Bearer a"); r.StatusCode != http.StatusNoContent {
		t.Errorf("the end of a session at another hub: %d", r.StatusCode)
	}
	if r := c.request("ping", `{}`); r.StatusCode != http.StatusNotFound {
		t.Errorf("the session has not ended at its own hub: %d", r.StatusCode)
	}
}

// TestForwardedStream: what a server tells comes on a stream at another hub, and the stream ends with the session.
func TestForwardedStream(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 2, nil)
	c := f.hubs[0].initialize(`{"elicitation":{"form":{}}}`, "Authorization", "Bearer a").initialized()
	other := f.at(1, c)
	stream := other.do("GET", "", headerSession, c.session, headerProtocol, "2025-11-25", "Authorization", "Bearer a", "Accept", "text/event-stream")
	if stream.StatusCode != http.StatusOK || !strings.HasPrefix(stream.Header.Get("Content-Type"), "text/event-stream") {
		t.Fatalf("the stream at another hub: %d %s", stream.StatusCode, body(t, stream))
	}
	ended := make(chan string, 1)
	go func() { ended <- body(t, stream) }()
	if r := c.do("DELETE", "", headerSession, c.session, headerProtocol, "2025-11-25", "Authorization", "Bearer a"); r.StatusCode != http.StatusNoContent {
		t.Fatal(r.StatusCode)
	}
	<-ended // the test's own limit bounds the wait
}

// TestForwardedQuestion: a call of 2026-07-28 that waits at one hub goes on at another. The control is TestACallSuspendedAtAnotherHub.
func TestForwardedQuestion(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 2, nil)
	ask := func(i int) *modernWeb {
		c := f.hubs[i].modern("a")
		c.caps = `{"elicitation":{"form":{}}}`
		c.answer = func(string, []byte) string { return `{"action":"accept","content":{}}` }
		return c
	}
	a, b := ask(0), ask(1)
	params := toolCall("kid__ask", elicits)
	r := b.once("tools/call", a.again(params, a.suspendCall("kid__ask", elicits).Result))
	if m, _ := b.outcome(r, nil); r.StatusCode != http.StatusOK || !strings.Contains(string(m.Result), `"action":"accept"`) {
		t.Errorf("%d: %s%s", r.StatusCode, m.Result, m.Error)
	}
}

// TestForwardingEnds: a session of a hub that has ended is unknown, and the other sessions go on.
func TestForwardingEnds(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 3, nil)
	gone := f.hubs[0].initialize(`{}`, "Authorization", "Bearer a").initialized()
	kept := f.hubs[1].initialize(`{}`, "Authorization", "Bearer a").initialized()
	for _, c := range []*webClient{gone, kept} {
		at := f.at(2, c)
		if r := at.request("ping", `{}`); r.StatusCode != http.StatusOK {
			t.Fatalf("before: %d", r.StatusCode)
		}
	}
	f.stop[0]()
	at := f.at(2, gone)
	if r := at.request("ping", `{}`); r.StatusCode != http.StatusNotFound || r.Header.Get("Mcphub-Node") != "hub-0" {
		t.Errorf("a session of a hub that has ended: %d, of %q", r.StatusCode, r.Header.Get("Mcphub-Node"))
	}
	at = f.at(2, kept)
	if r := at.request("ping", `{}`); r.StatusCode != http.StatusOK {
		t.Errorf("a session of another hub: %d", r.StatusCode)
	}
}

// TestForwardingIsNoWayIn: the header of a forwarded request is made by hubs alone, a name chooses no address, and an address without a
// key gets no token.
func TestForwardingIsNoWayIn(t *testing.T) {
	t.Parallel()
	var tokens atomic.Int32
	thief, _ := fakeHub(t, &tokens)
	f := newFleet(t, 2, func(_ int, o *HTTPOptions) { o.Peers = append([]*url.URL{thief}, o.Peers...) })
	c := f.hubs[0].initialize(`{}`, "Authorization", "Bearer a").initialized()
	at := f.at(1, c)
	if r := at.request("ping", `{}`); r.StatusCode != http.StatusOK {
		t.Errorf("beside an address that is no hub: %d", r.StatusCode)
	}
	if n := tokens.Load(); n != 0 {
		t.Errorf("an address without a key got %d tokens", n)
	}
	for name, value := range map[string]string{"made up": "x", "another sealed text": c.session} {
		if r := c.request("ping", `{}`, "Mcphub-Peer", value); r.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %d", name, r.StatusCode)
		}
	}
	for _, path := range []string{"/peer", "/peer?x"} {
		r, err := http.Get(strings.TrimSuffix(f.hubs[0].url, "/mcp") + path)
		if err != nil {
			t.Fatal(err)
		}
		if got := body(t, r); r.StatusCode != http.StatusNotFound || strings.Contains(got, "hub-0") {
			t.Errorf("%s tells a stranger: %d %s", path, r.StatusCode, got)
		}
	}
}

// fakeHub listens at an address and has no key. It counts the tokens that it is sent.
func fakeHub(t *testing.T, tokens *atomic.Int32) (at *url.URL, stop func()) {
	ln := fronttest.Listen(t)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			tokens.Add(1)
		}
		_, _ = w.Write([]byte("hub-0"))
	})}
	_, stop = fronttest.Run(t, &http.Transport{}, func(ctx context.Context) error {
		defer context.AfterFunc(ctx, func() { _ = server.Close() })()
		if err := server.Serve(ln); err != http.ErrServerClosed {
			return err
		}
		return nil
	})
	return &url.URL{Scheme: "http", Host: ln.Addr().String()}, stop
}

// TestForwardedRate: what a principal may do in a second is counted once for a request that is forwarded, at the hub that serves it.
func TestForwardedRate(t *testing.T) {
	t.Parallel()
	for bounded, refuses := range []bool{true, false} { // the first hub serves, the second forwards
		f := newFleet(t, 2, func(i int, o *HTTPOptions) {
			if i == bounded {
				o.Principal = PrincipalLimits{Rate: 1, Burst: 1}
			}
		})
		c := f.hubs[0].initialize(`{}`, "Authorization", "Bearer a").initialized()
		at, refused := f.at(1, c), 0
		for range 20 {
			r := at.request("tools/call", toolCall("kid__echo", `{}`))
			if body(t, r); r.StatusCode == http.StatusTooManyRequests {
				refused++
			}
		}
		if refused > 0 != refuses {
			t.Errorf("hub %d has a bound: %d of 20 calls are refused", bounded, refused)
		}
	}
}

// BenchmarkForwardedCall compares a call at the hub of its session with one that comes to another hub.
func BenchmarkForwardedCall(b *testing.B) {
	f := newFleet(b, 2, nil)
	c := f.hubs[0].initialize(`{}`, "Authorization", "Bearer a").initialized()
	for i, name := range []string{"direct", "forwarded"} {
		at := f.at(i, c)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if r := at.request("tools/call", toolCall("kid__echo", `{}`)); r.StatusCode != http.StatusOK || body(b, r) == "" {
					b.Fatal(r.StatusCode)
				}
			}
		})
	}
}
