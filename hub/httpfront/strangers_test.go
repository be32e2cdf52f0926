package httpfront

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mcphub/e2e/fronttest"
	"mcphub/hub/httpfront/admission"
	"mcphub/hub/httpfront/headers"
)

const secret = "mcphub_a-secret-of-this-user"

// TestNobodyWithoutAToken: each way into the front is closed to who shows no token, or a
// wrong one, and open to who shows the right one. What is open to everybody says nothing
// about the hub. The control is the same without need of a token.
func TestNobodyWithoutAToken(t *testing.T) {
	t.Parallel()
	for _, open := range []bool{false, true} {
		options := FrontOptions{LocalToken: secret}
		if open {
			options = FrontOptions{Open: true}
		}
		w := serveWeb(t, newFakeHub(), options)
		right := []string{"Authorization", "Bearer " + secret}
		session := w.initialize(`{}`, right...).session
		for _, wrong := range [][]string{nil, {"Authorization", "Bearer " + secret + "x"}, {"Authorization", "Bearer " + secret[:10]}, {"Authorization", "Bearer "}, {"Authorization", secret}, {"Authorization", "Basic " + secret}} {
			for _, tc := range []struct{ method, body string }{
				{"POST", `{"jsonrpc":"2.0","id":9,"method":"tools/list"}`}, {"POST", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`},
				{"POST", "what is no JSON"}, {"GET", ""}, {"DELETE", ""}, {"PUT", "x"}, {"OPTIONS", ""},
			} {
				for _, named := range [][]string{nil, {headers.Session, session}, {headers.Protocol, headers.ModernVersion}} {
					if open && (tc.method == "GET" || tc.method == "DELETE") {
						continue // one ends the session, the other stays
					}
					r := w.do(tc.method, tc.body, append(append([]string{}, wrong...), named...)...)
					if got := r.StatusCode == http.StatusUnauthorized; got == open {
						t.Errorf("open %t: %s %q %q: %d", open, tc.method, wrong, named, r.StatusCode)
					}
					if text := body(t, r); strings.Contains(text, secret) || strings.Contains(fmt.Sprint(r.Header), secret) {
						t.Errorf("%s: the answer has the token: %s", tc.method, text)
					}
				}
			}
		}
		for path, want := range map[string]int{"/healthz": 200, "/readyz": 200, "/": 404, "/mcp//": 404, "/mcp/x/y": 404, "/mcp/a%20b": 404, "/mcp/..": 404, "//mcp": 404, "/.well-known/oauth-protected-resource": 404, "/.well-known/oauth-protected-resource/mcp": 404} {
			r := fronttest.Do(t, w.c, "GET", strings.TrimSuffix(w.url, "/mcp")+path, "")
			if text := body(t, r); r.StatusCode != want || len(text) > 40 {
				t.Errorf("%s: %d %s", path, r.StatusCode, text)
			}
		}
		if r := w.do("POST", `{"jsonrpc":"2.0","id":9,"method":"tools/list"}`, append(right, headers.Session, session)...); r.StatusCode != http.StatusOK {
			t.Errorf("the client itself: %d", r.StatusCode)
		}
		slash := func(head ...string) int {
			r := fronttest.Do(t, w.c, "POST", w.url+"/", `{"jsonrpc":"2.0","id":9,"method":"tools/list"}`, head...)
			_ = body(t, r)
			return r.StatusCode
		}
		if named := slash(append(append([]string{"Content-Type", "application/json", "Accept", "application/json, text/event-stream"}, right...), headers.Session, session)...); named != http.StatusOK {
			t.Errorf("the client itself at /mcp/: %d", named)
		}
		if unnamed := slash(); (unnamed == http.StatusUnauthorized) == open {
			t.Errorf("open %t: nobody at /mcp/: %d", open, unnamed)
		}
		for _, foreign := range [][]string{{"Host", "evil.example"}, {"Origin", "https://evil.example"}, {"Sec-Fetch-Site", "cross-site"}} {
			if r := w.do("POST", "{}", append(append([]string{}, right...), foreign...)...); r.StatusCode != http.StatusForbidden {
				t.Errorf("%q with the token: %d", foreign, r.StatusCode)
			}
		}
	}
}

// A counting body says how much of it was read.
type countingBody struct {
	io.Reader
	read atomic.Int64
}

func (b *countingBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	b.read.Add(int64(n))
	return n, err
}

func (b *countingBody) Close() error { return nil }

// TestNoBodyOfAStranger: no part of a body is read before the token was looked at, nor
// after a refusal. The control is the same request with the token.
func TestNoBodyOfAStranger(t *testing.T) {
	t.Parallel()
	f, err := New(newFakeHub(), FrontOptions{LocalToken: secret})
	if err != nil {
		t.Fatal(err)
	}
	for token, reads := range map[string]bool{"": false, "wrong": false, secret: true} {
		in := &countingBody{Reader: strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)}
		r, _ := http.NewRequestWithContext(context.WithValue(t.Context(), http.LocalAddrContextKey, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80}), "POST", "http://127.0.0.1/mcp", in)
		r.ContentLength = -1
		r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Authorization": {"Bearer " + token}}
		f.ServeHTTP(&silent{http.Header{}}, r)
		if got := in.read.Load() > 0; got != reads {
			t.Errorf("token %q: %d bytes were read", token, in.read.Load())
		}
	}
}

type silent struct{ h http.Header }

func (s *silent) Header() http.Header         { return s.h }
func (s *silent) Write(p []byte) (int, error) { return len(p), nil }
func (s *silent) WriteHeader(int)             {}

// TestStrangersAreFew: of connections that show nothing only so many stay open; the oldest
// go. One that has shown its token stays, and a client that comes among them is served.
func TestStrangersAreFew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, m, _ := bubbleWeb(t, newFakeHub(), FrontOptions{LocalToken: secret})
		right := []string{"Authorization", "Bearer " + secret}
		mine := w.initialize(`{}`, right...)
		own, err := m.Dial(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		ask := func(c net.Conn) (int, error) {
			_, err := fmt.Fprintf(c, "POST /mcp HTTP/1.1\r\nHost: hub.test\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nMcp-Session-Id: %s\r\nContent-Length: 46\r\n\r\n%s", secret, mine.session, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
			if err != nil {
				return 0, err
			}
			r, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				return 0, err
			}
			_, _ = io.Copy(io.Discard, r.Body)
			return r.StatusCode, r.Body.Close()
		}
		if status, err := ask(own); status != http.StatusOK {
			t.Fatal(status, err)
		}
		const many = 3 * admission.MaxStrangers
		var all []net.Conn
		for range many {
			c, err := m.Dial(t.Context(), "", "")
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, c)
		}
		synctest.Wait()
		open := 0
		for _, c := range all {
			_ = c.SetReadDeadline(time.Now().Add(time.Millisecond))
			if _, err := c.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
				open++
			}
		}
		if open != admission.MaxStrangers {
			t.Errorf("%d of %d strangers are kept, want %d", open, many, admission.MaxStrangers)
		}
		if status, err := ask(own); status != http.StatusOK {
			t.Errorf("the connection that has shown its token: %d, %v", status, err)
		}
		if r := mine.send(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`); r.StatusCode != http.StatusOK {
			t.Errorf("a client: %d", r.StatusCode)
		}
		for _, c := range append(all, own) {
			_ = c.Close()
		}
	})
}

// TestAStrangerIsSentAway: the connection of a request whose body no one reads ends,
// whatever its sender goes on sending, and what ends it is a deadline of the connection,
// which needs no goroutine to be run in time. The connection of the client goes on, which
// is the control.
func TestAStrangerIsSentAway(t *testing.T) {
	t.Parallel()
	const post, get = "POST /mcp", "GET /mcp"
	for name, tc := range map[string]struct {
		line, header string
		want         time.Duration
	}{
		"the client":    {post, "Authorization: Bearer " + secret, bodyTime},
		"no token":      {post, "X: y", discardTime},
		"another token": {post, "Authorization: Bearer wrong", discardTime},
		"another page":  {post, "Origin: https://evil.test", discardTime},
		"a token twice": {post, "Authorization: Bearer " + secret + "\r\nMcp-Session-Id: a\r\nMcp-Session-Id: b", discardTime},
		"a stream":      {get, "X: y", discardTime},
		"preflight":     {"OPTIONS /mcp", "Origin: https://page.test\r\nAccess-Control-Request-Method: POST", discardTime},
		"another path":  {"POST /", "X: y", discardTime},
		"a look":        {"GET /healthz", "X: y", discardTime},
	} {
		for _, length := range []string{"Content-Length: 100000", "Transfer-Encoding: chunked"} {
			t.Run(name+", "+length, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					m := &watched{Memory: fronttest.NewMemory(), cut: make(chan time.Time, 1)}
					fronttest.Run(t, &http.Transport{}, func(ctx context.Context) error {
						return serve(ctx, m, newFakeHub(), FrontOptions{LocalToken: secret, Hosts: []string{"hub.test"}, Origins: []string{"https://page.test"}})
					})
					c, err := m.Dial(t.Context(), "", "")
					if err != nil {
						t.Fatal(err)
					}
					began := time.Now()
					_, _ = fmt.Fprintf(c, "%s HTTP/1.1\r\nHost: hub.test\r\n%s\r\nContent-Type: application/json\r\nAccept: application/json\r\n%s\r\n\r\n", tc.line, tc.header, length)
					var sender sync.WaitGroup
					sender.Go(func() {
						for { // a space each second, for ever
							if _, err := io.WriteString(c, map[bool]string{true: " ", false: "1\r\n \r\n"}[strings.HasPrefix(length, "Content")]); err != nil {
								return
							}
							time.Sleep(time.Second)
						}
					})
					_, _ = io.Copy(io.Discard, c)
					ended := time.Now()
					sender.Wait()
					select {
					case at := <-m.cut:
						if took := at.Sub(began); took != tc.want || ended.Sub(at) > time.Second {
							t.Errorf("the deadline came after %s, want %s; the end after %s", took, tc.want, ended.Sub(began))
						}
					default:
						t.Errorf("the connection ended after %s, and not by a deadline", ended.Sub(began))
					}
					_ = c.Close()
				})
			})
		}
	}
}

// watched tells when a deadline of a connection cut off a read of the server.
type watched struct {
	*fronttest.Memory
	cut chan time.Time
}

func (l *watched) Accept() (net.Conn, error) {
	c, err := l.Memory.Accept()
	return &watchedConn{c, l.cut}, err
}

type watchedConn struct {
	net.Conn
	cut chan time.Time
}

func (c *watchedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		select {
		case c.cut <- time.Now():
		default: // the first counts
		}
	}
	return n, err
}
