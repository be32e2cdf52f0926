package httpfront

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcphub/e2e/bounds"
	"mcphub/e2e/fronttest"
	"mcphub/hub/httpfront/admission"
	"mcphub/hub/httpfront/headers"
	"mcphub/internal/jsonrpc"
)

// wire sends bytes to a front as they are, and returns the status codes of what
// comes back, and whether the connection was closed after that.
func (w *web) wire(text string, answers int) (codes []int, closed bool) {
	w.t.Helper()
	c, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(w.url, "http://"), "/mcp"))
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(bounds.Patience))
	if _, err := io.WriteString(c, text); err != nil {
		w.t.Fatal(err)
	}
	r := bufio.NewReader(c)
	method, _, _ := strings.Cut(text, " ")
	for range answers {
		resp, err := http.ReadResponse(r, &http.Request{Method: method})
		if err != nil {
			return codes, true
		}
		codes = append(codes, resp.StatusCode)
		_, _ = io.Copy(io.Discard, resp.Body)
		closed = resp.Close
	}
	return codes, closed
}

// TestHTTPShapes: requests that two readers could take for different ones, or
// that say about themselves what does not hold, are refused; each beside the
// same request in its usual shape.
func TestHTTPShapes(t *testing.T) {
	t.Parallel()
	h := newFakeHub()
	w := serveWeb(t, h, FrontOptions{Tokens: []admission.Token{{Name: "alice", Secret: "a-secret"}, {Name: "bob", Secret: "b-secret"}}})
	mine, bobs := w.initialize(`{}`, "Authorization", "Bearer a-secret"), w.initialize(`{}`, "Authorization", "Bearer b-secret")
	ping := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	host := strings.TrimSuffix(strings.TrimPrefix(w.url, "http://"), "/mcp")
	session, alice, kind := headers.Session+": "+mine.session, "Authorization: Bearer a-secret", "Content-Type: application/json"
	length := fmt.Sprintf("Content-Length: %d", len(ping))
	chunks := fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(ping), ping)
	text := func(start, body string, header ...string) string {
		return start + "\r\nHost: " + host + "\r\n" + strings.Join(header, "\r\n") + "\r\n\r\n" + body
	}
	const post, chunked = "POST /mcp HTTP/1.1", "Transfer-Encoding: chunked"
	for name, tc := range map[string]struct {
		text string
		want int
	}{
		"control":                {text(post, ping, session, alice, kind, length), 200},
		"control, charset":       {text(post, ping, session, alice, kind+`; charset="UTF-8"`, length), 200},
		"control, identity":      {text(post, ping, session, alice, kind, length, "Content-Encoding: identity"), 200},
		"control, once":          {text(post, ping, session, alice, kind, length, headers.Protocol+": 2025-11-25"), 200},
		"session twice":          {text(post, ping, session, headers.Session+": "+bobs.session, alice, kind, length), 400},
		"the same session twice": {text(post, ping, session, session, alice, kind, length), 400},
		"token twice":            {text(post, ping, session, alice, "Authorization: Bearer b-secret", kind, length), 400},
		"version twice":          {text(post, ping, session, alice, kind, length, headers.Protocol+": 2025-11-25", headers.Protocol+": 2024-11-05"), 400},
		"kind twice":             {text(post, ping, session, alice, kind, "Content-Type: text/plain", length), 400},
		"event twice":            {text("GET /mcp HTTP/1.1", "", session, alice, "Accept: text/event-stream", headers.LastEvent+": 0-0", headers.LastEvent+": 1-1"), 400},
		"packed":                 {text(post, ping, session, alice, kind, length, "Content-Encoding: gzip"), 415},
		"packed twice":           {text(post, ping, session, alice, kind, length, "Content-Encoding: identity, gzip"), 415},
		"another charset":        {text(post, ping, session, alice, kind+"; charset=utf-16", length), 415},
		"half a charset":         {text(post, ping, session, alice, kind+"; charset", length), 415},
		"several kinds":          {text(post, ping, session, alice, kind+", text/plain", length), 415},
		"two lengths":            {text(post, ping, session, alice, kind, length, "Content-Length: 3"), 400},
		"a length with a sign":   {text(post, ping, session, alice, kind, fmt.Sprintf("Content-Length: +%d", len(ping))), 400},
		"unknown transfer":       {text(post, ping, session, alice, kind, "Transfer-Encoding: chunked, gzip"), 501},
		"a space in a name":      {text(post, ping, session, alice, kind, length, "Transfer-Encoding : chunked"), 400},
		"two hosts":              {text(post, ping, session, alice, kind, length, "Host: evil.test"), 400},
		"another's host":         {text("POST http://evil.test/mcp HTTP/1.1", ping, session, alice, kind, length), 403},
		"chunks ended wrongly":   {text(post, strings.ReplaceAll(chunks, "\r\n", "\n"), session, alice, kind, chunked), 400},
		"session in a trailer":   {text(post, strings.TrimSuffix(chunks, "\r\n")+session+"\r\n\r\n", alice, kind, chunked, "Trailer: "+headers.Session), 400},
		"HEAD":                   {text("HEAD /mcp HTTP/1.1", "", session, alice, "Accept: text/event-stream"), 405},
		"TRACE":                  {text("TRACE /mcp HTTP/1.1", "", session, alice), 405},
		"options of all":         {text("OPTIONS * HTTP/1.1", ""), 404},
		"no host":                {"POST /mcp HTTP/1.0\r\n" + strings.Join([]string{session, alice, kind, length}, "\r\n") + "\r\n\r\n" + ping, 403},
	} {
		t.Run(name, func(t *testing.T) {
			if codes, _ := w.wire(tc.text, 1); len(codes) != 1 || codes[0] != tc.want {
				t.Errorf("%v, want %d", codes, tc.want)
			}
		})
	}
}

// TestHTTPSmuggling: what lies behind a chunked message on its connection is
// never taken for a request: the sender may have given a length too, and someone
// before the hub gone by that (RFC 9112, 6.1).
func TestHTTPSmuggling(t *testing.T) {
	t.Parallel()
	w := serveWeb(t, newFakeHub(), FrontOptions{})
	s := w.initialize(`{}`).initialized()
	ping := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	head := "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" + headers.Session + ": " + s.session + "\r\n"
	chunks := fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(ping), ping)
	behind := "DELETE /mcp HTTP/1.1\r\nHost: localhost\r\n" + headers.Session + ": " + s.session + "\r\n\r\n"
	for _, header := range []string{
		fmt.Sprintf("Content-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n", len(chunks)+len(behind)),
		"Transfer-Encoding: chunked\r\n\r\n",
	} {
		if codes, closed := w.wire(head+header+chunks+behind, 2); len(codes) != 1 || codes[0] != 200 || !closed {
			t.Errorf("%q: %v, closed: %v", header, codes, closed)
		}
	}
	// The control: with a length alone it is a request like any other.
	if codes, _ := w.wire(head+fmt.Sprintf("Content-Length: %d\r\n\r\n", len(ping))+ping+behind, 2); fmt.Sprint(codes) != "[200 204]" {
		t.Errorf("control: %v", codes)
	}
}

// TestHTTPAnswersAreBounded: what a session calls for and does not read is held
// up to a bound, beyond which it gets errors; others get their answers, and so
// does it when it has read.
func TestHTTPAnswersAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newFakeHub()
		h.limits.Frame = 1 << 20
		w, m, _ := bubbleWeb(t, h, FrontOptions{})
		s, other := w.initialize(`{}`).initialized(), w.initialize(`{}`).initialized()
		large := func(s *webClient) bool {
			t.Helper()
			a := s.frames(s.request("tools/call", call("large", `{}`)), nil)
			return len(a.Result) > 1<<20
		}
		if !large(s) { // the control
			t.Fatal("no answer")
		}
		var deaf []net.Conn
		for i := range 2 * heldBodies {
			text := fmt.Sprintf(`{"jsonrpc":"2.0","id":"deaf %d","method":"tools/call","params":%s}`, i, call("large", `{}`))
			deaf = append(deaf, raw(t, m, plainHead+"Content-Type: application/json\r\n"+headers.Session+": "+s.session+fmt.Sprintf("\r\nContent-Length: %d\r\n\r\n%s", len(text), text)))
			synctest.Wait()
			if n := clientOf(t, h, s).unreadBytes.Load(); n > heldBodies<<20 {
				t.Fatalf("%d bytes wait", n)
			}
		}
		if !large(other) {
			t.Error("another session gets no answer")
		}
		whole, refused := 0, 0
		for _, c := range deaf {
			r, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := body(t, r); strings.Contains(got, "too many wait to be read") {
				refused++
			} else if len(got) > 1<<20 {
				whole++
			}
		}
		if whole == 0 || whole >= heldBodies || whole+refused != len(deaf) {
			t.Errorf("%d whole, %d refused", whole, refused)
		}
		if !large(s) || clientOf(t, h, s).unreadBytes.Load() != 0 {
			t.Error("no answer afterwards")
		}
	})
}

// TestHTTPNothingIsLeftOfAStream: a client that goes on with the stream of a call
// that it has cancelled is told that nothing comes there any more; one that has
// not everything gets the rest.
func TestHTTPNothingIsLeftOfAStream(t *testing.T) {
	t.Parallel()
	hostile(t, FrontOptions{}, func(t *testing.T, _ *fakeHub, w *web, _ *fronttest.Memory) {
		s := w.initialize(`{}`).initialized()
		progress := `{"name":"progress","arguments":{"steps":3},"_meta":{"progressToken":1}}`
		var seen []string
		s.frames(s.request("tools/call", progress), func(_ *jsonrpc.Message, id string) { seen = append(seen, id) })
		r := s.do("GET", "", headers.Session, s.session, headers.LastEvent, seen[0])
		if r.StatusCode != 200 || s.frames(r, nil) == nil { // the control
			t.Errorf("the rest of an answered call: %d", r.StatusCode)
		}
		stream, _, _ := strings.Cut(seen[0], "-")
		if r := s.do("GET", "", headers.Session, s.session, headers.LastEvent, fmt.Sprintf("%s-%d", stream, len(seen)+1)); r.StatusCode != http.StatusNoContent {
			t.Errorf("behind the answer: %d", r.StatusCode)
		}
		last := ""
		r = s.send(`{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"progress","arguments":{"steps":9,"every":60000000000},"_meta":{"progressToken":1}}}`)
		s.frames(r, func(_ *jsonrpc.Message, id string) {
			last = id
			s.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"x"}}`)
		})
		if r := s.do("GET", "", headers.Session, s.session, headers.LastEvent, last); last == "" || r.StatusCode != http.StatusNoContent {
			t.Errorf("of a cancelled call, after %q: %d", last, r.StatusCode)
		}
	})
}
