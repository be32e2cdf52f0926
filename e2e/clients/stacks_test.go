//lint:file-ignore SA1019 roots and the GET stream are what is tested; the SDKs call them deprecated since 2026-07-28

package clients

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"mcphub/e2e/ide"
	"mcphub/e2e/world"
)

// runGoSDK connects the official Go SDK's client over stdio.
func runGoSDK(w *world.World, config string, o *gosdk.ClientOptions, dirs ...string) *gosdk.ClientSession {
	w.T.Helper()
	c := gosdk.NewClient(&gosdk.Implementation{Name: "go-sdk", Version: "1"}, o)
	for _, d := range dirs {
		c.AddRoots(&gosdk.Root{URI: ide.FileURI(d)})
	}
	cmd := exec.Command(world.Hub(w.T), "serve", "--config", config)
	cmd.Env, cmd.Dir = w.Env(), w.Home
	s, err := c.Connect(context.Background(), &gosdk.CommandTransport{Command: cmd}, &gosdk.ClientSessionOptions{ProtocolVersion: handshakeVersion})
	world.Must(w.T, err)
	w.T.Cleanup(func() {
		if err := s.Close(); err != nil {
			w.T.Errorf("closing the session: %v", err)
		}
	})
	return s
}

// everythings are server-everything on each of its transports.
func everythings(w *world.World, n world.Node) obj {
	all := obj{"stdio": obj{"command": n.Program, "args": []string{n.Script("mcp-server-everything")}}}
	for name, path := range map[string]string{"streamableHttp": "mcp", "sse": "sse"} {
		port := world.FreePort(w.T)
		w.Listening(exec.Command(n.Program, n.Script("mcp-server-everything"), name), regexp.MustCompile(`(?i)(port \d+|listening|running)`), "PORT="+port)
		all[name] = obj{"url": fmt.Sprintf("http://127.0.0.1:%s/%s", port, path)}
	}
	return all
}

// TestElicitationTakesItsTime (H09): a person thinks for longer than any timer between the server and the client lasts, on
// every transport of both. 32 s are more than all but one of them: 5 s until a call becomes a stream, 10 s for a stream or the
// roots to come, 15 s between signs of life, 30 s for what needs no work and for a client to take what is written. The 60 s
// for reading a request are behind MCPHUB_E2E_LONG, which makes it 65 s; hub/peers_test.go waits for an hour in a bubble.
func TestElicitationTakesItsTime(t *testing.T) {
	t.Parallel()
	n := world.RequireNode(t)
	thinks := 32 * time.Second
	if world.Long {
		thinks = 65 * time.Second
	}
	w := world.New(t)
	servers := everythings(w, n)
	config := w.Config(servers)
	var mu sync.Mutex
	asked := 0
	options := &gosdk.ClientOptions{ElicitationHandler: func(ctx context.Context, _ *gosdk.ElicitRequest) (*gosdk.ElicitResult, error) {
		mu.Lock()
		asked++
		mu.Unlock()
		late := time.NewTimer(thinks)
		defer late.Stop()
		select {
		case <-late.C:
			return &gosdk.ElicitResult{Action: "accept", Content: map[string]any{"name": "Late Person"}}, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}}
	var all sync.WaitGroup
	for front, s := range map[string]*gosdk.ClientSession{
		"stdio": runGoSDK(w, config, options, w.Project),
		"http":  dialGoSDK(t, w.ServeHTTP(config), options, w.Project),
	} {
		for child := range servers {
			all.Go(func() {
				begun := time.Now()
				got, bad := world.CallGoSDK(t, s, child+"__trigger-elicitation-request", obj{}, nil)
				if took := time.Since(begun); bad || took < thinks || !strings.Contains(got, "Late Person") {
					t.Errorf("client on %s, server on %s: after %s: %s", front, child, took, got)
				}
			})
		}
	}
	all.Wait()
	if asked != 2*len(servers) {
		t.Errorf("asked %d times", asked)
	}
}

// TestGopls: a server on another stack, the Go SDK's, on stdio and on SSE. It knows its workspace by the roots. It is one of
// the long tests: to build gopls, and to have it read the standard library, takes longer than all the others together.
func TestGopls(t *testing.T) {
	if !world.Long {
		t.Skip("MCPHUB_E2E_LONG is not set")
	}
	t.Parallel()
	program := world.Gopls(t)
	w := world.New(t)
	w.Write("project/go.mod", "module example.com/through\n\ngo 1.21\n")
	file := w.Write("project/through.go", "package through\n\n// Through goes through.\nfunc Through() int { return 1 }\n")
	other := w.Write("outside/other.go", "package other\n\nfunc Other() {}\n")
	env := []string{"GOFLAGS=-mod=mod", "GOPROXY=off", "GOTELEMETRY=off", "GOCACHE=" + w.Path("home", "gocache"), "GOPATH=" + w.Path("home", "go")}
	port := world.FreePort(t)
	far := exec.Command(program, "mcp", "-listen=127.0.0.1:"+port)
	far.Dir = w.Project
	w.ListeningIn(w.Project, far, regexp.MustCompile(`(mcp http server listening|listening on address)`), env...)
	vars := obj{}
	for _, v := range env {
		name, value, _ := strings.Cut(v, "=")
		vars[name] = value
	}
	s := runGoSDK(w, w.Config(obj{
		"near": obj{"command": program, "args": []string{"mcp"}, "env": vars},
		"far":  obj{"url": "http://127.0.0.1:" + port, "type": "sse"},
	}), nil, w.Project)
	for _, name := range []string{"near", "far"} {
		if got, bad := world.CallGoSDK(t, s, name+"__go_workspace", obj{}, nil); bad || !strings.Contains(got, "example.com/through") && !strings.Contains(got, w.Project) {
			t.Errorf("%s: the workspace: %s", name, got)
		}
		if got, bad := world.CallGoSDK(t, s, name+"__go_search", obj{"query": "Through"}, nil); bad || !strings.Contains(got, "Through") {
			t.Errorf("%s: searched: %s", name, got)
		}
		if got, bad := world.CallGoSDK(t, s, name+"__go_file_context", obj{"file": file}, nil); bad {
			t.Errorf("%s: inside: %s", name, got)
		}
		if got, bad := world.CallGoSDK(t, s, name+"__go_file_context", obj{"file": other}, nil); !bad || !strings.HasPrefix(got, world.Denial(other, w.Project)) {
			t.Errorf("%s: outside: %s", name, got)
		}
	}
}
