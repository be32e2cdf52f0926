//lint:file-ignore SA1019 roots and the GET stream are what is tested; the SDKs call them deprecated since 2026-07-28

package clients

import (
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"mcphub/e2e/ide"
	"mcphub/e2e/world"
)

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
