//go:build !race

package hub

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"mcphub/children/spec"
	"mcphub/e2e/childtest"
)

// A thinClient is one over HTTP that keeps as little as it can: what is measured in its
// process is the hub's.
type thinClient struct {
	t    testing.TB
	w    *web
	conn net.Conn
	in   *bufio.Reader
	held []net.Conn // streams
}

func newThinClient(t testing.TB, w *web) *thinClient {
	c := &thinClient{t: t, w: w}
	c.conn = c.dial()
	c.in = bufio.NewReader(c.conn)
	return c
}

func (c *thinClient) dial() net.Conn {
	c.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(c.w.url, "http://"), endpoint))
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func (c *thinClient) head(method, session string) string {
	s := method + " " + endpoint + " HTTP/1.1\r\nHost: " + c.conn.RemoteAddr().String() + "\r\nAccept: application/json, text/event-stream\r\nContent-Type: application/json\r\n"
	if session != "" {
		s += headerSession + ": " + session + "\r\n"
	}
	return s
}

func (c *thinClient) post(session, frame string) *http.Response {
	c.t.Helper()
	if _, err := fmt.Fprintf(c.conn, "%sContent-Length: %d\r\n\r\n%s", c.head("POST", session), len(frame), frame); err != nil {
		c.t.Fatal(err)
	}
	r, err := http.ReadResponse(c.in, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, r.Body); err != nil || r.StatusCode/100 != 2 {
		c.t.Fatal(r.Status, err)
	}
	return r
}

// open begins a session, with a stream of its own if that is wanted.
func (c *thinClient) open(stream bool) {
	c.t.Helper()
	r := c.post("", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	session := r.Header.Get(headerSession)
	c.post(session, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	if !stream {
		return
	}
	conn := c.dial()
	c.held = append(c.held, conn)
	if _, err := io.WriteString(conn, c.head("GET", session)+"\r\n"); err != nil {
		c.t.Fatal(err)
	}
	var got [512]byte
	for n := 0; !strings.Contains(string(got[:n]), "retry:"); { // the first event
		more, err := conn.Read(got[n:])
		if err != nil {
			c.t.Fatal(err)
		}
		n += more
	}
}

// rested waits until nothing is under way any more on account of sessions that were
// opened: then every one has as many goroutines as it keeps.
func rested(t *testing.T) {
	t.Helper()
	for same, before := 0, 0; same < 5; {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-t.Context().Done():
			t.Fatal("goroutines come and go")
		}
		if now := runtime.NumGoroutine(); now == before {
			same++
		} else {
			same, before = 0, now
		}
	}
}

// restingHub returns a hub with so many children that are shared so, of which it is known what
// they offer: none runs until it is called, but the ones that the first session started.
func restingHub(t *testing.T, share spec.Share, kids int) *web {
	var specs []spec.Spec
	for i := range kids {
		child := scripted(fmt.Sprintf("kid%d", i), childtest.Script{})
		child.Share, child.Start = share, spec.StartLazy
		specs = append(specs, child)
	}
	cfg := testConfig(t, specs...)
	cfg.Cache = t.TempDir()
	w := serveWeb(t, runHub(t, cfg), HTTPOptions{Sessions: 1 << 20})
	s := w.initialize(`{}`).initialized()
	s.frames(s.request("tools/list", `{}`), nil)
	return w
}

var everyShare = []spec.Share{spec.ShareSession, spec.ShareRoots, spec.ShareAll}

// A session at rest keeps at most 40 KiB in memory, and at most 120 KiB with its stream and
// the connection of that: heap and stacks after a collection, as the slope between 100 and
// 400 sessions.
func TestASessionAtRest(t *testing.T) {
	for _, share := range everyShare {
		for _, stream := range []bool{false, true} {
			most := 40 << 10
			if stream {
				most = 120 << 10
			}
			t.Run(fmt.Sprintf("%v/stream=%t", share, stream), func(t *testing.T) {
				c := newThinClient(t, restingHub(t, share, 1))
				kept := func(n int) int {
					for range n {
						c.open(stream)
					}
					rested(t)
					return int(held())
				}
				before := kept(100)
				each := (kept(300) - before) / 300
				t.Logf("%d bytes each", each)
				if each > most {
					t.Errorf("a session at rest keeps %d bytes, more than %d", each, most)
				}
			})
		}
	}
}

// What it takes to open a session does not depend on how many are open. The one who
// looks at all of them copies at least a pointer of each, so what is allocated tells.
func TestAnOpeningLooksAtNoOtherSession(t *testing.T) {
	for _, share := range everyShare {
		t.Run(share.String(), func(t *testing.T) {
			c := newThinClient(t, restingHub(t, share, 1))
			allocated := func(n int) float64 {
				rested(t)
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				for range n {
					c.open(false)
				}
				rested(t)
				runtime.ReadMemStats(&after)
				return float64(after.TotalAlloc-before.TotalAlloc) / float64(n)
			}
			allocated(100)
			few := allocated(100)
			allocated(2000)
			many := allocated(100)
			t.Logf("%.0f bytes beside 100 sessions, %.0f beside 2,200", few, many)
			if many > 1.15*few {
				t.Errorf("an opening allocates %.0f bytes beside 2,200 sessions, and %.0f beside 100", many, few)
			}
		})
	}
}

// A call over HTTP allocates no more than this: for its request net/http, with the bodies and
// headers of it, the front, the call and the child's answer. Most of them are net/http's.
func TestAllocationsOfACallOverHTTP(t *testing.T) {
	const most = 43
	const secret = "Bearer 0123456789abcdef0123456789abcdef"
	w := serveWeb(t, newTestHub(t, scripted("kid", childtest.Script{})), HTTPOptions{Tokens: []Token{{Name: "bench", Secret: secret[len("Bearer "):]}}})
	s := w.initialize(`{}`, "Authorization", secret).initialized()
	params := toolCall("kid__echo", `{"text":"hello hello hello"}`)
	s.frames(s.request("tools/call", params), nil)
	c := newThinClient(t, w)
	frame := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + params + `}`
	request := fmt.Appendf(nil, "%sAuthorization: %s\r\n%s: 2025-11-25\r\nContent-Length: %d\r\n\r\n%s", c.head("POST", s.session), secret, headerProtocol, len(frame), frame)
	answer := make([]byte, 4096)
	got := testing.AllocsPerRun(300, func() {
		if _, err := c.conn.Write(request); err != nil {
			t.Fatal(err)
		}
		if n, err := c.conn.Read(answer); err != nil || !bytes.Contains(answer[:n], []byte("hello hello")) {
			t.Fatalf("%s %v", answer[:n], err)
		}
	})
	if t.Logf("%.1f allocations", got); got > most {
		t.Errorf("a call allocates %.1f times, more than %d", got, most)
	}
}
