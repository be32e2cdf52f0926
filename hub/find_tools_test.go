package hub

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcphub/children/childtest"
	"mcphub/hub/catalog"
	"mcphub/internal/jsonrpc"
)

// found returns the names that find-tools answers with.
func (c *testClient) found(args string) (names []string) {
	c.t.Helper()
	var got struct {
		Tools []struct {
			Name, ServerName, ToolName string
			InputSchema                json.RawMessage
		}
	}
	if err := json.Unmarshal(jsonrpc.Get([]byte(c.raw("tools/call", toolCall("find-tools", args))), "structuredContent"), &got); err != nil {
		c.t.Fatal(err)
	}
	for _, t := range got.Tools {
		if t.ServerName == "" || t.ToolName == "" || len(t.InputSchema) == 0 {
			c.t.Errorf("%s comes without its server, its own name or its schema", t.Name)
		}
		names = append(names, t.Name)
	}
	return names
}

func TestFindTools(t *testing.T) {
	cfg := testConfig(t, scripted("kid", childtest.Script{}), scripted("held", childtest.Script{}))
	cfg.Children[1].Exclude = []string{"echo"}
	c := connect(t, runHub(t, cfg), t.TempDir())
	c.handshake(`{"roots":{}}`)
	got := c.found(`{"query":"echo"}`)
	if len(got) == 0 || got[0] != "kid__echo" {
		t.Fatalf("found %q, want kid__echo first", got)
	}
	if strings.Contains(strings.Join(got, " "), "held__echo") {
		t.Errorf("an excluded tool is found: %q", got)
	}
	if _, bad := text(c.raw("tools/call", toolCall(got[0], `{}`))); bad {
		t.Errorf("%s is found and cannot be called", got[0])
	}
	if got := c.found(`{"query":"bitcoin exchange rate"}`); len(got) != 0 {
		t.Errorf("nothing fits, and %q are found", got)
	}
	if got := c.found(`{"query":"kid","limit":1}`); len(got) > 1 {
		t.Errorf("limit 1: %q", got)
	}
	for _, wrong := range []string{`{}`, `{"query":" "}`, `{"query":"echo","limit":0}`, `{"query":"echo","limit":21}`} {
		if msg, bad := text(c.raw("tools/call", toolCall("find-tools", wrong))); !bad || !strings.Contains(msg, "query") && !strings.Contains(msg, "limit") {
			t.Errorf("%s: %v %s", wrong, bad, msg)
		}
	}
}

// TestExpose holds that tools that are not listed are found and called like any other.
func TestExpose(t *testing.T) {
	for name, c := range map[string]struct {
		expose catalog.Exposure
		all    bool
	}{
		"direct":            {catalog.Exposure{}, true},
		"search":            {catalog.Exposure{Search: true}, false},
		"auto, below bound": {catalog.Exposure{Above: 1 << 20}, true},
		"auto, above bound": {catalog.Exposure{Above: 10}, false},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := testConfig(t, scripted("kid", childtest.Script{}), scripted("pinned", childtest.Script{}))
			cfg.Expose, cfg.Children[1].Always = c.expose, []string{"ec*"}
			client := connect(t, runHub(t, cfg), t.TempDir())
			client.handshake(`{"roots":{}}`)
			list := client.raw("tools/list", `{}`)
			for tool, want := range map[string]bool{"get-roots": true, "find-tools": true, "call-tool": true, "pinned__echo": true, "kid__echo": c.all} {
				if strings.Contains(list, `"`+tool+`"`) != want {
					t.Errorf("%s is listed: %v, want %v", tool, !want, want)
				}
			}
			if found := client.found(`{"query":"kid echo"}`); len(found) == 0 || found[0] != "kid__echo" {
				t.Errorf("found %q, want kid__echo first", found)
			}
			for _, args := range []string{toolCall("kid__echo", `{}`), toolCall("call-tool", `{"serverName":"kid","toolName":"echo"}`)} {
				if msg, bad := text(client.raw("tools/call", args)); bad {
					t.Errorf("%s: %s", args, msg)
				}
			}
			if msg, bad := text(client.raw("tools/call", toolCall("kid__echo", `{"path":"/etc/passwd"}`))); !bad || !strings.HasPrefix(msg, "Access denied") {
				t.Errorf("a tool that is not listed is not judged: %s", msg)
			}
		})
	}
}

// TestExposeIsApplied holds that a change of what is listed is told of, and that the
// list follows.
func TestExposeIsApplied(t *testing.T) {
	kid := scripted("kid", childtest.Script{})
	h := newTestHub(t, kid)
	c := connect(t, h, t.TempDir())
	c.handshake(`{"roots":{}}`)
	if !c.listed("kid__echo") {
		t.Fatal("kid__echo is not listed")
	}
	cfg := testConfig(t, kid)
	cfg.Expose.Search = true
	apply(t, h, cfg)
	c.awaitNote(listChanged)
	if c.listed("kid__echo") || !c.listed("find-tools") {
		t.Error("search lists kid__echo, or not find-tools")
	}
	if msg, bad := text(c.raw("tools/call", toolCall("kid__echo", `{}`))); bad {
		t.Error(msg)
	}
}

// TestCostOfExposure holds what docs/search.md says that the definitions of 27 real servers take of a model's context,
// listed and found.
func TestCostOfExposure(t *testing.T) {
	const bytesOfAToken = 4
	files, err := filepath.Glob("search/testdata/tools/*.json")
	if err != nil || len(files) != 27 {
		t.Fatalf("%d servers, %v", len(files), err)
	}
	tools, direct := 0, 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var server struct {
			Server string
			Tools  []json.RawMessage
		}
		if err := json.Unmarshal(text, &server); err != nil {
			t.Fatal(err)
		}
		for _, tool := range server.Tools {
			tools++
			direct += len(tool) + len(server.Server) + len("__")
		}
	}
	cfg := testConfig(t, scripted("kid", childtest.Script{}))
	cfg.Expose = catalog.Exposure{Search: true}
	c := connect(t, runHub(t, cfg), t.TempDir())
	c.handshake(`{"roots":{}}`)
	search := len(jsonrpc.Get([]byte(c.raw("tools/list", `{}`)), "tools"))
	row := fmt.Sprintf("| %d tools of 27 servers | %d | %d |", tools, direct/bytesOfAToken, search/bytesOfAToken)
	page, err := os.ReadFile("../docs/search.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), row) {
		t.Errorf("docs/search.md has no row %q", row)
	}
}
