package files

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	testbounds "mcphub/e2e/bounds"
	"mcphub/e2e/needs"
	"mcphub/rootsmgr/platform"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// waitLimit bounds what a test waits for that should come at once.
const waitLimit = testbounds.Patience

// rootList is a client's answer to roots/list.
type rootList struct {
	mu   sync.Mutex
	uris []string
	err  error
}

func (r *rootList) set(dirs ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.uris = nil
	for _, d := range dirs {
		r.uris = append(r.uris, platform.Host().FormatURI(d))
	}
}

func (r *rootList) ListRoots(context.Context, mcp.ListRootsRequest) (*mcp.ListRootsResult, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return nil, r.err
	}
	res := &mcp.ListRootsResult{Roots: []mcp.Root{}}
	for _, u := range r.uris {
		res.Roots = append(res.Roots, mcp.Root{URI: u})
	}
	return res, nil
}

// connect serves srv to a real mcp-go client over pipes. roots nil: the client
// declares none.
func connect(t *testing.T, srv *Server, roots *rootList) *client.Client {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- srv.Serve(context.Background(), inR, outW); outW.Close() }()
	var opts []client.ClientOption
	if roots != nil {
		opts = append(opts, client.WithRootsHandler(roots))
	}
	c := client.NewClient(transport.NewIO(outR, inW, io.NopCloser(strings.NewReader(""))), opts...)
	t.Cleanup(func() {
		c.Close()
		select {
		case err := <-served:
			if err != nil {
				t.Errorf("Serve: %v", err)
			}
		case <-time.After(waitLimit):
			t.Error("Serve did not end after its input")
		}
	})
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Initialize(t.Context(), mcp.InitializeRequest{}); err != nil {
		t.Fatal(err)
	}
	return c
}

type args = map[string]any

// ask calls a tool and returns its result with all text joined.
func ask(t *testing.T, c *client.Client, tool string, a args) (*mcp.CallToolResult, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	req := mcp.CallToolRequest{}
	req.Params.Name, req.Params.Arguments = tool, a
	res, err := c.CallTool(ctx, req)
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	var parts []string
	for _, part := range res.Content {
		if tc, ok := part.(mcp.TextContent); ok {
			parts = append(parts, tc.Text)
		}
	}
	return res, strings.Join(parts, "\n")
}

func wantText(t *testing.T, c *client.Client, tool string, a args, want string) {
	t.Helper()
	if res, text := ask(t, c, tool, a); res.IsError || text != want {
		t.Errorf("%s %v = %q (isError %v), want %q", tool, a, text, res.IsError, want)
	}
}

func wantError(t *testing.T, c *client.Client, tool string, a args, parts ...string) {
	t.Helper()
	res, text := ask(t, c, tool, a)
	if !res.IsError {
		t.Errorf("%s %v = %q, want an error", tool, a, text)
	}
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s %v: error %q does not say %q", tool, a, text, part)
		}
	}
}

func structured(t *testing.T, res *mcp.CallToolResult) map[string]any {
	t.Helper()
	m, ok := res.StructuredContent.(map[string]any)
	if !ok {
		t.Fatalf("no structuredContent: %#v", res)
	}
	return m
}

// folder makes a canonical temporary directory and fills it: name to content; a
// name that ends in "/" is a directory, "-> x" as content a link to x.
func folder(t *testing.T, content map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	fill(t, dir, content)
	return dir
}

func fill(t *testing.T, dir string, content map[string]string) {
	t.Helper()
	for name, text := range content {
		p := filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(p), 0o755))
		switch {
		case strings.HasSuffix(name, "/"):
			must(t, os.MkdirAll(p, 0o755))
		case strings.HasPrefix(text, "-> "):
			needs.Link(t, text[3:], p)
		default:
			must(t, os.WriteFile(p, []byte(text), 0o644))
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func content(t *testing.T, path ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(path...))
	must(t, err)
	return string(b)
}

func quiet(dirs ...string) *Server { return New(Options{Dirs: dirs, Log: zerolog.Nop()}) }

// peer is a client that writes its lines by hand.
type peer struct {
	t      *testing.T
	in     *io.PipeWriter
	lines  chan string
	served chan error
	cancel context.CancelFunc
}

func dial(t *testing.T, srv *Server) *peer {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	p := &peer{t: t, in: inW, lines: make(chan string, 1000), served: make(chan error, 1), cancel: cancel}
	go func() { p.served <- srv.Serve(ctx, inR, outW); outW.Close() }()
	go func() {
		defer close(p.lines)
		for r := bufio.NewReaderSize(outR, 1<<20); ; {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			p.lines <- line
		}
	}()
	t.Cleanup(func() { inW.Close(); cancel(); outR.Close() })
	return p
}

func (p *peer) send(format string, a ...any) {
	p.t.Helper()
	if _, err := fmt.Fprintf(p.in, format+"\n", a...); err != nil {
		p.t.Fatalf("send: %v", err)
	}
}

type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

func (p *peer) next() message {
	p.t.Helper()
	line := p.line()
	var m message
	if err := json.Unmarshal([]byte(line), &m); err != nil {
		p.t.Fatalf("not JSON: %q", line)
	}
	return m
}

// line returns the next line that comes.
func (p *peer) line() string {
	p.t.Helper()
	select {
	case line, ok := <-p.lines:
		if !ok {
			p.t.Fatal("the server has ended")
		}
		return line
	case <-time.After(waitLimit):
		p.t.Fatal("no message came")
	}
	return ""
}

// end waits for Serve to return.
func (p *peer) end() error {
	p.t.Helper()
	select {
	case err := <-p.served:
		return err
	case <-time.After(waitLimit):
		p.t.Fatal("Serve did not return")
		return nil
	}
}

const (
	hello       = `{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":"t","version":"1"},"capabilities":{}}}`
	helloRoots  = `{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":"t","version":"1"},"capabilities":{"roots":{"listChanged":true}}}}`
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	changed     = `{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`
)

func read(id int, path string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"read_text_file","arguments":{"path":%q}}}`, id, path)
}
