//lint:file-ignore SA1019 roots are what is tested; the SDK calls them deprecated since 2026-07-28

package clients

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"sync/atomic"
	"testing"

	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"mcphub/e2e/ide"
	"mcphub/e2e/world"
)

// exposed is a client of the official Go SDK with the hub as its server, and what it hears of lists.
type exposed struct {
	t    *testing.T
	s    *gosdk.ClientSession
	told atomic.Int32 // how often the list of tools has changed
}

func exposeTo(w *world.World, version, config string) *exposed {
	w.T.Helper()
	e := &exposed{t: w.T.(*testing.T)}
	c := gosdk.NewClient(&gosdk.Implementation{Name: "go-sdk", Version: "1"}, &gosdk.ClientOptions{
		ToolListChangedHandler: func(context.Context, *gosdk.ToolListChangedRequest) { e.told.Add(1) },
	})
	c.AddRoots(&gosdk.Root{URI: ide.FileURI(w.Project)})
	cmd := exec.Command(world.Hub(w.T), "serve", "--config", config)
	cmd.Dir, cmd.Env = w.Home, w.Env()
	s, err := c.Connect(context.Background(), &gosdk.CommandTransport{Command: cmd}, &gosdk.ClientSessionOptions{ProtocolVersion: version})
	world.Must(w.T, err)
	w.T.Cleanup(func() {
		if err := s.Close(); err != nil {
			w.T.Errorf("closing the session: %v", err)
		}
	})
	e.s = s
	return e
}

// lists returns the names of the tools that the client sees.
func (e *exposed) lists() []string {
	e.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), world.WaitLimit)
	defer cancel()
	var names []string
	for tool, err := range e.s.Tools(ctx, nil) {
		world.Must(e.t, err)
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	return names
}

// finds returns the names that find-tools answers a question with.
func (e *exposed) finds(query string) []string {
	e.t.Helper()
	text, bad := world.CallGoSDK(e.t, e.s, "find-tools", obj{"query": query}, nil)
	var found struct {
		Tools []struct{ Name string }
	}
	if err := json.Unmarshal([]byte(text), &found); bad || err != nil {
		e.t.Fatalf("find-tools %q: %v %s", query, err, text)
	}
	var names []string
	for _, tool := range found.Tools {
		names = append(names, tool.Name)
	}
	return names
}

// TestExposeToRealClients (H3): a client of each era under expose search and auto, before real servers. What it finds it can call;
// what is pinned is listed; it is told when the list changes, and not when nothing in it does.
func TestExposeToRealClients(t *testing.T) {
	t.Parallel()
	n := world.RequireNode(t)
	own := []string{"call-tool", "find-tools", "get-roots", "list-tools"}
	for _, version := range []string{handshakeVersion, world.ModernVersion} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			w := world.New(t)
			servers := obj{
				"memory":     obj{"command": n.Program, "args": []string{n.Script("mcp-server-memory")}, "env": obj{"MEMORY_FILE_PATH": w.Path("project", "memory.json")}, "tools": obj{"always": []string{"read_graph"}}},
				"everything": obj{"command": n.Program, "args": []string{n.Script("mcp-server-everything")}},
				"files":      obj{"builtin": "files"},
			}
			config := w.Config(servers, obj{"expose": "search"})
			change := func(expose any, without ...string) {
				t.Helper()
				left := obj{}
				for name, entry := range servers {
					if !slices.Contains(without, name) {
						left[name] = entry
					}
				}
				world.Must(t, os.WriteFile(config, []byte(world.Raw(t, obj{"mcpServers": left, "expose": expose})), 0o600))
			}
			e := exposeTo(w, version, config)
			pinned := append(slices.Clone(own), "memory__read_graph")
			is := func(want []string) bool {
				return world.Within(world.WaitLimit, func() bool { return slices.Equal(e.lists(), want) })
			}
			if !is(pinned) {
				t.Fatalf("under search it lists %q", e.lists())
			}
			if got := e.finds("add two numbers"); len(got) == 0 || got[0] != "everything__get-sum" {
				t.Errorf("found %q", got)
			}
			if text, bad := world.CallGoSDK(t, e.s, "everything__get-sum", obj{"a": 2, "b": 3}, nil); bad {
				t.Errorf("by its name: %s", text)
			}
			if text, bad := world.CallGoSDK(t, e.s, "call-tool", obj{"serverName": "everything", "toolName": "get-sum", "toolArgs": obj{"a": 2, "b": 3}}, nil); bad {
				t.Errorf("by call-tool: %s", text)
			}
			if text, bad := world.CallGoSDK(t, e.s, "files__read_text_file", obj{"path": w.Path("outside", "secret.txt")}, nil); !bad {
				t.Errorf("outside: %s", text)
			}

			// told waits for news of the list, and gives how often there was any since.
			told := func(since int32) int32 {
				t.Helper()
				if !world.Within(world.WaitLimit, func() bool { return e.told.Load() > since }) {
					t.Error("nobody was told that the list has changed")
				}
				return e.told.Load()
			}

			// A server goes of which nothing was listed: it is not found any more, and find-tools does not name it any more.
			before := e.told.Load()
			change("search", "everything")
			if !world.Within(world.WaitLimit, func() bool { return !slices.Contains(e.finds("add two numbers"), "everything__get-sum") }) {
				t.Errorf("still found: %q", e.finds("add two numbers"))
			}
			before = told(before)
			// The server of the pinned tool goes.
			change("search", "everything", "memory")
			if now := told(before); now != before+1 || !is(own) {
				t.Errorf("lists %q, told %d times", e.lists(), now-before)
			}
			before = e.told.Load()
			change("search")
			if told(before); !is(pinned) {
				t.Errorf("lists %q", e.lists())
			}
			// Both sides of the limit of auto, and all.
			before = e.told.Load()
			change(obj{"mode": "auto", "tokens": 1_000_000})
			if told(before); !world.Within(world.WaitLimit, func() bool { return len(e.lists()) > 25 }) {
				t.Errorf("below the limit of auto it lists %q", e.lists())
			}
			before = e.told.Load()
			change(obj{"mode": "auto", "tokens": 100})
			if told(before); !is(pinned) {
				t.Errorf("above the limit of auto it lists %q", e.lists())
			}
			before = e.told.Load()
			change("direct")
			if told(before); !world.Within(world.WaitLimit, func() bool { return slices.Contains(e.lists(), "everything__get-sum") }) {
				t.Errorf("under direct it lists %q", e.lists())
			}
		})
	}
}
