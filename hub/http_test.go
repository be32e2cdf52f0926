package hub

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mcphub/children/childtest"
	"mcphub/hub/inline"
	"mcphub/internal/jsonrpc"
	"mcphub/rootsmgr"
)

// web is an HTTP front under test.
type web struct {
	t   testing.TB
	url string
	c   *http.Client
}

func serveWeb(t testing.TB, h *Hub, o HTTPOptions) *web {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.ServeStreamableHTTP(ctx, ln, o) }()
	tr := &http.Transport{}
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("ServeStreamableHTTP: %v", err)
		}
		tr.CloseIdleConnections()
	})
	return &web{t, "http://" + ln.Addr().String() + "/mcp", &http.Client{Transport: tr}}
}

// do makes one request; header pairs are name, value.
func (w *web) do(method, body string, header ...string) *http.Response {
	w.t.Helper()
	req, err := http.NewRequest(method, w.url, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Accept", "application/json, text/event-stream")
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			req.Host = header[i+1]
			continue
		}
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := w.c.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

func body(t testing.TB, r *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Body.Close()
	return string(b)
}

// webClient is one session over HTTP.
type webClient struct {
	*web
	session string
	header  []string
	mu      sync.Mutex
	id      int
}

func (w *web) initialize(caps string, header ...string) *webClient {
	w.t.Helper()
	r := w.do("POST", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":`+caps+`,"clientInfo":{"name":"t","version":"1"}}}`, header...)
	if got := body(w.t, r); r.StatusCode != 200 || !strings.Contains(got, `"serverInfo"`) {
		w.t.Fatalf("initialize: %d %s", r.StatusCode, got)
	}
	c := &webClient{web: w, session: r.Header.Get(headerSession), header: header}
	if c.session == "" {
		w.t.Fatal("there is no session id")
	}
	return c
}

func (c *webClient) initialized() *webClient {
	c.t.Helper()
	if r := c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`); r.StatusCode != http.StatusAccepted {
		c.t.Fatalf("initialized: %d", r.StatusCode)
	}
	return c
}

func (c *webClient) send(frame string, header ...string) *http.Response {
	c.t.Helper()
	return c.do("POST", frame, append(append([]string{headerSession, c.session, headerProtocol, "2025-11-25"}, c.header...), header...)...)
}

// request posts a request.
func (c *webClient) request(method, params string, header ...string) *http.Response {
	c.t.Helper()
	c.mu.Lock()
	c.id++
	id := c.id
	c.mu.Unlock()
	return c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, params), header...)
}

// frames reads the messages of an answer of either kind until a response.
func (c *webClient) frames(r *http.Response, each func(m *jsonrpc.Message, event string)) *jsonrpc.Message {
	c.t.Helper()
	if r.StatusCode != 200 {
		c.t.Fatalf("%d %s", r.StatusCode, body(c.t, r))
	}
	var m jsonrpc.Message
	if r.Header.Get("Content-Type") == "application/json" {
		if err := jsonrpc.Split([]byte(body(c.t, r)), false, &m); err != nil {
			c.t.Fatal(err)
		}
		return &m
	}
	sc := bufio.NewScanner(r.Body)
	sc.Buffer(nil, 1<<26)
	var data []string
	event := ""
	for sc.Scan() {
		line := sc.Text()
		switch {
		case strings.HasPrefix(line, "id: "):
			event = line[4:]
		case strings.HasPrefix(line, "data: "):
			data = append(data, line[6:])
		case line == "" && len(data) > 0:
			text := strings.Join(data, "\n")
			data = nil
			if text == "" {
				continue
			}
			var m jsonrpc.Message
			if err := jsonrpc.Split([]byte(text), false, &m); err != nil {
				c.t.Fatalf("%v: %s", err, text)
			}
			if m.IsResponse() {
				return &m
			}
			if each != nil {
				each(&m, event)
			}
		}
	}
	return nil
}

// rootsAnswer is the frame that answers a roots/list.
func rootsAnswer(id []byte, dirs ...string) string {
	var roots []string
	for _, d := range dirs {
		roots = append(roots, fmt.Sprintf(`{"uri":%q}`, rootsmgr.FormatURI(d)))
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"roots":[%s]}}`, id, strings.Join(roots, ","))
}

// answering serves roots/list on whatever stream it comes.
func (c *webClient) answering(dirs ...string) func(m *jsonrpc.Message, _ string) {
	return func(m *jsonrpc.Message, _ string) {
		if m.Method == "roots/list" {
			if r := c.send(rootsAnswer(m.ID, dirs...)); r.StatusCode != http.StatusAccepted {
				c.t.Errorf("answering roots/list: %d", r.StatusCode)
			}
		}
	}
}

func TestHTTPCallIsJudgedByRootsAskedOnItsOwnPOST(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	w := serveWeb(t, newTestHub(t, scripted("kid", childtest.Script{})), HTTPOptions{})
	c := w.initialize(`{"roots":{"listChanged":true}}`).initialized()
	in := c.frames(c.request("tools/call", call("kid__echo", fmt.Sprintf(`{"path":%q,"n":12345678901234567890}`, filepath.Join(root, "x")))), c.answering(root))
	if in == nil || !strings.Contains(string(in.Result), `"n":12345678901234567890`) {
		t.Fatalf("inside: %+v", in)
	}
	out := c.frames(c.request("tools/call", call("kid__echo", fmt.Sprintf(`{"path":%q}`, outside))), c.answering(root))
	if msg, bad := text(string(out.Result)); !bad || !strings.HasPrefix(msg, "Access denied: Path '"+outside+"'") {
		t.Fatalf("outside: %s", out.Result)
	}
}

func TestHTTPRootsAreAskedOnTheGETStream(t *testing.T) {
	root := t.TempDir()
	w := serveWeb(t, newTestHub(t, scripted("kid", childtest.Script{})), HTTPOptions{})
	c := w.initialize(`{"roots":{}}`).initialized()
	r := c.do("GET", "", headerSession, c.session)
	asked := make(chan struct{})
	go func() {
		c.frames(r, func(m *jsonrpc.Message, _ string) {
			if m.Method == "roots/list" {
				c.answering(root)(m, "")
				close(asked)
			}
		})
	}()
	<-asked
	got := c.frames(c.request("tools/call", call("kid__echo", fmt.Sprintf(`{"path":%q}`, root))), nil)
	if _, bad := text(string(got.Result)); bad {
		t.Fatalf("%s", got.Result)
	}
	if r := c.do("DELETE", "", headerSession, c.session); r.StatusCode != http.StatusNoContent {
		t.Fatalf("DELETE: %d", r.StatusCode)
	}
	if r := c.request("tools/list", `{}`); r.StatusCode != http.StatusNotFound {
		t.Fatalf("after DELETE: %d", r.StatusCode)
	}
}

func TestHTTPProgressIsOnItsOwnStreamInOrder(t *testing.T) {
	w := serveWeb(t, newTestHub(t, scripted("kid", childtest.Script{})), HTTPOptions{})
	c := w.initialize(`{}`).initialized()
	c.frames(c.request("tools/call", call("kid__echo", `{}`)), nil) // a call that waits for its server says so by progress
	const calls = 50
	var wg sync.WaitGroup
	for i := range calls {
		wg.Go(func() {
			token := fmt.Sprintf("t%d", i)
			r := c.request("tools/call", fmt.Sprintf(`{"name":"kid__progress","arguments":{"steps":20},"_meta":{"progressToken":%q}}`, token))
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

func TestHTTPBrokenStreamGoesOnWhereItWas(t *testing.T) {
	w := serveWeb(t, newTestHub(t, scripted("kid", childtest.Script{})), HTTPOptions{})
	c := w.initialize(`{"roots":{}}`).initialized()
	root := t.TempDir()
	// The call waits for the roots, which are asked on its stream; then its connection breaks.
	r := c.request("tools/call", call("kid__echo", fmt.Sprintf(`{"path":%q}`, root)))
	var asked []byte
	last := ""
	sc := bufio.NewScanner(r.Body)
	for sc.Scan() && asked == nil {
		if id, ok := strings.CutPrefix(sc.Text(), "id: "); ok {
			last = id
		}
		if data, ok := strings.CutPrefix(sc.Text(), "data: "); ok && data != "" {
			var m jsonrpc.Message
			if err := jsonrpc.Split([]byte(data), false, &m); err != nil {
				t.Fatal(err)
			}
			asked = append(asked, m.ID...)
		}
	}
	_ = r.Body.Close()
	c.send(rootsAnswer(asked, root))
	got := c.frames(c.do("GET", "", headerSession, c.session, headerLast, last), nil)
	if got == nil || string(got.ID) != "1" {
		t.Fatalf("%+v", got)
	}
	if r := c.do("GET", "", headerSession, c.session, headerLast, "99-1"); r.StatusCode != http.StatusBadRequest {
		t.Fatalf("an unknown event: %d", r.StatusCode)
	}
}

func TestHTTPRefusesStrangers(t *testing.T) {
	h := newTestHub(t, scripted("kid", childtest.Script{}))
	w := serveWeb(t, h, HTTPOptions{Tokens: []Token{{Name: "alice", Secret: "a-secret"}, {Name: "bob", Secret: "b-secret"}}, Origins: []string{"https://ide.example"}, Hosts: []string{"hub.example"}})
	alice := []string{"Authorization", "Bearer a-secret"}
	c := w.initialize(`{}`, alice...)
	list := `{"jsonrpc":"2.0","id":9,"method":"tools/list"}`
	for name, tc := range map[string]struct {
		header []string
		want   int
	}{
		"control":           {append([]string{headerSession, c.session}, alice...), 200},
		"no token":          {[]string{headerSession, c.session}, 401},
		"wrong token":       {[]string{headerSession, c.session, "Authorization", "Bearer a-secre"}, 401},
		"stolen session":    {[]string{headerSession, c.session, "Authorization", "Bearer b-secret"}, 404},
		"guessed session":   {append([]string{headerSession, "00000000-0000-4000-8000-000000000000"}, alice...), 404},
		"no session":        {alice, 400},
		"evil origin":       {append([]string{headerSession, c.session, "Origin", "https://evil.example"}, alice...), 403},
		"null origin":       {append([]string{headerSession, c.session, "Origin", "null"}, alice...), 403},
		"listed origin":     {append([]string{headerSession, c.session, "Origin", "https://ide.example"}, alice...), 200},
		"cross site":        {append([]string{headerSession, c.session, "Sec-Fetch-Site", "cross-site"}, alice...), 403},
		"evil host":         {append([]string{headerSession, c.session, "Host", "evil.example"}, alice...), 403},
		"rebound":           {append([]string{headerSession, c.session, "Host", "evil.example", "Origin", "http://evil.example"}, alice...), 403},
		"listed host":       {append([]string{headerSession, c.session, "Host", "hub.example:80"}, alice...), 200},
		"localhost":         {append([]string{headerSession, c.session, "Host", "localhost:1"}, alice...), 200},
		"unknown version":   {append([]string{headerSession, c.session, headerProtocol, "1999-01-01"}, alice...), 400},
		"plain text":        {append([]string{headerSession, c.session, "Content-Type", "text/plain"}, alice...), 415},
		"wants nothing":     {append([]string{headerSession, c.session, "Accept", "text/html"}, alice...), 406},
		"initialized twice": {append([]string{headerSession, c.session}, alice...), 200},
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
	w := serveWeb(t, newTestHub(t, scripted("kid", childtest.Script{})), HTTPOptions{Tokens: []Token{{Name: "alice", Secret: "a-secret"}, {Name: "bob", Secret: "b-secret"}}})
	alice, bob := []string{"Authorization", "Bearer a-secret"}, []string{"Authorization", "Bearer b-secret"}
	session := []string{headerSession, w.initialize(`{}`, alice...).session}
	unknown := []string{headerProtocol, "1999-01-01"}
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
		"control: a known version": {"POST", slices.Concat(alice, session, []string{headerProtocol, "2025-11-25"}), 200, `"tools"`},
		"no session":               {"POST", slices.Concat(alice, unknown), 400, `-32602`},
		"another's session":        {"POST", slices.Concat(bob, session, unknown), 400, `-32602`},
		"the modern version":       {"POST", slices.Concat(alice, session, []string{headerProtocol, inline.Version}), 400, `-32602`},
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
	w := serveWeb(t, newTestHub(t, scripted("kid", childtest.Script{})), HTTPOptions{})
	c := w.initialize(`{}`)
	again := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`
	if r := c.send(again); r.StatusCode != http.StatusBadRequest {
		t.Errorf("in its own session: %d", r.StatusCode)
	}
	c.do("DELETE", "", headerSession, c.session)
	if r := c.send(again); r.StatusCode != http.StatusNotFound {
		t.Errorf("in one that has ended: %d", r.StatusCode)
	}
	if r := w.do("POST", again); r.StatusCode != http.StatusOK || len(r.Header.Get(headerSession)) < 26 {
		t.Errorf("in none: %d, session %q", r.StatusCode, r.Header.Get(headerSession))
	}
	for _, neither := range []string{`{"jsonrpc":"2.0","id":1}`, `{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}`} {
		c := w.initialize(`{}`)
		if r := c.send(neither); r.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %d", neither, r.StatusCode)
		}
	}
}

// TestHTTPTokensThatCannotBeTold: a front with them is not served at all.
func TestHTTPTokensThatCannotBeTold(t *testing.T) {
	for name, tokens := range map[string][]Token{
		"no secret":  {{Name: "a"}},
		"no name":    {{Secret: "s"}},
		"one secret": {{Name: "a", Secret: "s"}, {Name: "b", Secret: "s"}},
		"one name":   {{Name: "a", Secret: "s"}, {Name: "a", Secret: "t"}},
	} {
		if _, err := newGate(HTTPOptions{Tokens: tokens}); err == nil {
			t.Errorf("%s: served", name)
		}
	}
	if _, err := newGate(HTTPOptions{Tokens: []Token{{Name: "a", Secret: "s"}, {Name: "b", Secret: "t"}}}); err != nil {
		t.Error(err)
	}
}

func TestHTTPBounds(t *testing.T) {
	h := newTestHub(t, scripted("kid", childtest.Script{}))
	h.now().cfg.Limits.Frame = 1 << 16
	w := serveWeb(t, h, HTTPOptions{Sessions: 2})
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
	w := serveWeb(t, newTestHub(t, scripted("kid", childtest.Script{})), HTTPOptions{})
	c := w.initialize(`{}`).initialized()
	done := make(chan *jsonrpc.Message, 1)
	go func() {
		r := c.send(`{"jsonrpc":"2.0","id":"slow","method":"tools/call","params":{"name":"kid__sleep","arguments":{"ms":60000},"_meta":{"progressToken":1}}}`)
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

func TestHTTPSessionsDoNotMix(t *testing.T) {
	w := serveWeb(t, newTestHub(t, scripted("kid", childtest.Script{})), HTTPOptions{})
	var wg sync.WaitGroup
	dirs := []string{t.TempDir(), t.TempDir(), t.TempDir(), t.TempDir()}
	for i, dir := range dirs {
		wg.Go(func() {
			c := w.initialize(`{"roots":{}}`).initialized()
			for n := range 20 {
				path := dirs[n%len(dirs)]
				m := c.frames(c.request("tools/call", call("kid__echo", fmt.Sprintf(`{"path":%q}`, path))), c.answering(dir))
				if _, bad := text(string(m.Result)); bad == (path == dir) {
					t.Errorf("session %d, %s: %s", i, path, m.Result)
				}
			}
		})
	}
	wg.Wait()
}
