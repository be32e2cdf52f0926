package httpfront

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"mcphub/hub/httpfront/admission"
	"mcphub/hub/httpfront/headers"
	"mcphub/hub/httpfront/quota"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/principal"
)

// What one principal can take of what all hold together. The control of each is the same front with
// one principal: there is no one whom it could take it from.

var both = []admission.Token{{Name: "a", Secret: "a"}, {Name: "b", Secret: "b"}}

// postOf returns a whole POST of a token's client up to its body.
func postOf(token, session string) string {
	return plainHead + "Content-Type: application/json\r\nAuthorization: Bearer " + token + "\r\n" + headers.Session + ": " + session + "\r\n"
}

// largePing is a request of more than a megabyte.
var largePing = `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"` + strings.Repeat("x", 1<<20) + `"}}`

// However many sessions a principal sends large bodies in, or opens and ends to do so, there is room for the
// ones of another.
func TestBodiesAreDivided(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		tokens []admission.Token
		ends   bool // the sessions are ended while their requests are read
		want   int  // large bodies that are held
	}{
		{"of two", both, false, allBodies / 2},
		{"of two, in sessions that end", both, true, allBodies / 2},
		{"control: of one", both[:1], false, allBodies},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newFakeHub()
				h.limits.Frame = 2 << 20
				w, m, _ := bubbleWeb(t, h, FrontOptions{Tokens: tc.tokens})
				const size = 2<<20 - 10
				chunk := fmt.Sprintf("%x\r\n%s\r\n", size, strings.Repeat(" ", size))
				reading := 0
				for range 2 * allBodies {
					s := w.initialize(`{}`, ofA...).initialized()
					c := raw(t, m, postOf("a", s.session)+"Transfer-Encoding: chunked\r\n\r\n1\r\n \r\n")
					synctest.Wait()
					if tc.ends {
						w.do("DELETE", "", append([]string{headers.Session, s.session}, ofA...)...)
						synctest.Wait()
					}
					go func() { _, _ = io.WriteString(c, chunk) }()
					synctest.Wait()
					_ = c.SetReadDeadline(time.Now().Add(time.Millisecond))
					if n, _ := c.Read(make([]byte, 1)); n == 0 {
						reading++
					}
				}
				if reading != tc.want {
					t.Errorf("%d large bodies are held, want %d", reading, tc.want)
				}
				if len(tc.tokens) > 1 {
					if r := w.initialize(`{}`, ofB...).initialized().send(largePing); r.StatusCode != http.StatusOK {
						t.Errorf("another principal: %d %s", r.StatusCode, body(t, r))
					}
				}
			})
		})
	}
}

// Large answers that a principal does not read, of however many sessions, leave room for the answers to another.
func TestAnswersAreDivided(t *testing.T) {
	t.Parallel()
	for _, tokens := range [][]admission.Token{both, both[:1]} {
		t.Run(fmt.Sprint(len(tokens)), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newFakeHub()
				h.limits.Frame = 1<<20 + 1<<10
				w, m, _ := bubbleWeb(t, h, FrontOptions{Tokens: tokens})
				for range 2 * allBodies {
					s := w.initialize(`{}`, ofA...).initialized()
					text := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":%s}`, call("large", `{}`))
					raw(t, m, postOf("a", s.session)+fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(text), text))
				}
				synctest.Wait()
				held := int(h.front.Load().unreadAnswers.taken.Load() >> 20)
				if want := map[int]int{1: allBodies, 2: allBodies / 2}[len(tokens)]; held != want {
					t.Errorf("%d large answers wait, want %d", held, want)
				}
				if len(tokens) > 1 {
					b := w.initialize(`{}`, ofB...).initialized()
					if a := b.frames(b.request("tools/call", call("large", `{}`)), nil); len(a.Result) < 1<<20 {
						t.Errorf("another principal: %s", a.Error)
					}
				}
			})
		})
	}
}

// A principal that opens connections without end leaves some to another, and is told. When they
// are closed it has them again. A connection on which another principal comes is that one's.
func TestConnectionsAreDivided(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tokens []admission.Token
		calls  int // that a principal may have
	}{{both, 1}, {both, 3}, {both[:1], 1}} {
		tokens := c.tokens
		t.Run(fmt.Sprint(len(tokens), c.calls), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newFakeHub()
				h.limits.Calls = 1
				w, m, _ := bubbleWeb(t, h, FrontOptions{Tokens: tokens, Sessions: 4, Principal: quota.Limits{Calls: c.calls}})
				ask := func(c net.Conn, token string) string {
					t.Helper()
					_, _ = io.WriteString(c, "GET /mcp HTTP/1.1\r\nHost: hub.test\r\nAuthorization: Bearer "+token+"\r\n\r\n")
					answer := make([]byte, 1<<10)
					n, _ := c.Read(answer)
					return string(answer[:n])
				}
				most := 4*4 + 2*(quota.Waiting+2)*c.calls // maxOpen: enough for the calls that one may have
				var open []net.Conn
				refused := ""
				for range 3 * most {
					c := raw(t, m, "")
					if text := ask(c, "a"); strings.HasPrefix(text, "HTTP/1.1 406 ") {
						open = append(open, c)
					} else {
						refused = text
					}
				}
				if want := map[int]int{1: 3 * most, 2: most / 2}[len(tokens)]; len(open) != want {
					t.Errorf("%d connections are open, want %d", len(open), want)
				}
				if len(tokens) == 1 {
					return
				}
				for _, want := range []string{"HTTP/1.1 429 ", "Connection: close", "Retry-After: 1", "a has as many connections open"} {
					if !strings.Contains(refused, want) {
						t.Errorf("it is told %q, without %q", refused, want)
					}
				}
				w.initialize(`{}`, ofB...)
				if text := ask(open[0], "b"); !strings.HasPrefix(text, "HTTP/1.1 406 ") {
					t.Errorf("another principal on a connection of the first: %s", text)
				}
				for range 2 { // b has one of them now, and there is one less free
					_ = open[1].Close()
					open = open[1:]
				}
				synctest.Wait()
				if text := ask(raw(t, m, ""), "a"); !strings.HasPrefix(text, "HTTP/1.1 406 ") {
					t.Errorf("after it has closed some: %s", text)
				}
			})
		})
	}
}

// What a server gets, or has to do, counts for the rate of a principal, whatever it is called; what the hub answers
// by itself does not.
func TestWhatCountsForTheRate(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		frame  string
		counts bool
	}{
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{}}}`, true},
		{`{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"taskId":"t"}}`, true},
		{`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"x:y"}}`, true},
		{`{"jsonrpc":"2.0","id":1,"method":"x/y"}`, true},
		{`{"jsonrpc":"2.0","method":"x/y"}`, true},
		{`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}`, true},
		{`{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{"taskId":"t"}}`, true},
		{`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`, true},
		{`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, false},
		{`{"jsonrpc":"2.0","id":"7","result":{}}`, false},
		{`{"jsonrpc":"2.0","id":1,"method":"ping"}`, false},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, false},
	} {
		t.Run(tc.frame, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := twoPrincipals(t, newFakeHub(), quota.Limits{Rate: 1, Burst: 2})
				a := w.initialize(`{}`, ofA...).initialized()
				for n := range 3 {
					got := a.send(tc.frame).StatusCode == http.StatusTooManyRequests
					if want := tc.counts && n == 2; got != want {
						t.Errorf("message %d: refused %t", n, got)
					}
				}
			})
		})
	}
}

// Clients without a handshake that listen count as the sessions of their principal, and what they ask for as what goes
// on to servers, in however many groups its tokens say that it is.
func TestListenersAreDivided(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newFakeHub()
		h.modern = fakeRequest{hasMethod: true, serve: func(ctx context.Context, _ *ModernExchange) jsonrpc.Answer {
			<-ctx.Done()
			return jsonrpc.ErrorAnswer(jsonrpc.CodeInternal, "over")
		}}
		groups := 0
		resource := &admission.Resource{URL: "https://hub.test/mcp", Issuers: []string{"https://login.test"},
			Verify: func(context.Context, string) (admission.Caller, error) {
				groups++
				return admission.Caller{Principal: principal.Principal{Name: "eve", Issuer: "https://login.test", Groups: []string{fmt.Sprint(groups)}}}, nil
			},
			Basis: func(admission.Caller) string { return "issuer" },
		}
		_, m, _ := bubbleWeb(t, h, FrontOptions{Resource: resource, Principal: quota.Limits{Sessions: 3, Rate: 1, Burst: 5}})
		listen := func() net.Conn {
			text := `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"_meta":{"` + mcp.MetaKeyProtocolVersion + `":"2026-07-28"}}}`
			c := raw(t, m, plainHead+"Content-Type: application/json\r\nAuthorization: Bearer any\r\n"+headers.Protocol+": 2026-07-28\r\n"+mcp.HeaderMethod+": subscriptions/listen\r\n"+fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(text), text))
			synctest.Wait()
			return c
		}
		told := func(c net.Conn) string {
			_ = c.SetReadDeadline(time.Now().Add(time.Millisecond))
			answer := make([]byte, 1<<10)
			n, _ := c.Read(answer)
			return string(answer[:n])
		}
		first := listen()
		for range 2 {
			listen()
		}
		if text := told(listen()); !strings.Contains(text, "limits.principal.sessions") || !strings.HasPrefix(text, "HTTP/1.1 429 ") {
			t.Errorf("a fourth listener: %q", text)
		}
		again := func() string {
			_ = first.Close()
			synctest.Wait()
			first = listen()
			return told(first)
		}
		for range 2 {
			if text := again(); text != "" {
				t.Errorf("in the place of one that has ended: %q", text)
			}
		}
		if text := again(); !strings.Contains(text, "limits.principal.rate") {
			t.Errorf("a sixth within a second: %q", text)
		}
	})
}

// Notifications and new sessions of one principal have their turn like its requests: the hub works for few of them at a time.
func TestNotificationsQueueApart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newFakeHub()
		w, m, _ := bubbleWeb(t, h, FrontOptions{Tokens: both})
		b := w.initialize(`{}`, ofB...).initialized()
		a := w.initialize(`{}`, ofA...).initialized()
		share := clientOf(t, h, a).share
		for range quota.WorksAtOnce() { // as if the hub were at work for so many
			if _, err := share.Begin(nil, httptest.NewRequest("POST", "/mcp", nil), "ping"); err != nil {
				t.Fatal(err)
			}
		}
		one := func(session, text string) net.Conn {
			c := raw(t, m, postOf("a", session)+fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(text), text))
			synctest.Wait()
			return c
		}
		waits := func(c net.Conn) bool {
			_ = c.SetReadDeadline(time.Now().Add(time.Millisecond))
			n, _ := c.Read(make([]byte, 1))
			return n == 0
		}
		note := one(a.session, `{"jsonrpc":"2.0","method":"x/y"}`)
		if !waits(note) {
			t.Error("a notification did not wait for its turn")
		}
		if waits(one(a.session, `{"jsonrpc":"2.0","id":"7","result":{}}`)) {
			t.Error("an answer waited, for which a request may wait that is under way")
		}
		if waits(one(a.session, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)) {
			t.Error("a cancellation waited")
		}
		if r := b.send(`{"jsonrpc":"2.0","method":"x/y"}`); r.StatusCode != http.StatusAccepted {
			t.Errorf("another principal: %d", r.StatusCode)
		}
		time.Sleep(quota.WorkTime)
		synctest.Wait()
		if waits(note) {
			t.Error("a notification did not get its turn")
		}
	})
}

// An idle session makes room for another principal that has fewer, whatever its groups are, and one of another
// group of the same principal makes room for its own.
func TestIdleSessionsOfAllGroupsMakeRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		resource := &admission.Resource{URL: "https://hub.test/mcp", Issuers: []string{"https://login.test"},
			Verify: func(_ context.Context, token string) (admission.Caller, error) {
				name, group, _ := strings.Cut(token, "-")
				return admission.Caller{Principal: principal.Principal{Name: name, Issuer: "https://login.test", Groups: []string{group}}}, nil
			},
			Basis: func(admission.Caller) string { return "issuer" },
		}
		w, _, _ := bubbleWeb(t, newFakeHub(), FrontOptions{Resource: resource, Sessions: 4, Principal: quota.Limits{Sessions: 2}})
		bearer := func(token string) []string { return []string{"Authorization", "Bearer " + token} }
		lives := func(c *webClient) bool {
			return c.send(`{"jsonrpc":"2.0","id":1,"method":"ping"}`).StatusCode == http.StatusOK
		}
		first := w.initialize(`{}`, bearer("eve-one")...)
		second := w.initialize(`{}`, bearer("eve-one")...)
		hello := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{}}}`
		if r := w.do("POST", hello, bearer("eve-two")...); r.StatusCode != http.StatusServiceUnavailable || r.Header.Get("Retry-After") != "10" {
			t.Errorf("a third of one that may have two: %d %v", r.StatusCode, r.Header)
		}
		time.Sleep(idleMinute + time.Second)
		third := w.initialize(`{}`, bearer("eve-two")...)
		if lives(first) || !lives(second) || !lives(third) {
			t.Error("another session than the one that was idle longest made room")
		}
		// All places are taken, by principals that have one or two.
		adam, abel := w.initialize(`{}`, bearer("adam-x")...), w.initialize(`{}`, bearer("abel-x")...)
		cain := w.initialize(`{}`, bearer("cain-x")...)
		if lives(second) || !lives(adam) || !lives(abel) || !lives(cain) {
			t.Error("none of whoever has most made room for one that has none")
		}
		seth := w.initialize(`{}`, bearer("seth-x")...) // each has one, and all are idle
		if !lives(seth) {
			t.Error("one that has none was refused while others are idle")
		}
		if r := w.do("POST", hello, bearer("seth-x")...); r.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("a second one, where all others have one: %d", r.StatusCode)
		}
	})
}
