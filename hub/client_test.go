package hub

import (
	"context"
	"io"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"mcphub/children/spec"
	"mcphub/e2e/bounds"
	"mcphub/e2e/childtest"
	"mcphub/internal/jsonrpc"
	"mcphub/rootsmgr"
	"mcphub/rootsmgr/guard"
	"mcphub/rootsmgr/platform"
	"mcphub/validate"
)

// testClient is a handshake client over pipes, with roots that a test chooses.
type testClient struct {
	t    testing.TB
	conn *jsonrpc.Conn
	hub  *Hub
	raws io.Writer     // its end of the pipe, for frames of a test's own
	late time.Duration // how long it takes over roots/list

	hears func(m *jsonrpc.Message)                                                    // takes notifications instead of notes and progress
	asks  func(ctx context.Context, c *testClient, m *jsonrpc.Message) jsonrpc.Answer // answers what is not roots/list

	mu       sync.Mutex
	roots    []byte // result of roots/list; nil: never answered
	asked    int
	notes    chan string // methods of notifications
	progress chan string // params of progress notifications
}

func (c *testClient) ServeRequest(ctx context.Context, m *jsonrpc.Message) jsonrpc.Answer {
	if m.Method != "roots/list" && c.asks != nil {
		return c.asks(ctx, c, m)
	}
	if m.Method != "roots/list" {
		return jsonrpc.ErrorAnswer(jsonrpc.CodeMethodNotFound, m.Method)
	}
	c.mu.Lock()
	c.asked++
	roots := c.roots
	c.mu.Unlock()
	time.Sleep(c.late)
	if roots == nil {
		<-ctx.Done()
		return jsonrpc.Answer{}
	}
	return jsonrpc.ResultAnswer(roots)
}

func (c *testClient) ServeNotification(m *jsonrpc.Message) {
	if m.Method == "notifications/progress" && c.hears == nil {
		c.progress <- string(m.Params)
		return
	}
	if h := c.hears; h != nil {
		h(m)
		return
	}
	select {
	case c.notes <- m.Method:
	default: // of a flood that no test waits for
	}
}

func (c *testClient) setRoots(dirs ...string) {
	b := []byte(`{"roots":[`)
	for i, d := range dirs {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(jsonrpc.AppendString(append(b, `{"uri":`...), platform.Host().FormatURI(d)), '}')
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.roots = append(b, `]}`...)
}

// raw makes a request and returns the raw result; an error object fails the test.
func (c *testClient) raw(method, params string) string {
	c.t.Helper()
	resp, err := c.conn.Call(context.Background(), method, []byte(params))
	if err != nil {
		c.t.Fatalf("%s: %v", method, err)
	}
	if e := resp.Err(); e != nil {
		c.t.Fatalf("%s: %v", method, e)
	}
	return string(resp.Result)
}

// refused makes a request that must be answered with an error object.
func (c *testClient) refused(method, params string) *jsonrpc.Error {
	c.t.Helper()
	resp, err := c.conn.Call(context.Background(), method, []byte(params))
	if err != nil {
		c.t.Fatalf("%s: %v", method, err)
	}
	e := resp.Err()
	if e == nil {
		c.t.Fatalf("%s %s: answered with %s", method, params, resp.Result)
	}
	return e
}

// handshake introduces the client, and returns what the hub says about itself.
func (c *testClient) handshake(caps string) (said string) {
	c.t.Helper()
	said = c.raw("initialize", `{"protocolVersion":"2025-06-18","capabilities":`+caps+`,"clientInfo":{"name":"test","version":"1"}}`)
	if err := c.conn.Notify(context.Background(), "notifications/initialized"); err != nil {
		c.t.Fatal(err)
	}
	return said
}

// newTestHub builds a Hub over scripted children.
func newTestHub(t testing.TB, specs ...spec.Spec) *Hub {
	t.Helper()
	return runHub(t, testConfig(t, specs...))
}

// newPlayedHub builds a Hub over scripted children that run in this process: none of them takes the fast path.
func newPlayedHub(t testing.TB, specs ...spec.Spec) *Hub {
	t.Helper()
	cfg := testConfig(t, specs...)
	cfg.Launcher = childtest.Pipes{}
	return runHub(t, cfg)
}

func testConfig(t testing.TB, specs ...spec.Spec) Config {
	t.Helper()
	judged := validate.Config{FS: guard.OS{}, Home: t.TempDir()}
	for _, s := range specs {
		judged.Children = append(judged.Children, validate.ChildConfig{Name: s.Name, Command: s.Command, CommandArgs: s.Args})
	}
	checker, err := validate.NewChecker(judged)
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{
		Version: "test", Checker: checker, Roots: rootsmgr.DefaultSettings(), Log: zerolog.Nop(),
		Environ: os.Environ(), Home: t.TempDir(), Dir: t.TempDir(),
	}
	cfg.Limits.ListWait = bounds.Patience // a list lacks no server because the machine is slow
	for _, s := range specs {
		cfg.Children = append(cfg.Children, Child{Spec: s, Prefix: s.Name + "__"})
	}
	return cfg
}

// runHub runs a Hub for the length of a test.
func runHub(t testing.TB, cfg Config) *Hub {
	t.Helper()
	h, _ := startHub(t, cfg)
	return h
}

// startHub runs a Hub until end is called, at the latest at the end of the test.
func startHub(t testing.TB, cfg Config) (h *Hub, end func()) {
	t.Helper()
	h, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.Run(ctx) }()
	end = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	t.Cleanup(end)
	return h, end
}

// connect opens a session with h; the handshake is the test's.
func connect(t testing.TB, h *Hub, dirs ...string) *testClient {
	t.Helper()
	c := openIn(t, h, Surroundings{})
	c.setRoots(dirs...)
	return c
}

// openIn opens a session over stdio in some surroundings, of a client without roots.
func openIn(t testing.TB, h *Hub, in Surroundings) *testClient {
	t.Helper()
	toHub, fromClient, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	toClient, fromHub, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c := &testClient{t: t, hub: h, notes: make(chan string, 1000), progress: make(chan string, 1000)}
	c.conn = jsonrpc.NewConn(toClient, fromClient, c, jsonrpc.ConnOptions{})
	c.join(func() { _ = h.ServeStdio(context.Background(), toHub, fromHub, in) })
	return c
}

// join runs both ends of the client's session until leave is called, at the latest at the end of the test. serve is the hub's end.
func (c *testClient) join(serve func()) (leave func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(serve)
	wg.Go(func() { _ = c.conn.Run(ctx) })
	leave = sync.OnceFunc(func() {
		cancel()
		wg.Wait()
	})
	c.t.Cleanup(leave)
	return leave
}

func scripted(name string, s childtest.Script) spec.Spec {
	spec := childtest.Spec(name, s)
	spec.StartTimeout = 20 * time.Second
	return spec
}
