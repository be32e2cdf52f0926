package hub

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"mcphub/children/spec"
	"mcphub/e2e/childtest"
	"mcphub/e2e/fronttest"
	"mcphub/internal/jsonrpc"
	"mcphub/rootsmgr/platform"
)

const (
	headerSession  = "Mcp-Session-Id"
	headerProtocol = "MCP-Protocol-Version"
	endpoint       = "/mcp"
)

// web is an HTTP front under test.
type web struct {
	t   testing.TB
	url string
	c   *http.Client
}

func serveWeb(t testing.TB, h *Hub, o HTTPOptions) *web {
	t.Helper()
	o.Open = len(o.Tokens) == 0 && o.Resource == nil && o.LocalToken == ""
	ln := fronttest.Listen(t)
	c, _ := fronttest.Run(t, &http.Transport{}, func(ctx context.Context) error { return h.ServeStreamableHTTP(ctx, ln, o) })
	return &web{t, "http://" + ln.Addr().String() + "/mcp", c}
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
	return fronttest.Messages(c.t, r, each)
}

// rootsAnswer returns the frame that answers a roots/list.
func rootsAnswer(id []byte, dirs ...string) string {
	var roots []string
	for _, d := range dirs {
		roots = append(roots, fmt.Sprintf(`{"uri":%q}`, platform.Host().FormatURI(d)))
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
	in := c.frames(c.request("tools/call", toolCall("kid__echo", fmt.Sprintf(`{"path":%q,"n":12345678901234567890}`, filepath.Join(root, "x")))), c.answering(root))
	if in == nil || !strings.Contains(string(in.Result), `"n":12345678901234567890`) {
		t.Fatalf("inside: %+v", in)
	}
	out := c.frames(c.request("tools/call", toolCall("kid__echo", fmt.Sprintf(`{"path":%q}`, outside))), c.answering(root))
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
	got := c.frames(c.request("tools/call", toolCall("kid__echo", fmt.Sprintf(`{"path":%q}`, root))), nil)
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

func TestHTTPSessionsDoNotMix(t *testing.T) {
	all, same := scripted("all", childtest.Script{}), scripted("same", childtest.Script{})
	all.Share, same.Share = spec.ShareAll, spec.ShareRoots
	w := serveWeb(t, newTestHub(t, scripted("kid", childtest.Script{}), all, same), HTTPOptions{})
	var wg sync.WaitGroup
	dirs := []string{t.TempDir(), t.TempDir(), t.TempDir(), t.TempDir()}
	for i, dir := range dirs {
		wg.Go(func() {
			c := w.initialize(`{"roots":{}}`).initialized()
			for n := range 20 {
				path, tag := dirs[n%len(dirs)], fmt.Sprintf(`"session %d, %d"`, i, n)
				for _, child := range []string{"kid", "all", "same"} {
					m := c.frames(c.request("tools/call", toolCall(child+"__echo", fmt.Sprintf(`{"path":%q,"tag":%s}`, path, tag))), c.answering(dir))
					if _, bad := text(string(m.Result)); bad == (path == dir) || !bad && !strings.Contains(string(m.Result), tag) {
						t.Errorf("session %d, %s: %s: %s", i, child, path, m.Result)
					}
				}
			}
		})
	}
	wg.Wait()
}
