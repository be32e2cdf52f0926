package httpfront

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"mcphub/e2e/fronttest"
	"mcphub/hub/httpfront/headers"
	"mcphub/internal/jsonrpc"
)

// web is an HTTP front under test.
type web struct {
	t   testing.TB
	url string
	c   *http.Client
}

func serveWeb(t testing.TB, h *fakeHub, options FrontOptions) *web {
	t.Helper()
	options.Open = len(options.Tokens) == 0 && options.Resource == nil && options.LocalToken == ""
	ln := fronttest.Listen(t)
	c, _ := fronttest.Run(t, &http.Transport{}, func(ctx context.Context) error { return serve(ctx, ln, h, options) })
	return &web{t, "http://" + ln.Addr().String() + "/mcp", c}
}

// serve serves a new front.
func serve(ctx context.Context, ln net.Listener, h *fakeHub, options FrontOptions) error {
	f, err := New(h, options)
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	h.front.Store(f)
	return f.Serve(ctx, ln)
}

// do makes one request; header pairs are name, value.
func (w *web) do(method, body string, header ...string) *http.Response {
	w.t.Helper()
	return fronttest.Do(w.t, w.c, method, w.url, body, header...)
}

func body(t testing.TB, r *http.Response) string { return fronttest.Body(t, r) }

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
	c := &webClient{web: w, session: r.Header.Get(headers.Session), header: header}
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
	return c.do("POST", frame, append(append([]string{headers.Session, c.session, headers.Protocol, "2025-11-25"}, c.header...), header...)...)
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
	return fronttest.Messages(c.t, r, each)
}

// bubbleWeb returns an HTTP front in a bubble of its own; stop ends it.
func bubbleWeb(t *testing.T, h *fakeHub, options FrontOptions) (w *web, m *fronttest.Memory, stop func()) {
	t.Helper()
	options.Open = len(options.Tokens) == 0 && options.Resource == nil && options.LocalToken == ""
	m = fronttest.NewMemory()
	options.Hosts = append(options.Hosts, "hub.test")
	c, stop := fronttest.Run(t, &http.Transport{DialContext: m.Dial}, func(ctx context.Context) error { return serve(ctx, m, h, options) })
	return &web{t, "http://hub.test/mcp", c}, m, stop
}
