package hub

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"mcphub/children/spec"
	"mcphub/e2e/childtest"
	"mcphub/hub/catalog"
	"mcphub/hub/search"
	"mcphub/internal/jsonrpc"
)

// answered is what find-tools answers to a client.
type answered struct {
	Note  string
	Weak  bool
	Tools []struct {
		Name, ServerName, ToolName, Description string
		Required                                []string
		InputSchema                             json.RawMessage
	}
}

func (c *testClient) find(args string) (got answered) {
	c.t.Helper()
	if err := json.Unmarshal(jsonrpc.Get([]byte(c.raw("tools/call", toolCall("find-tools", args))), "structuredContent"), &got); err != nil {
		c.t.Fatal(err)
	}
	return got
}

// found returns the names that find-tools answers with.
func (c *testClient) found(args string) (names []string) {
	c.t.Helper()
	for _, t := range c.find(args).Tools {
		if t.ServerName == "" || t.ToolName == "" || len(t.InputSchema) > 0 {
			c.t.Errorf("%s comes without its server or its own name, or with its schema", t.Name)
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
	if got := c.find(`{"query":"echo"}`); got.Weak || got.Note != "" {
		t.Errorf("the right answer is marked: %+v", got)
	}
	for _, question := range []string{"bitcoin exchange rate", "the number of bitcoins for an echo of gold"} {
		if got := c.find(fmt.Sprintf(`{"query":%q}`, question)); !got.Weak || got.Note != "nothing fits well; nearest:" {
			t.Errorf("%s: nothing fits, and it is not marked: %+v", question, got)
		}
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

// TestDefinitions holds that find-tools gives a tool's definition on request, as it stands on the list, and also if the
// tool is asked for by its name.
func TestDefinitions(t *testing.T) {
	c := connect(t, runHub(t, testConfig(t, scripted("kid", childtest.Script{Pages: 2}))), t.TempDir())
	c.handshake(`{"roots":{}}`)
	listed := map[string]string{}
	err := jsonrpc.Elements(jsonrpc.Get([]byte(c.raw("tools/list", `{}`)), "tools"), func(def []byte) bool {
		name, _ := jsonrpc.String(jsonrpc.Get(def, "name"))
		listed[name] = string(jsonrpc.Get(def, "inputSchema"))
		return true
	})
	if err != nil || listed["kid__echo"] == "" {
		t.Fatalf("listed: %v, %v", listed, err)
	}
	for query, name := range map[string]string{"echo": "kid__echo", "kid__echo": "kid__echo", " kid__page2_1 ": "kid__page2_1"} {
		if short := c.found(fmt.Sprintf(`{"query":%q,"limit":1}`, query)); len(short) != 1 || short[0] != name {
			t.Errorf("%q finds %q", query, short)
		}
		whole := c.find(fmt.Sprintf(`{"query":%q,"limit":1,"definitions":true}`, query)).Tools
		if len(whole) != 1 || whole[0].Name != name || string(whole[0].InputSchema) != listed[name] {
			t.Errorf("%q: %+v, and on the list %s", query, whole, listed[name])
		}
	}
}

// TestFoundAs holds what find-tools says about a tool in short and whole.
func TestFoundAs(t *testing.T) {
	t.Parallel()
	const schema = `{"type":"object","properties":{"lid":{"type":"string"}},"required":["lid"]}`
	def := func(description, schema string) *catalog.Tool {
		return &catalog.Tool{Name: "kid__open", Child: "kid", OwnName: "open", Def: fmt.Appendf(nil, `{"name":"open","description":%s,"inputSchema":%s}`, description, schema)}
	}
	long := strings.Repeat("é", 1000)
	for _, c := range []struct{ description, schema, short, required string }{
		{`"Opens it.\nMore of it."`, schema, `"Opens it."`, `["lid"]`},
		{`"` + long + `"`, schema, `"` + long[:2*longestAbout] + `…"`, `["lid"]`},
		{`"Opens it."`, `{"type":"object","required":[]}`, `"Opens it."`, ``},
		{`"Opens it."`, `{"required":["` + long + `"]}`, `"Opens it."`, ``},
		{`7`, `7`, ``, ``},
	} {
		short, whole := foundAs(def(c.description, c.schema), false), foundAs(def(c.description, c.schema), true)
		if string(short.Description) != c.short || string(short.Required) != c.required || short.InputSchema != nil {
			t.Errorf("%s in short: %s, %s, %s", c.description, short.Description, short.Required, short.InputSchema)
		}
		if string(whole.Description) != c.description || string(whole.InputSchema) != c.schema || whole.Required != nil {
			t.Errorf("%s: whole %s, %s, %s", c.description, whole.Description, whole.Required, whole.InputSchema)
		}
		if _, err := json.Marshal(short); err != nil {
			t.Error(err)
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
			cfg.Launcher = childtest.Pipes{}
			cfg.Expose, cfg.Children[1].Always = c.expose, []string{"ec*"}
			client := connect(t, runHub(t, cfg), t.TempDir())
			client.handshake(`{"roots":{}}`)
			list := client.raw("tools/list", `{}`)
			for tool, want := range map[string]bool{"get-roots": true, "find-tools": true, "call-tool": true, "pinned__echo": true, "kid__echo": c.all} {
				if strings.Contains(list, `"`+tool+`"`) != want {
					t.Errorf("%s is listed: %v, want %v", tool, !want, want)
				}
			}
			_ = jsonrpc.Elements(jsonrpc.Get([]byte(list), "tools"), func(def []byte) bool {
				if name, _ := jsonrpc.String(jsonrpc.Get(def, "name")); name == "call-tool" && string(jsonrpc.Get(jsonrpc.Get(def, "annotations"), "destructiveHint")) != "true" {
					t.Errorf("call-tool is not annotated as destructive: %s", def)
				}
				return true
			})
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

// TestExposeIsApplied holds that a change of what is listed is told about, and that
// the list follows.
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
	var tools []*catalog.Tool
	var said []search.Tool
	direct := 0
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
		for _, def := range server.Tools {
			direct += len(def) + len(server.Server) + len("__")
			var d struct{ Name, Title, Description string }
			if err := json.Unmarshal(def, &d); err != nil {
				t.Fatal(err)
			}
			tools = append(tools, &catalog.Tool{Name: server.Server + "__" + d.Name, Child: server.Server, OwnName: d.Name, Def: def})
			said = append(said, search.Tool{Server: server.Server, Name: d.Name, Title: d.Title, Description: d.Description, Schema: jsonrpc.Get(def, "inputSchema")})
		}
	}
	list := 0
	synctest.Test(t, func(t *testing.T) {
		var specs []spec.Spec
		for _, s := range realServers(t) {
			specs = append(specs, played(s.Server, spec.ShareSession, childtest.Script{Defs: s.lines(t)}))
		}
		cfg := testConfig(t, specs...)
		cfg.Launcher, cfg.Expose = newStage(), catalog.Exposure{Search: true}
		c, _ := enter(t, runHub(t, cfg), t.TempDir())
		c.handshake(`{"roots":{}}`)
		list = len(jsonrpc.Get([]byte(c.raw("tools/list", `{}`)), "tools"))
	})

	questions, err := os.ReadFile("search/testdata/questions.tsv")
	if err != nil {
		t.Fatal(err)
	}
	index, asked, short, whole := search.New(said), 0, 0, 0
	for line := range strings.Lines(string(questions)) {
		asked++
		hits, _ := index.Find(strings.Split(line, "\t")[2], 5)
		var inShort, inWhole foundTools
		for _, h := range hits {
			inShort.Tools = append(inShort.Tools, foundAs(tools[h.Tool], false))
			inWhole.Tools = append(inWhole.Tools, foundAs(tools[h.Tool], true))
		}
		for answer, size := range map[*foundTools]*int{&inShort: &short, &inWhole: &whole} {
			text, err := json.Marshal(answer)
			if err != nil {
				t.Fatal(err)
			}
			*size += len(text)
		}
	}
	page, err := os.ReadFile("../docs/search.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []string{
		fmt.Sprintf("| %d tools of 27 servers | %d | %d |", len(tools), direct/bytesOfAToken, list/bytesOfAToken),
		fmt.Sprintf("| an answer of 5 tools | %d | %d |", short/asked/bytesOfAToken, whole/asked/bytesOfAToken),
	} {
		if !strings.Contains(string(page), row) {
			t.Errorf("docs/search.md has no row %q", row)
		}
	}
}
