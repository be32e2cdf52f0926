package httpfront

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"mcphub/internal/jsonrpc"
)

// web is an HTTP front under test.
type web struct {
	t   testing.TB
	url string
	c   *http.Client
}

func serveWeb(t testing.TB, h *fakeHub, o Options) *web {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- Serve(ctx, ln, h, o) }()
	tr := &http.Transport{}
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
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

// memory is a network of one address inside a bubble: connections without any
// buffer, so that who does not read is waited for at once.
type memory struct {
	conns chan net.Conn
	over  chan struct{}
	once  sync.Once
}

func (m *memory) Accept() (net.Conn, error) {
	select {
	case c := <-m.conns:
		return c, nil
	case <-m.over:
		return nil, net.ErrClosed
	}
}

func (m *memory) Close() error {
	m.once.Do(func() { close(m.over) })
	return nil
}

func (m *memory) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

func (m *memory) dial(context.Context, string, string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case m.conns <- there:
		return here, nil
	case <-m.over:
		return nil, errors.New("nobody listens")
	}
}

// bubbleWeb is an HTTP front in a bubble of its own; stop ends it.
func bubbleWeb(t *testing.T, h *fakeHub, o Options) (w *web, m *memory, stop func()) {
	t.Helper()
	m = &memory{conns: make(chan net.Conn), over: make(chan struct{})}
	o.Hosts = append(o.Hosts, "hub.test")
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- Serve(ctx, m, h, o) }()
	tr := &http.Transport{DialContext: m.dial}
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
		tr.CloseIdleConnections()
	})
	t.Cleanup(stop)
	return &web{t, "http://hub.test/mcp", &http.Client{Transport: tr}}, m, stop
}
