package children_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"mcphub/children/offers"
	"mcphub/children/spec"
)

// envReal turns the test binary into a server made with an SDK that speaks both
// eras: a child that was not written by who wrote the hub.
const envReal = "MCPHUB_REAL_CHILD"

func init() {
	var err error
	switch os.Getenv(envReal) {
	case "mcp-go":
		err = server.ServeStdio(mcpGoServer())
	case "go-sdk":
		err = goSDKServer().Run(context.Background(), &gosdk.StdioTransport{})
	default:
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// mcpGoServer has the tools "echo", "grow" (offers one more), "touch" (says that
// note://1 has changed) and "where" (asks for the roots).
func mcpGoServer() *server.MCPServer {
	s := server.NewMCPServer("real", "1.0.0", server.WithToolCapabilities(true), server.WithResourceCapabilities(true, true), server.WithLogging())
	say := func(text string) (*mcpgo.CallToolResult, error) { return mcpgo.NewToolResultText(text), nil }
	s.AddTool(mcpgo.NewTool("echo"), func(_ context.Context, r mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		raw, _ := json.Marshal(r.GetArguments())
		return say(string(raw))
	})
	s.AddTool(mcpgo.NewTool("grow"), func(context.Context, mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		s.AddTool(mcpgo.NewTool("grown"), func(context.Context, mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) { return say("") })
		return say("grown")
	})
	s.AddTool(mcpgo.NewTool("touch"), func(context.Context, mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		s.SendNotificationToAllClients("notifications/resources/updated", map[string]any{"uri": "note://1"})
		return say("touched")
	})
	s.AddTool(mcpgo.NewTool("where"), func(_ context.Context, r mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		if _, given := r.Params.InputResponses["r"]; given {
			return say(fmt.Sprintf("state %s", r.Params.RequestState))
		}
		return server.NewInputRequestBuilder("the state").Roots("r").ToolResult(), nil
	})
	s.AddResource(mcpgo.NewResource("note://1", "one"), func(context.Context, mcpgo.ReadResourceRequest) ([]mcpgo.ResourceContents, error) {
		return []mcpgo.ResourceContents{mcpgo.TextResourceContents{URI: "note://1", Text: "hi"}}, nil
	})
	return s
}

func goSDKServer() *gosdk.Server {
	s := gosdk.NewServer(&gosdk.Implementation{Name: "real", Version: "1.0.0"}, &gosdk.ServerOptions{
		SubscribeHandler:   func(context.Context, *gosdk.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *gosdk.UnsubscribeRequest) error { return nil },
	})
	say := func(text string) (*gosdk.CallToolResult, error) {
		return &gosdk.CallToolResult{Content: []gosdk.Content{&gosdk.TextContent{Text: text}}}, nil
	}
	schema := json.RawMessage(`{"type":"object"}`)
	add := func(name string, h gosdk.ToolHandler) {
		s.AddTool(&gosdk.Tool{Name: name, InputSchema: schema}, h)
	}
	add("echo", func(_ context.Context, r *gosdk.CallToolRequest) (*gosdk.CallToolResult, error) {
		return say(string(r.Params.Arguments))
	})
	add("grow", func(context.Context, *gosdk.CallToolRequest) (*gosdk.CallToolResult, error) {
		add("grown", func(context.Context, *gosdk.CallToolRequest) (*gosdk.CallToolResult, error) { return say("") })
		return say("grown")
	})
	add("touch", func(ctx context.Context, _ *gosdk.CallToolRequest) (*gosdk.CallToolResult, error) {
		return &gosdk.CallToolResult{}, s.ResourceUpdated(ctx, &gosdk.ResourceUpdatedNotificationParams{URI: "note://1"})
	})
	s.AddResource(&gosdk.Resource{URI: "note://1", Name: "one"}, func(context.Context, *gosdk.ReadResourceRequest) (*gosdk.ReadResourceResult, error) {
		return &gosdk.ReadResourceResult{Contents: []*gosdk.ResourceContents{{URI: "note://1", Text: "hi"}}}, nil
	})
	return s
}

// TestRealServersOfBothEras speaks to servers made with the two SDKs for Go, as
// processes and over HTTP, for clients without a handshake.
func TestRealServersOfBothEras(t *testing.T) {
	t.Parallel()
	process := func(kind string) func(*testing.T) spec.Spec {
		return func(t *testing.T) spec.Spec {
			exe, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			return spec.Spec{Command: exe, Env: map[string]string{envReal: kind, "GORACE": "atexit_sleep_ms=0"}}
		}
	}
	for name, spec := range map[string]func(*testing.T) spec.Spec{
		"mcp-go over stdio": process("mcp-go"),
		"go-sdk over stdio": process("go-sdk"),
		"mcp-go over HTTP": func(t *testing.T) spec.Spec {
			s := httptest.NewServer(server.NewStreamableHTTPServer(mcpGoServer()))
			t.Cleanup(s.Close)
			return spec.Spec{URL: s.URL}
		},
		"go-sdk over HTTP": func(t *testing.T) spec.Spec {
			sdk := goSDKServer()
			s := httptest.NewServer(gosdk.NewStreamableHTTPHandler(func(*http.Request) *gosdk.Server { return sdk }, &gosdk.StreamableHTTPOptions{Stateless: true, PropagateRequestCancellation: true}))
			t.Cleanup(s.Close)
			return spec.Spec{URL: s.URL}
		},
	} {
		t.Run(name, func(t *testing.T) {
			l, w := leaseOf(t, spec(t))
			if o := l.Offer(); !l.IsModern() || o.ServerName != "real" || len(o.Entries[offers.Resources]) != 1 {
				t.Fatalf("spoken to in %s: %q, %d resources", o.Protocol, o.ServerName, len(o.Entries[offers.Resources]))
			}
			if got, err := callErr(t.Context(), l, "echo", `{"a":"b"}`); err != nil || !strings.Contains(got, `b`) {
				t.Errorf("%s, %v", got, err)
			}
			n := len(l.Offer().Entries[offers.Tools])
			if _, err := callErr(t.Context(), l, "grow", `{}`); err != nil {
				t.Fatal(err)
			}
			w.until(t, "the new tool is listed", func() bool { return len(w.offers[modernOne.String()].Entries[offers.Tools]) == n+1 })
			res, err := l.Call(t.Context(), "resources/subscribe", []byte(`{"uri":"note://1"}`))
			if err != nil || res.Err() != nil {
				t.Fatalf("%v, %v", err, res.Err())
			}
			if name != "mcp-go over HTTP" { // which tells a stream of lists alone
				if _, err := callErr(t.Context(), l, "touch", `{}`); err != nil {
					t.Fatal(err)
				}
				told := func() string { return strings.Join(w.notes, " ") }
				w.until(t, "the update is told", func() bool { return strings.Contains(told(), `"uri":"note://1"`) })
				w.tell(func() {
					if strings.Contains(told(), "subscriptionId") {
						t.Errorf("told with what is of one hop: %s", told())
					}
				})
			}
			if !strings.HasPrefix(name, "mcp-go") {
				return
			}
			res, err = l.Call(t.Context(), "tools/call", []byte(`{"name":"where"}`))
			if err != nil || !strings.Contains(string(res.Result), `"input_required"`) {
				t.Fatalf("%s, %v", res.Result, err)
			}
			roots, _ := l.Roots()
			res, err = l.Call(t.Context(), "tools/call", fmt.Appendf(nil, `{"name":"where","inputResponses":{"r":%s},"requestState":"the state"}`, roots))
			if err != nil || !strings.Contains(string(res.Result), "state the state") {
				t.Errorf("%s, %v", res.Result, err)
			}
		})
	}
}
