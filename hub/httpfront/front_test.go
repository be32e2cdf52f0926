package httpfront

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mcphub/hub/httpfront/admission"
	"mcphub/hub/httpfront/headers"
	"mcphub/internal/jsonrpc"
)

func TestHTTPRefusesStrangers(t *testing.T) {
	t.Parallel()
	h := newFakeHub()
	w := serveWeb(t, h, FrontOptions{Tokens: []admission.Token{{Name: "alice", Secret: "a-secret"}, {Name: "bob", Secret: "b-secret"}}, Origins: []string{"https://ide.example"}, Hosts: []string{"hub.example"}})
	alice := []string{"Authorization", "Bearer a-secret"}
	c := w.initialize(`{}`, alice...)
	list := `{"jsonrpc":"2.0","id":9,"method":"tools/list"}`
	for name, tc := range map[string]struct {
		header []string
		want   int
	}{
		"control":           {append([]string{headers.Session, c.session}, alice...), 200},
		"no token":          {[]string{headers.Session, c.session}, 401},
		"wrong token":       {[]string{headers.Session, c.session, "Authorization", "Bearer a-secre"}, 401},
		"stolen session":    {[]string{headers.Session, c.session, "Authorization", "Bearer b-secret"}, 404},
		"guessed session":   {append([]string{headers.Session, "00000000-0000-4000-8000-000000000000"}, alice...), 404},
		"no session":        {alice, 400},
		"evil origin":       {append([]string{headers.Session, c.session, "Origin", "https://evil.example"}, alice...), 403},
		"null origin":       {append([]string{headers.Session, c.session, "Origin", "null"}, alice...), 403},
		"listed origin":     {append([]string{headers.Session, c.session, "Origin", "https://ide.example"}, alice...), 200},
		"cross site":        {append([]string{headers.Session, c.session, "Sec-Fetch-Site", "cross-site"}, alice...), 403},
		"evil host":         {append([]string{headers.Session, c.session, "Host", "evil.example"}, alice...), 403},
		"rebound":           {append([]string{headers.Session, c.session, "Host", "evil.example", "Origin", "http://evil.example"}, alice...), 403},
		"listed host":       {append([]string{headers.Session, c.session, "Host", "hub.example:80"}, alice...), 200},
		"localhost":         {append([]string{headers.Session, c.session, "Host", "localhost:1"}, alice...), 200},
		"unknown version":   {append([]string{headers.Session, c.session, headers.Protocol, "1999-01-01"}, alice...), 400},
		"plain text":        {append([]string{headers.Session, c.session, "Content-Type", "text/plain"}, alice...), 415},
		"wants nothing":     {append([]string{headers.Session, c.session, "Accept", "text/html"}, alice...), 406},
		"initialized twice": {append([]string{headers.Session, c.session}, alice...), 200},
	} {
		r := w.do("POST", list, tc.header...)
		if r.StatusCode != tc.want {
			t.Errorf("%s: %d, want %d: %s", name, r.StatusCode, tc.want, body(t, r))
		}
	}
	r := w.do("OPTIONS", "", "Origin", "https://ide.example", "Access-Control-Request-Method", "POST")
	if r.StatusCode != 204 || r.Header.Get("Access-Control-Allow-Origin") != "https://ide.example" {
		t.Errorf("preflight: %d %v", r.StatusCode, r.Header)
	}
	if r := w.do("OPTIONS", "", "Origin", "https://evil.example", "Access-Control-Request-Method", "POST"); r.StatusCode != 403 || r.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("preflight of a stranger: %d %v", r.StatusCode, r.Header)
	}
}

// TestHTTPUnknownVersion: in a session it is refused as the handshake's era does,
// whatever is asked; out of one it is taken for a later version of the other era.
func TestHTTPUnknownVersion(t *testing.T) {
	t.Parallel()
	w := serveWeb(t, newFakeHub(), FrontOptions{Tokens: []admission.Token{{Name: "alice", Secret: "a-secret"}, {Name: "bob", Secret: "b-secret"}}})
	alice, bob := []string{"Authorization", "Bearer a-secret"}, []string{"Authorization", "Bearer b-secret"}
	session := []string{headers.Session, w.initialize(`{}`, alice...).session}
	unknown := []string{headers.Protocol, "1999-01-01"}
	list := `{"jsonrpc":"2.0","id":9,"method":"tools/list"}`
	for name, tc := range map[string]struct {
		method string
		header []string
		status int
		said   string
	}{
		"in a session":             {"POST", slices.Concat(alice, session, unknown), 400, `"the protocol version \"1999-01-01\" is not served"`},
		"its stream":               {"GET", slices.Concat(alice, session, unknown), 400, `"the protocol version \"1999-01-01\" is not served"`},
		"its end":                  {"DELETE", slices.Concat(alice, session, unknown), 400, `"the protocol version \"1999-01-01\" is not served"`},
		"control: a known version": {"POST", slices.Concat(alice, session, []string{headers.Protocol, "2025-11-25"}), 200, `"tools"`},
		"no session":               {"POST", slices.Concat(alice, unknown), 400, `-32602`},
		"another's session":        {"POST", slices.Concat(bob, session, unknown), 400, `-32602`},
		"the modern version":       {"POST", slices.Concat(alice, session, []string{headers.Protocol, headers.ModernVersion}), 400, `-32602`},
	} {
		text := list
		if tc.method != "POST" {
			text = ""
		}
		r := w.do(tc.method, text, tc.header...)
		if got := body(t, r); r.StatusCode != tc.status || !strings.Contains(got, tc.said) {
			t.Errorf("%s: %d %s, want %d and %s", name, r.StatusCode, got, tc.status, tc.said)
		}
	}
}

// TestHTTPInitializeInASession: the second one is refused, and who comes with a
// session that is no more is told so.
func TestHTTPInitializeInASession(t *testing.T) {
	t.Parallel()
	w := serveWeb(t, newFakeHub(), FrontOptions{})
	c := w.initialize(`{}`)
	again := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`
	if r := c.send(again); r.StatusCode != http.StatusBadRequest {
		t.Errorf("in its own session: %d", r.StatusCode)
	}
	c.do("DELETE", "", headers.Session, c.session)
	if r := c.send(again); r.StatusCode != http.StatusNotFound {
		t.Errorf("in one that has ended: %d", r.StatusCode)
	}
	if r := w.do("POST", again); r.StatusCode != http.StatusOK || len(r.Header.Get(headers.Session)) < 26 {
		t.Errorf("in none: %d, session %q", r.StatusCode, r.Header.Get(headers.Session))
	}
	for _, neither := range []string{`{"jsonrpc":"2.0","id":1}`, `{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}`} {
		c := w.initialize(`{}`)
		if r := c.send(neither); r.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %d", neither, r.StatusCode)
		}
	}
}

func TestHTTPBounds(t *testing.T) {
	t.Parallel()
	h := newFakeHub()
	h.limits.Frame = 1 << 16
	w := serveWeb(t, h, FrontOptions{Sessions: 2})
	c := w.initialize(`{}`)
	w.initialize(`{}`)
	if r := w.do("POST", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{}}}`); r.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a third session: %d", r.StatusCode)
	}
	long := `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"` + strings.Repeat("x", 1<<16) + `"}}`
	if r := c.send(long); r.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("a long body: %d", r.StatusCode)
	}
	pr, pw := io.Pipe()
	req, _ := http.NewRequest("POST", w.url, pr)
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Content-Type", "application/json")
	go func() { // an endless body, of no stated length
		chunk := []byte(strings.Repeat("x", 1<<12))
		for {
			if _, err := pw.Write(chunk); err != nil {
				return
			}
		}
	}()
	r, err := w.c.Do(req)
	_ = pr.Close()
	if err == nil {
		if _ = r.Body.Close(); r.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("an endless body: %d", r.StatusCode)
		}
	}
	for _, bad := range []string{`{`, `[]`, `{"a":1,"a":2}`, `{"jsonrpc":"2.0"}`, "\xff"} {
		if r := c.send(bad); r.StatusCode != http.StatusBadRequest {
			t.Errorf("%q: %d", bad, r.StatusCode)
		}
	}
	if r := c.request("ping", `{}`); r.StatusCode != 200 || body(t, r) != `{"jsonrpc":"2.0","id":1,"result":{}}` {
		t.Errorf("afterwards: %d", r.StatusCode)
	}
}

func TestHTTPCancelledCallIsNotAnswered(t *testing.T) {
	t.Parallel()
	w := serveWeb(t, newFakeHub(), FrontOptions{})
	c := w.initialize(`{}`).initialized()
	done := make(chan *jsonrpc.Message, 1)
	go func() {
		r := c.send(`{"jsonrpc":"2.0","id":"slow","method":"tools/call","params":{"name":"sleep","arguments":{"ms":60000},"_meta":{"progressToken":1}}}`)
		done <- c.frames(r, nil)
	}()
	// The cancellation may be quicker than the call: repeat it until the call has ended.
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case m := <-done:
			if m != nil {
				t.Fatalf("answered: %s %s", m.Result, m.Error)
			}
			return
		case <-tick.C:
			c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"slow"}}`)
		}
	}
}

func TestHTTPProgressIsOnItsOwnStreamInOrder(t *testing.T) {
	t.Parallel()
	w := serveWeb(t, newFakeHub(), FrontOptions{})
	c := w.initialize(`{}`).initialized()
	c.frames(c.request("tools/call", call("echo", `{}`)), nil) // a call that waits for its server says so by progress
	const calls = 50
	var wg sync.WaitGroup
	for i := range calls {
		wg.Go(func() {
			token := fmt.Sprintf("t%d", i)
			r := c.request("tools/call", fmt.Sprintf(`{"name":"progress","arguments":{"steps":20},"_meta":{"progressToken":%q}}`, token))
			next := 0
			got := c.frames(r, func(m *jsonrpc.Message, _ string) {
				if m.Method != "notifications/progress" {
					t.Errorf("call %d: %s", i, m.Method)
					return
				}
				if s, _ := jsonrpc.String(m.Param("progressToken")); s != token {
					t.Errorf("call %d got progress of %s", i, s)
				}
				if s := string(m.Param("progress")); s != fmt.Sprint(next) {
					t.Errorf("call %d: progress %s after %d", i, s, next)
				}
				next++
			})
			if got == nil || next != 20 {
				t.Errorf("call %d: %d notes", i, next)
			}
		})
	}
	wg.Wait()
}

// What a connection was admitted by before admits nothing else: each request on it is
// judged by what it shows itself.
func TestEachRequestOfAConnectionIsJudged(t *testing.T) {
	t.Parallel()
	w := serveWeb(t, newFakeHub(), FrontOptions{
		Tokens:  []admission.Token{{Name: "alice", Secret: "a-secret"}, {Name: "bob", Secret: "b-secret"}},
		Origins: []string{"https://ide.example"}, Hosts: []string{"hub.example"},
	})
	const alice = "Authorization: Bearer a-secret\r\n"
	session := headers.Session + ": " + w.initialize(`{}`, "Authorization", "Bearer a-secret").session + "\r\n"
	address := strings.TrimSuffix(strings.TrimPrefix(w.url, "http://"), endpoint)
	for name, tc := range map[string]struct {
		host, header string
		want         int
	}{
		"control":          {address, alice, 200},
		"no token":         {address, "", 401},
		"empty token":      {address, "Authorization: \r\n", 401},
		"wrong token":      {address, "Authorization: Bearer a-secreT\r\n", 401},
		"longer token":     {address, "Authorization: Bearer a-secret2\r\n", 401},
		"another's":        {address, "Authorization: Bearer b-secret\r\n", 404}, // the session is not his
		"two tokens":       {address, alice + "Authorization: Bearer b-secret\r\n", 400},
		"evil host":        {"evil.example", alice, 403},
		"another host":     {"hub.example", alice, 200},
		"evil origin":      {address, alice + "Origin: https://evil.example\r\n", 403},
		"otherwise spelt":  {address, "Authorization: bearer  a-secret\r\n", 200},
		"of another kind":  {address, "Authorization: Basic a-secret\r\n", 401},
		"host not at once": {"evil.example", "", 403},
	} {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		in := bufio.NewReader(conn)
		ask := func(host, header string) int {
			const list = `{"jsonrpc":"2.0","id":9,"method":"tools/list"}`
			if _, err := fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%s%s\r\n%s", endpoint, host, len(list), session, header, list); err != nil {
				t.Fatal(err)
			}
			r, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Fatal(err)
			}
			body(t, r)
			return r.StatusCode
		}
		for range 2 {
			if got := ask(address, alice); got != 200 {
				t.Errorf("%s: the first requests are answered with %d", name, got)
			}
		}
		if got := ask(tc.host, tc.header); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
		_ = conn.Close()
	}
}
