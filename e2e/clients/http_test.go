//lint:file-ignore SA1019 roots and the GET stream are what is tested; the SDKs call them deprecated since 2026-07-28

package clients

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"

	mcpclient "github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"mcphub/e2e/ide"
	"mcphub/e2e/world"
)

// overHTTP runs the TypeScript client against an address.
func overHTTP(w *world.World, n world.Node, url string, roots []obj, steps ...obj) sdkReport {
	w.T.Helper()
	return runSDK(w, n, world.Raw(w.T, obj{"url": url, "headers": world.BearingHeaders(w.T, url), "roots": roots, "steps": steps, "capabilities": json.RawMessage(ide.DefaultCapabilities)}), len(steps))
}

// A caller is a client session of some SDK: it calls a tool and gives the text
// of the result.
type caller func(t *testing.T, tool string, args obj) (text string, isError bool)

// dialGoSDK connects the official Go SDK's client.
func dialGoSDK(t testing.TB, url string, o *gosdk.ClientOptions, dirs ...string) *gosdk.ClientSession {
	t.Helper()
	return dialGoSDKAt(t, url, o, handshakeVersion, dirs...)
}

// handshakeVersion is what the Go SDK is held to where a test is about the era of the handshake: it would take the newest.
const handshakeVersion = "2025-11-25"

func dialGoSDKAt(t testing.TB, url string, o *gosdk.ClientOptions, version string, dirs ...string) *gosdk.ClientSession {
	t.Helper()
	c := gosdk.NewClient(&gosdk.Implementation{Name: "go-sdk", Version: "1"}, o)
	for _, d := range dirs {
		c.AddRoots(&gosdk.Root{URI: ide.FileURI(d)})
	}
	web := &http.Client{Transport: world.Given{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
	s, err := c.Connect(context.Background(), &gosdk.StreamableClientTransport{Endpoint: url, HTTPClient: web}, &gosdk.ClientSessionOptions{ProtocolVersion: version})
	world.Must(t, err)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("closing the session: %v", err)
		}
		web.CloseIdleConnections()
	})
	return s
}

type fixedRoots []string

func (r fixedRoots) ListRoots(context.Context, mcp.ListRootsRequest) (*mcp.ListRootsResult, error) {
	out := &mcp.ListRootsResult{}
	for _, d := range r {
		out.Roots = append(out.Roots, mcp.Root{URI: ide.FileURI(d)})
	}
	return out, nil
}

// dialMCPGo connects mcp-go's client, with a stream of its own or without one:
// then the roots are asked for on the POST of the call.
func dialMCPGo(t testing.TB, url string, listens bool, dirs ...string) caller {
	t.Helper()
	web := &http.Client{Transport: world.Given{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
	options := []transport.StreamableHTTPCOption{transport.WithHTTPBasicClient(web)}
	if listens {
		options = append(options, transport.WithContinuousListening())
	}
	tr, err := transport.NewStreamableHTTP(url, options...)
	world.Must(t, err)
	c := mcpclient.NewClient(tr, mcpclient.WithRootsHandler(fixedRoots(dirs)))
	ctx, cancel := context.WithTimeout(context.Background(), world.WaitLimit)
	defer cancel()
	world.Must(t, c.Start(context.WithoutCancel(ctx)))
	_, err = c.Initialize(ctx, mcp.InitializeRequest{Params: mcp.InitializeParams{
		ProtocolVersion: "2025-11-25", ClientInfo: mcp.Implementation{Name: "mcp-go", Version: "1"}}})
	world.Must(t, err)
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("closing the session: %v", err)
		}
		web.CloseIdleConnections()
	})
	return callMCPGo(c)
}

func callMCPGo(c *mcpclient.Client) caller {
	return func(t *testing.T, tool string, args obj) (string, bool) {
		t.Helper()
		ctx, cancel := context.WithTimeout(context.Background(), 2*world.WaitLimit)
		defer cancel()
		r, err := c.CallTool(ctx, mcp.CallToolRequest{Params: mcp.CallToolParams{Name: tool, Arguments: args}})
		if err != nil {
			t.Errorf("%s: %v", tool, err)
			return "", true
		}
		var b strings.Builder
		for _, part := range r.Content {
			if text, ok := part.(mcp.TextContent); ok {
				b.WriteString(text.Text)
			}
		}
		return b.String(), r.IsError
	}
}

// TestHTTPRealClients: real clients over HTTP, real servers over stdio behind
// the hub; each reads inside its root and not outside.
func TestHTTPRealClients(t *testing.T) {
	t.Parallel()
	n := world.RequireNode(t)
	w := world.New(t)
	url := w.ServeHTTP(w.Config(realStores(w, n)))
	inside, outside := w.Path("project", "hello.txt"), w.Path("outside", "secret.txt")
	t.Run("TypeScript SDK", func(t *testing.T) {
		read := func(path string) obj {
			return obj{"do": "rawCall", "name": "filesystem__read_text_file", "arguments": obj{"path": path}}
		}
		await := obj{"do": "awaitTool", "name": "memory__read_graph"}
		r := overHTTP(w, n, url, rootsOf(w.Project), await, read(inside), read(outside),
			obj{"do": "roots", "roots": rootsOf(w.Outside)}, read(outside), read(inside))
		for i, res := range r.Results {
			if res.Error != nil {
				t.Fatalf("step %d: %+v", i, *res.Error)
			}
		}
		for i, want := range map[int]string{1: "hello from the project", 4: world.SecretText} {
			if got := string(r.Results[i].Value); !strings.Contains(got, want) {
				t.Errorf("step %d: %s, want %q", i, got, want)
			}
		}
		wantRefused(t, "outside", r.Results[2].Value, []string{outside}, w.Project)
		wantRefused(t, "after the change", r.Results[5].Value, []string{inside}, w.Outside)
		if r.Asked != 2 {
			t.Errorf("asked for the roots %d times", r.Asked)
		}
	})
	t.Run("mcp-go, GET", func(t *testing.T) { walk(w, t, dialMCPGo(t, url, true, w.Project)) })
	t.Run("mcp-go, POST", func(t *testing.T) { walk(w, t, dialMCPGo(t, url, false, w.Project)) })
	t.Run("Go SDK", func(t *testing.T) {
		s := dialGoSDK(t, url, nil, w.Project)
		walk(w, t, func(t *testing.T, tool string, args obj) (string, bool) {
			return world.CallGoSDK(t, s, tool, args, nil)
		})
	})
}

// bearer adds a token to every request.
type bearer struct {
	secret string
	*http.Transport
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.secret)
	return b.Transport.RoundTrip(r)
}

// TestHTTPRealServersByURL: real servers over both transports, behind the HTTP
// front; server-everything asks for the roots by itself.
func TestHTTPRealServersByURL(t *testing.T) {
	t.Parallel()
	n := world.RequireNode(t)
	w := world.New(t)
	servers := everythings(w, n)
	servers["guessed"] = servers["sse"]
	url := w.ServeHTTP(w.Config(servers))
	var mu sync.Mutex
	progress := map[string]int{}
	s := dialGoSDK(t, url, &gosdk.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *gosdk.ProgressNotificationClientRequest) {
		mu.Lock()
		defer mu.Unlock()
		progress[fmt.Sprint(r.Params.ProgressToken)]++
	}}, w.Project)
	for name := range servers {
		if got, bad := world.CallGoSDK(t, s, name+"__echo", obj{"message": "through " + name}, nil); bad || !strings.Contains(got, "through "+name) {
			t.Errorf("%s: %s", name, got)
		}
		if got, bad := world.CallGoSDK(t, s, name+"__trigger-long-running-operation", obj{"duration": 1, "steps": 4}, name); bad || !strings.Contains(got, "completed") {
			t.Errorf("%s: %s", name, got)
		}
		if got, bad := world.CallGoSDK(t, s, name+"__get-roots-list", obj{}, nil); bad || !strings.Contains(got, ide.FileURI(w.Project)) {
			t.Errorf("%s: %s", name, got)
		}
		mu.Lock()
		if progress[name] == 0 {
			t.Errorf("%s: no progress arrived", name)
		}
		mu.Unlock()
	}
}

// TestHTTPPlaywrightByURL: its roots question comes inside the first call, on
// the stream of that call or on its own.
func TestHTTPPlaywrightByURL(t *testing.T) {
	t.Parallel()
	n, browser := world.RequireNode(t), world.RequireChromium(t)
	w := world.New(t)
	port := world.FreePort(t)
	args := []string{n.Script("playwright-mcp"), "--port", port, "--host", "127.0.0.1", "--headless", "--isolated",
		"--browser", "chromium", "--executable-path", browser, "--no-sandbox"}
	w.Listening(exec.Command(n.Program, args...), regexp.MustCompile(`(?i)(listening)`), "TMPDIR="+w.Home)
	url := w.ServeHTTP(w.Config(obj{"playwright": obj{"url": fmt.Sprintf("http://localhost:%s/mcp", port)}}))
	for _, version := range []string{handshakeVersion, "2026-07-28"} {
		s := dialGoSDKAt(t, url, nil, version, w.Project)
		list, err := s.ListTools(t.Context(), nil)
		world.Must(t, err)
		if len(list.Tools) < 10 {
			t.Errorf("%d tools", len(list.Tools))
		}
		if got, bad := world.CallGoSDK(t, s, "playwright__browser_navigate", obj{"url": "data:text/html,<title>Here</title>"}, nil); bad || !strings.Contains(got, "Here") {
			t.Errorf("%s", got)
		}
		if got, bad := world.CallGoSDK(t, s, "playwright__browser_take_screenshot", obj{"filename": w.Path("project", "shot.png"), "scale": "css"}, nil); bad {
			t.Errorf("%s", got)
		}
	}
}
