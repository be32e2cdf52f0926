//lint:file-ignore SA1019 clients of both eras are what is tested

package clients

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"

	mcpclient "github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"mcphub/e2e/world"
)

// A lister is a real client that lists the tools of a hub. url is the address of the hub; "": the client starts it with these arguments.
type lister func(w *world.World, n world.Node, url string, args []string) []string

// TestToolsetsOfRealClients: each client lists the tools of its toolset and no other tool, if the hub is started with the toolset and if the
// address of the hub names it. Control: without a toolset it lists the rest, too.
func TestToolsetsOfRealClients(t *testing.T) {
	t.Parallel()
	if !world.Long {
		t.Skip("MCPHUB_E2E_LONG is not set: hub/toolset and the script toolsets show which tools a client is given")
	}
	n := world.RequireNode(t)
	clients := map[string]lister{
		"TypeScript SDK v1": typeScriptLists("v1", nil), "TypeScript SDK v2 legacy": typeScriptLists("v2", "legacy"), "TypeScript SDK v2 auto": typeScriptLists("v2", "auto"),
		"TypeScript SDK v2 pinned": typeScriptLists("v2", obj{"pin": world.ModernVersion}),
		"Go SDK legacy":            goSDKLists(handshakeVersion), "Go SDK modern": goSDKLists(world.ModernVersion),
		"mcp-go legacy": mcpGoLists(handshakeVersion, mcpclient.WithLegacyProtocolOnly()), "mcp-go modern": mcpGoLists(world.ModernVersion),
		"Inspector legacy": inspectorLists("legacy"), "Inspector modern": inspectorLists("modern"),
	}
	w := world.New(t)
	w.Config(obj{"files": obj{"builtin": "files"}, "rec": w.Recorder("rec"), "off": w.Recorder("off")},
		obj{"toolsets": obj{"web": obj{"servers": []string{"files"}, "tools": []string{"rec__echo"}, "exclude": []string{"files__write_*"}}}})
	config := w.Path("hub.json")
	all := goSDKLists(handshakeVersion)(w, n, "", []string{"serve", "--config", config})
	want := slices.DeleteFunc(slices.Clone(all), func(name string) bool {
		return strings.HasPrefix(name, "off__") || strings.HasPrefix(name, "rec__") && name != "rec__echo" || strings.HasPrefix(name, "files__write_")
	})
	for _, name := range []string{"get-roots", "files__read_text_file", "files__write_file", "rec__echo", "rec__whoami", "off__echo"} {
		if !slices.Contains(all, name) {
			t.Fatalf("without a toolset %s is not listed: %q", name, all)
		}
	}
	url := w.ServeHTTP(config)
	for name, list := range clients {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if strings.HasPrefix(name, "Inspector") {
				forInspector(n, t)
			}
			own := world.New(t)
			for way, got := range map[string][]string{
				"--toolset": list(own, n, "", []string{"serve", "--config", config, "--toolset", "web"}),
				"the URL":   list(own, n, url+"/web", nil),
			} {
				if !slices.Equal(got, want) {
					t.Errorf("by %s it lists %q, want %q", way, got, want)
				}
			}
		})
	}
}

// typeScriptLists lists by clients/play.mjs.
func typeScriptLists(sdk string, mode any) lister {
	return func(w *world.World, n world.Node, url string, args []string) []string {
		w.T.Helper()
		scenario := obj{"sdk": sdk, "mode": mode, "roots": rootsOf(w.Project), "lists": true}
		if url != "" {
			scenario["url"], scenario["headers"] = url, world.BearingHeaders(w.T, url)
		} else {
			scenario["command"], scenario["args"], scenario["env"], scenario["cwd"] = world.Hub(w.T), args, envObject(w), w.Home
		}
		ctx, cancel := context.WithTimeout(context.Background(), 2*world.WaitLimit)
		defer cancel()
		cmd := exec.CommandContext(ctx, n.Program, world.Source("e2e", "clients", "play.mjs"))
		cmd.Env, cmd.Stdin = w.Env(), strings.NewReader(world.Raw(w.T, scenario))
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Run(); err != nil {
			w.T.Fatalf("the SDK client: %v\n%s", err, errs.Bytes())
		}
		var listed struct{ Tools []string }
		world.Must(w.T, json.Unmarshal(out.Bytes(), &listed))
		slices.Sort(listed.Tools)
		return listed.Tools
	}
}

// goSDKLists lists by the official Go SDK.
func goSDKLists(version string) lister {
	return func(w *world.World, _ world.Node, url string, args []string) []string {
		w.T.Helper()
		var s *gosdk.ClientSession
		if url != "" {
			s = dialGoSDKAt(w.T, url, nil, version, w.Project)
		} else {
			cmd := exec.Command(world.Hub(w.T), args...)
			cmd.Dir, cmd.Env = w.Home, w.Env()
			var err error
			s, err = gosdk.NewClient(&gosdk.Implementation{Name: "go-sdk", Version: "1"}, nil).Connect(context.Background(), &gosdk.CommandTransport{Command: cmd}, &gosdk.ClientSessionOptions{ProtocolVersion: version})
			world.Must(w.T, err)
			w.T.Cleanup(func() { _ = s.Close() })
		}
		ctx, cancel := context.WithTimeout(context.Background(), world.WaitLimit)
		defer cancel()
		var names []string
		for tool, err := range s.Tools(ctx, nil) {
			world.Must(w.T, err)
			names = append(names, tool.Name)
		}
		slices.Sort(names)
		return names
	}
}

// mcpGoLists lists by mcp-go.
func mcpGoLists(version string, options ...mcpclient.ClientOption) lister {
	return func(w *world.World, _ world.Node, url string, args []string) (names []string) {
		w.T.Helper()
		web := &http.Client{Transport: world.Given{Transport: &http.Transport{}}}
		var via transport.Interface
		if url != "" {
			how := []transport.StreamableHTTPCOption{transport.WithHTTPBasicClient(web)}
			if version == handshakeVersion { // the hub asks for the roots on its stream
				how = append(how, transport.WithContinuousListening())
			}
			streams, err := transport.NewStreamableHTTP(url, how...)
			world.Must(w.T, err)
			via = streams
		} else {
			via = transport.NewStdioWithOptions(world.Hub(w.T), nil, args, transport.WithCommandFunc(
				func(ctx context.Context, program string, _ []string, args []string) (*exec.Cmd, error) {
					cmd := exec.CommandContext(ctx, program, args...)
					cmd.Dir, cmd.Env, cmd.Stderr = w.Home, w.Env(), io.Discard
					return cmd, nil
				}))
		}
		c := mcpclient.NewClient(via, append(options, mcpclient.WithRootsHandler(fixedRoots{w.Project}))...)
		ctx, cancel := context.WithTimeout(context.Background(), world.WaitLimit)
		defer cancel()
		world.Must(w.T, c.Start(context.WithoutCancel(ctx)))
		defer web.CloseIdleConnections()
		defer func() { _ = c.Close() }()
		_, err := c.Initialize(ctx, mcp.InitializeRequest{Params: mcp.InitializeParams{ProtocolVersion: version, ClientInfo: mcp.Implementation{Name: "mcp-go", Version: "1"}}})
		world.Must(w.T, err)
		listed, err := c.ListTools(ctx, mcp.ListToolsRequest{})
		world.Must(w.T, err)
		for i := range listed.Tools {
			names = append(names, listed.Tools[i].Name)
		}
		slices.Sort(names)
		return names
	}
}

// inspectorLists lists by the CLI of MCP Inspector.
func inspectorLists(era string) lister {
	return func(w *world.World, n world.Node, url string, args []string) (names []string) {
		w.T.Helper()
		server, file := obj{"type": "stdio", "command": world.Hub(w.T), "args": args, "env": envObject(w)}, "inspector-"+era+"-stdio.json"
		if url != "" {
			server, file = obj{"type": "streamable-http", "url": url, "headers": world.BearingHeaders(w.T, url)}, "inspector-"+era+"-http.json"
		}
		server["roots"] = rootsOf(w.Project)
		list := inspect(w, n, w.Write(file, world.Raw(w.T, obj{"mcpServers": obj{"hub": server}})), "--protocol-era", era, "--method", "tools/list")
		var listed struct{ Tools []struct{ Name string } }
		world.Must(w.T, json.Unmarshal(list, &listed))
		for _, tool := range listed.Tools {
			names = append(names, tool.Name)
		}
		slices.Sort(names)
		return names
	}
}
