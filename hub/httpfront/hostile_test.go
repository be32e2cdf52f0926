package httpfront

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mcphub/e2e/fronttest"
	"mcphub/hub/httpfront/admission"
	"mcphub/hub/httpfront/events"
	"mcphub/hub/httpfront/headers"
	"mcphub/hub/httpfront/quota"
	"mcphub/internal/jsonrpc"
)

// raw opens a connection and writes to it, as far as it is read.
func raw(t *testing.T, m *fronttest.Memory, text string) net.Conn {
	t.Helper()
	c, err := m.Dial(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_, _ = io.WriteString(c, text)
	return c
}

// until waits until the other side closes, and returns how long that took.
func until(c net.Conn) time.Duration {
	began := time.Now()
	_, _ = io.Copy(io.Discard, c)
	return time.Since(began)
}

const plainHead = "POST /mcp HTTP/1.1\r\nHost: hub.test\r\nAccept: application/json, text/event-stream\r\n"

// TestHTTPSlowClientsAreLetGo: the one who takes his time with the head, the
// body or the answer is waited for so long and no longer, whatever becomes of
// the request; the others are served meanwhile.
func TestHTTPSlowClientsAreLetGo(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		head string
		most time.Duration
	}{
		"no head":      {"", headerTime},
		"half a head":  {plainHead, headerTime},
		"body":         {plainHead + "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{", bodyTime},
		"refused kind": {plainHead + "Content-Type: text/plain\r\nContent-Length: 100\r\n\r\n{", bodyTime},
		"refused host": {"POST /mcp HTTP/1.1\r\nHost: evil.test\r\nContent-Length: 100\r\n\r\n{", bodyTime},
		"no session":   {plainHead + "Mcp-Session-Id: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{", bodyTime},
		"kept alive":   {"GET /healthz HTTP/1.1\r\nHost: hub.test\r\n\r\n", keepAlive},
	} {
		t.Run(name, func(t *testing.T) {
			hostile(t, FrontOptions{}, func(t *testing.T, _ *fakeHub, w *web, m *fronttest.Memory) {
				c := raw(t, m, tc.head)
				done := make(chan time.Duration, 1)
				go func() { done <- until(c) }()
				s := w.initialize(`{}`).initialized()
				if got := body(t, s.request("ping", `{}`)); !strings.Contains(got, `"result":{}`) {
					t.Errorf("another client: %s", got)
				}
				if took := <-done; took > tc.most+time.Second {
					t.Errorf("let go after %s, want %s", took, tc.most)
				}
			})
		})
	}
}

// TestHTTPAnswerThatNobodyReads: neither a small one nor a large one holds its
// connection, and its place among the session's requests, for ever.
func TestHTTPAnswerThatNobodyReads(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int{"small": 10, "large": 1 << 20} {
		t.Run(name, func(t *testing.T) {
			hostile(t, FrontOptions{}, func(t *testing.T, h *fakeHub, w *web, m *fronttest.Memory) {
				s := w.initialize(`{}`).initialized()
				text := `{"jsonrpc":"2.0","id":"x","method":"tools/call","params":` + call("echo", `{"text":"`+strings.Repeat("x", size)+`"}`) + `}`
				c := raw(t, m, plainHead+"Content-Type: application/json\r\n"+headers.Session+": "+s.session+
					fmt.Sprintf("\r\nContent-Length: %d\r\n\r\n%s", len(text), text))
				time.Sleep(2 * events.WriteTimeout)
				if took := until(c); took > 0 {
					t.Errorf("the connection was open for %s more", took)
				}
				if n := clientOf(t, h, s).Serving(); n != 0 {
					t.Errorf("%d calls are served", n)
				}
			})
		})
	}
}

// TestHTTPConnectionOutlivesALargeAnswer: the time allowed for writing one
// answer is not held against a later one on the same connection.
func TestHTTPConnectionOutlivesALargeAnswer(t *testing.T) {
	t.Parallel()
	hostile(t, FrontOptions{}, func(t *testing.T, _ *fakeHub, w *web, _ *fronttest.Memory) {
		s := w.initialize(`{}`).initialized()
		for range 3 {
			m := s.frames(s.request("tools/call", call("echo", `{"text":"`+strings.Repeat("x", 1<<20)+`"}`)), nil)
			if m == nil || len(m.Result) < 1<<20 {
				t.Fatal("no answer")
			}
			time.Sleep(events.WriteTimeout + 10*time.Second)
			if got := body(t, s.request("ping", `{}`)); !strings.Contains(got, `"result":{}`) {
				t.Fatalf("%s", got)
			}
		}
	})
}

// TestHTTPLongCall: a call may take longer than any of the times that bound
// reading and writing.
func TestHTTPLongCall(t *testing.T) {
	t.Parallel()
	for _, accept := range []string{"application/json", "application/json, text/event-stream"} {
		hostile(t, FrontOptions{}, func(t *testing.T, _ *fakeHub, w *web, _ *fronttest.Memory) {
			s := w.initialize(`{}`).initialized()
			m := s.frames(s.request("tools/call", `{"name":"progress","arguments":{"steps":5,"every":60000000000},"_meta":{"progressToken":1}}`, "Accept", accept), nil)
			if m == nil || m.Result == nil {
				t.Fatalf("%s: %+v", accept, m)
			}
		})
	}
}

// TestHTTPStreamThatNobodyReads: what waits for a client that does not read its
// own stream is bounded, the stream is given up, and the next one works.
func TestHTTPStreamThatNobodyReads(t *testing.T) {
	t.Parallel()
	hostile(t, FrontOptions{}, func(t *testing.T, h *fakeHub, w *web, m *fronttest.Memory) {
		s := w.initialize(`{}`).initialized()
		session := clientOf(t, h, s)
		note := []byte(`{"text":"` + strings.Repeat("x", 1<<16) + `"}`)
		flood := func() (taken int) {
			for range 1000 {
				if !session.TryNotify("notifications/message", note) {
					return taken
				}
				taken += len(note)
			}
			return taken
		}
		if n := flood(); n == 0 || n > events.MaxAlone {
			t.Errorf("without a stream %d bytes wait", n)
		}
		r := s.do("GET", "", headers.Session, s.session) // read: what waited arrives
		got := make(chan int, 1)
		go func() {
			n := 0
			s.frames(r, func(*jsonrpc.Message, string) { n++ })
			got <- n
		}()
		synctest.Wait()
		deaf := bufio.NewReader(raw(t, m, "GET /mcp HTTP/1.1\r\nHost: hub.test\r\nAccept: text/event-stream\r\n"+headers.Session+": "+s.session+"\r\n\r\n"))
		for line := "x"; line != "\r\n"; line, _ = deaf.ReadString('\n') { // the head, and no more
		}
		if n := <-got; n == 0 {
			t.Error("what waited did not arrive")
		}
		if n := flood(); n < events.MaxAlone || n > events.MaxWaiting {
			t.Errorf("with a stream that nobody reads %d bytes wait", n)
		}
		if !session.standaloneStream.HasFollower() {
			t.Error("the stream is not there")
		}
		time.Sleep(events.WriteTimeout + events.Heartbeat)
		if session.standaloneStream.HasFollower() {
			t.Error("a stream that nobody reads is kept")
		}
		if err := session.Notify(t.Context(), "notifications/x", note); err != nil {
			t.Errorf("one that matters: %v", err)
		}
	})
}

// clientOf finds a session's own side.
func clientOf(t *testing.T, h *fakeHub, s *webClient) *FrontSession {
	t.Helper()
	for _, session := range h.open() {
		if session.id == s.session {
			return session
		}
	}
	t.Fatal("there is no such session")
	return nil
}

// TestHTTPQuestionsOfOneThatDoesNotRead: a hostile child cannot fill the hub
// with questions for a client that does not read.
func TestHTTPQuestionsOfOneThatDoesNotRead(t *testing.T) {
	t.Parallel()
	session := newFrontSession("s", admission.Caller{}, 1, &slowExchanges{})
	defer session.cancel(nil)
	big := []byte(`{"x":"` + strings.Repeat("x", 1<<20) + `"}`)
	for n := range 100 {
		err := session.Notify(t.Context(), "notifications/x", big)
		switch {
		case err == nil && session.unsentBytes.Load() > 2*events.MaxWaiting+2<<20:
			t.Fatalf("%d bytes wait", session.unsentBytes.Load())
		case errors.Is(err, errNotReading) && n > 2:
			return
		case err != nil:
			t.Fatal(err)
		}
	}
	t.Error("everything was taken in")
}

// TestHTTPStreamIsTakenOver: a second stream of a session takes the place of
// the first, which ends; nothing is said on both.
func TestHTTPStreamIsTakenOver(t *testing.T) {
	t.Parallel()
	hostile(t, FrontOptions{}, func(t *testing.T, h *fakeHub, w *web, _ *fronttest.Memory) {
		s := w.initialize(`{}`).initialized()
		session := clientOf(t, h, s)
		var mu sync.Mutex
		seen := map[string][]int{}
		var readers sync.WaitGroup
		for i := range 5 {
			r := s.do("GET", "", headers.Session, s.session)
			readers.Go(func() {
				s.frames(r, func(m *jsonrpc.Message, _ string) {
					mu.Lock()
					defer mu.Unlock()
					n := string(m.Param("n"))
					seen[n] = append(seen[n], i)
				})
			})
			synctest.Wait()
			for n := range 10 {
				if !session.TryNotify("notifications/n", fmt.Appendf(nil, `{"n":"%d-%d"}`, i, n)) {
					t.Fatal("no room")
				}
			}
			synctest.Wait()
		}
		if r := s.do("DELETE", "", headers.Session, s.session); r.StatusCode != http.StatusNoContent {
			t.Errorf("DELETE: %d", r.StatusCode)
		}
		readers.Wait()
		if len(seen) != 50 {
			t.Errorf("%d of 50 arrived", len(seen))
		}
		for n, by := range seen {
			if len(by) != 1 || !strings.HasPrefix(n, fmt.Sprintf(`"%d-`, by[0])) {
				t.Errorf("%s arrived at %v", n, by)
			}
		}
	})
}

// TestHTTPEventsOfAnotherSession: an event id names nothing beyond its session.
func TestHTTPEventsOfAnotherSession(t *testing.T) {
	t.Parallel()
	hostile(t, FrontOptions{}, func(t *testing.T, h *fakeHub, w *web, _ *fronttest.Memory) {
		mine, theirs := w.initialize(`{}`).initialized(), w.initialize(`{}`).initialized()
		// A stream of mine that has ended, and something on my own stream.
		r := mine.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"progress","arguments":{"steps":3},"_meta":{"progressToken":"secret"}}}`)
		last := ""
		mine.frames(r, func(_ *jsonrpc.Message, id string) { last = id })
		clientOf(t, h, mine).TryNotify("notifications/secret")
		for _, id := range []string{last, "1-0", "1-1", "0-1", "0-18446744073709551615", "0-7", "x", "-", "1-", "1--1", "1-x"} {
			// The control: it is mine to read.
			if r := mine.do("GET", "", headers.Session, mine.session, headers.LastEvent, last); r.StatusCode != 200 || mine.frames(r, nil) == nil {
				t.Fatalf("my own event %s: %d", last, r.StatusCode)
			}
			if r := theirs.do("GET", "", headers.Session, theirs.session, headers.LastEvent, id); r.StatusCode != http.StatusBadRequest {
				t.Errorf("event %s in another session: %d", id, r.StatusCode)
			}
		}
		r = theirs.do("GET", "", headers.Session, theirs.session, headers.LastEvent, "0-0") // its own stream, from the start
		time.Sleep(events.Heartbeat)
		theirs.do("DELETE", "", headers.Session, theirs.session)
		if got := body(t, r); strings.Contains(got, "secret") || strings.Contains(got, "jsonrpc") {
			t.Errorf("it heard %q", got)
		}
	})
}

// TestHTTPOpenRequestsAreBounded: so many wait for their turn, and the rest is
// told to come again; what those wait for can still be answered.
func TestHTTPOpenRequestsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newFakeHub()
		h.limits.Calls = 4
		w, _, _ := bubbleWeb(t, h, FrontOptions{})
		s := w.initialize(`{}`).initialized()
		var all sync.WaitGroup
		codes := make(chan int, 100)
		for range 30 {
			all.Go(func() {
				codes <- s.request("tools/call", `{"name":"progress","arguments":{"steps":1,"every":1000000000},"_meta":{"progressToken":1}}`, "Accept", "application/json").StatusCode
			})
		}
		synctest.Wait()
		if r := s.send(`{"jsonrpc":"2.0","id":77,"result":{}}`); r.StatusCode != http.StatusAccepted {
			t.Errorf("an answer: %d", r.StatusCode)
		}
		if n := clientOf(t, h, s).Serving(); n != 4*(quota.Waiting+1) {
			t.Errorf("%d requests are taken", n)
		}
		other := w.initialize(`{}`).initialized()
		if r := other.request("ping", `{}`); r.StatusCode != 200 {
			t.Errorf("another session: %d", r.StatusCode)
		}
		all.Wait()
		count := map[int]int{}
		for range 30 {
			count[<-codes]++
		}
		if count[200] != 4*(quota.Waiting+1) || count[http.StatusTooManyRequests] != 30-count[200] {
			t.Errorf("%v", count)
		}
		if r := s.request("ping", `{}`); r.StatusCode != 200 {
			t.Errorf("afterwards: %d", r.StatusCode)
		}
	})
}

// TestHTTPBodiesAreBounded: the bodies of one session together, and each one of
// no one's.
func TestHTTPBodiesAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newFakeHub()
		h.limits.Frame = 2 << 20
		w, m, _ := bubbleWeb(t, h, FrontOptions{})
		s, other := w.initialize(`{}`).initialized(), w.initialize(`{}`).initialized()
		head := plainHead + "Content-Type: application/json\r\n" + headers.Session + ": " + s.session + "\r\nTransfer-Encoding: chunked\r\n\r\n"
		chunk := fmt.Sprintf("%x\r\n%s\r\n", 2<<20-10, strings.Repeat(" ", 2<<20-10))
		for range heldBodies {
			raw(t, m, head+chunk)
		}
		session := clientOf(t, h, s)
		synctest.Wait()
		if n := session.heldBytes.Load(); n < heldBodies*(2<<20-10) {
			t.Fatalf("%d bytes are held", n)
		}
		for _, who := range []*webClient{s, other} {
			want := http.StatusTooManyRequests
			if who == other {
				want = 200
			}
			if r := who.send(`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"` + strings.Repeat("x", 1000) + `"}}`); r.StatusCode != want {
				t.Errorf("%d, want %d", r.StatusCode, want)
			}
		}
		time.Sleep(bodyTime + time.Second)
		if n := session.heldBytes.Load(); n != 0 {
			t.Errorf("%d bytes are held afterwards", n)
		}
		if r := w.do("POST", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"x":"`+strings.Repeat("x", maxInitialize)+`"}}`); r.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("a long greeting: %d", r.StatusCode)
		}
	})
}

// TestHTTPHalfOpenConnections: connections that say nothing, or half of it, do
// not disturb those who do. MCPHUB_E2E_LONG makes them 5,000.
func TestHTTPHalfOpenConnections(t *testing.T) {
	t.Parallel()
	many := 300
	if os.Getenv("MCPHUB_E2E_LONG") != "" {
		many = 5000
	}
	w := serveWeb(t, newFakeHub(), FrontOptions{})
	s := w.initialize(`{}`).initialized()
	s.frames(s.request("tools/list", `{}`), nil)
	addr := strings.TrimSuffix(strings.TrimPrefix(w.url, "http://"), "/mcp")
	for i := range many {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatalf("connection %d: %v", i, err)
		}
		defer func() { _ = c.Close() }()
		if i%2 == 0 {
			_, _ = io.WriteString(c, "POST /mcp HTTP/1.1\r\nHost: "+addr+"\r\nContent-Le")
		}
	}
	for i := range 200 {
		m := s.frames(s.request("tools/call", call("echo", `{"n":`+strconv.Itoa(i)+`}`)), nil)
		if m == nil || !strings.Contains(string(m.Result), `"n":`+strconv.Itoa(i)) {
			t.Fatalf("call %d: %+v", i, m)
		}
	}
	// The control: one of them is a connection like any other.
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	_, _ = io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: "+addr+"\r\n\r\n")
	if line, err := bufio.NewReader(c).ReadString('\n'); err != nil || !strings.Contains(line, "200") {
		t.Errorf("%q %v", line, err)
	}
}
