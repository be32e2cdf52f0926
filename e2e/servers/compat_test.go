package servers

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mcphub/e2e/ide"
	"mcphub/e2e/world"
)

// guest is a server of TestCompatibility.
type guest struct {
	pkg   string // the package, with its version where from has none
	from  world.Node
	entry obj
	calls []told
	roots []string // beside the project and the other repository
	away  bool     // it speaks for a service that is not reached from here
}

// Twenty servers that people use, confined, and none with a setting of its own: each starts, lists its tools, and works
// through an everyday session. Of the service behind one without a network only this can be had: the call fails as it does
// if nothing is confined.
func TestCompatibility(t *testing.T) {
	t.Parallel()
	needShop(t)
	var rows []string
	passed := 0
	for _, name := range world.Names(guests) {
		var row string
		if t.Run(name, func(t *testing.T) { row = visitConfined(t, name) }) {
			passed++
		}
		rows = append(rows, row)
	}
	table := "| server | package | an everyday session | the kernel holds | profile |\n|---|---|---|---|---|\n" + strings.Join(rows, "")
	t.Logf("%d of %d pass\n%s", passed, len(guests), table)
	if len(guests) < 20 {
		t.Errorf("%d servers are too few", len(guests))
	}
	if !t.Failed() {
		wantTable(t, world.Source("docs", "sandbox.md"), "compatibility", table)
	}
}

// visitConfined has an everyday session with a server that is confined, and gives the line of the table.
func visitConfined(t *testing.T, name string) string {
	w := newShop(t) // of its own: sessions change it
	g := guests[name](t, w)
	open := func(more obj) *world.Session {
		entry := maps.Clone(g.entry)
		maps.Copy(entry, more)
		s := w.Serve(w.Config(obj{name: entry}), ide.Folders(append(w.opened(name), g.roots...)...))
		s.Handshake()
		return s
	}
	s := open(nil) // its entry says nothing about a sandbox
	s.AwaitTool(name + "__" + g.calls[0].Tool)
	listed := 0
	for tool := range s.Tools() {
		if strings.HasPrefix(tool, name+"__") {
			listed++
		}
	}
	session := fmt.Sprintf("%d calls", len(g.calls))
	var confined []string
	for _, c := range g.calls {
		if g.away {
			confined = append(confined, w.saidBy(t, s, name, c))
		} else {
			w.tell(s, name, c)
		}
	}
	kernel, profile := w.kernelOf(t, s, name)
	s.End(world.StopBound)
	if g.away {
		session = fmt.Sprintf("%d tools; its service cannot be reached, as without the sandbox", listed)
		free := open(obj{"sandbox": "off"})
		for i, c := range g.calls {
			if want := w.saidBy(t, free, name, c); confined[i] != want {
				t.Errorf("%s: confined it says\n%s\nand else\n%s", c.Tool, confined[i], want)
			}
			if kernelRefuses.MatchString(confined[i]) {
				t.Errorf("%s: this is the kernel's: %s", c.Tool, confined[i])
			}
		}
	}
	if g.from.Modules != "" {
		g.pkg += " " + version(g.from, t, g.pkg)
	}
	return fmt.Sprintf("| %s | `%s` | %s | %s | %s |\n", name, g.pkg, session, kernel, profile)
}

var (
	kernelRefuses = regexp.MustCompile(`(?i)EACCES|EPERM|permission denied|operation not permitted`)
	passing       = regexp.MustCompile(`[0-9a-f]{8,}|\d+`) // numbers of requests, ports, times
)

// saidBy makes a call and gives what comes back, right or wrong, without what is another each time.
func (w *shop) saidBy(t *testing.T, s *world.Session, server string, c told) string {
	t.Helper()
	r, err := s.Tool(s.Context(), server+"__"+c.Tool, w.fill.Replace(string(c.Args)))
	text := r.Text
	if err != nil {
		text = err.Error()
	}
	if text == "" {
		t.Errorf("%s: no word", c.Tool)
	}
	return passing.ReplaceAllString(text, "N")
}

// kernelOf returns what get-roots says about the sandbox of a server.
func (w *shop) kernelOf(t *testing.T, s *world.Session, server string) (kernel, profile string) {
	t.Helper()
	var report struct {
		Children []struct {
			Server, Kernel             string
			KernelLacks, KernelProfile []string
		}
	}
	text := s.MustCall("get-roots", `{}`).Text
	world.Must(t, json.Unmarshal([]byte(text), &report))
	i := slices.IndexFunc(report.Children, func(c struct {
		Server, Kernel             string
		KernelLacks, KernelProfile []string
	}) bool {
		return c.Server == server
	})
	if i < 0 || report.Children[i].Kernel == "" || report.Children[i].Kernel == "none" {
		t.Fatalf("the kernel does not hold %s: %s", server, text)
	}
	c := report.Children[i]
	kernel, profile = "all", "-"
	if c.Kernel != "held" {
		kernel = "all but unix sockets"
		if len(c.KernelLacks) != 1 || !strings.HasPrefix(c.KernelLacks[0], "unix sockets are on") {
			t.Errorf("what the kernel lacks: %q", c.KernelLacks)
		}
	}
	if len(c.KernelProfile) > 0 {
		profile = strings.TrimPrefix(c.KernelProfile[0], "profile ")
	}
	return kernel, profile
}

// guests are the servers: those of the honest calls, and the ones that only this test has.
var guests = map[string]func(*testing.T, *shop) guest{
	"filesystem": honestGuest("filesystem", "@modelcontextprotocol/server-filesystem"),
	"everything": honestGuest("everything", "@modelcontextprotocol/server-everything"),
	"memory":     honestGuest("memory", "@modelcontextprotocol/server-memory"),
	"thinking":   honestGuest("thinking", "@modelcontextprotocol/server-sequential-thinking"),
	"playwright": honestGuest("playwright", "@playwright/mcp"),
	"devtools":   honestGuest("devtools", "chrome-devtools-mcp"),
	"commander":  honestGuest("commander", "@wonderwhy-er/desktop-commander"),
	"git":        honestGuest("git", "@cyanheads/git-mcp-server"),
	"dbhub":      honestGuest("dbhub", "@bytebase/dbhub"),
	"eslint":     honestGuest("eslint", "@eslint/mcp"),

	"context7": service("context7-mcp", "@upstash/context7-mcp", nil, "resolve-library-id", obj{"libraryName": "react", "query": "hooks"}),
	"github": service("mcp-server-github", "@modelcontextprotocol/server-github", obj{"GITHUB_PERSONAL_ACCESS_TOKEN": "none"},
		"search_repositories", obj{"query": "x"}),
	"notion": service("notion-mcp-server", "@notionhq/notion-mcp-server", obj{"NOTION_TOKEN": "ntn_none"}, "API-get-self", obj{}),
	"figma":  service("figma-developer-mcp", "figma-developer-mcp", obj{"FIGMA_API_KEY": "none"}, "get_figma_data", obj{"fileKey": "abc"}, "--stdio"),
	"tavily": service("tavily-mcp", "tavily-mcp", obj{"TAVILY_API_KEY": "tvly-none"}, "tavily_search", obj{"query": "x"}),
	"brave":  service("brave-search-mcp-server", "@brave/brave-search-mcp-server", obj{"BRAVE_API_KEY": "none"}, "brave_web_search", obj{"query": "x"}),

	"kubernetes": kubernetes, "puppeteer": puppeteer, "mcp-remote": remote, "gopls": goModule,
}

// server returns a server of e2e/compat.
func (w *shop) server(t *testing.T, name, pkg string, env obj, args ...string) guest {
	from := w.node.Of(t, "compat")
	return guest{pkg: pkg, from: from, entry: obj{"command": from.Program, "args": append([]string{from.Script(name)}, args...), "env": env}}
}

// calling returns one call of a guest.
func (g guest) calling(t *testing.T, tool string, args obj, want string) guest {
	g.calls = append(slices.Clone(g.calls), told{Tool: tool, Args: json.RawMessage(world.Raw(t, args)), Want: want})
	return g
}

// honestGuest returns a server of TestHonestCalls and what is asked of it there.
func honestGuest(name, pkg string) func(*testing.T, *shop) guest {
	return func(t *testing.T, w *shop) guest {
		g := guest{pkg: pkg, from: w.node, entry: w.servers()[name], calls: toldBy(t, name)}
		if _, err := os.Stat(filepath.Join(g.from.Modules, filepath.FromSlash(pkg))); err != nil {
			g.from = w.more
		}
		if name == "git" {
			g.roots = []string{w.Path("remote")} // it fetches from there
		}
		// A confined server has a temporary folder of its own.
		if env, ok := g.entry["env"].(obj); ok {
			delete(env, "TMPDIR")
		}
		return g
	}
}

// service returns a server that speaks for a service of the web.
func service(name, pkg string, env obj, tool string, arguments obj, args ...string) func(*testing.T, *shop) guest {
	return func(t *testing.T, w *shop) guest {
		g := w.server(t, name, pkg, env, args...).calling(t, tool, arguments, "")
		g.away = true
		return g
	}
}

// kubernetes has a cluster in ~/.kube/config that does not answer.
func kubernetes(t *testing.T, w *shop) guest {
	w.Write("home/.kube/config", "apiVersion: v1\nkind: Config\nclusters:\n- {name: shop, cluster: {server: 'http://127.0.0.1:1'}}\n"+
		"contexts:\n- {name: staging, context: {cluster: shop, user: ada}}\ncurrent-context: staging\nusers:\n- {name: ada, user: {}}\n")
	return w.server(t, "mcp-server-kubernetes", "mcp-server-kubernetes", nil).
		calling(t, "kubectl_context", obj{"operation": "list"}, "staging").
		calling(t, "kubectl_context", obj{"operation": "get"}, "staging").
		calling(t, "ping", obj{}, "")
}

func puppeteer(t *testing.T, w *shop) guest {
	launch := world.Raw(t, obj{"headless": true, "executablePath": world.Chromium(), "args": []string{"--no-sandbox"}})
	return w.server(t, "mcp-server-puppeteer", "@modelcontextprotocol/server-puppeteer", obj{"PUPPETEER_LAUNCH_OPTIONS": launch, "ALLOW_DANGEROUS": "true"}).
		calling(t, "puppeteer_navigate", obj{"url": "{url}/"}, "Navigated").
		calling(t, "puppeteer_fill", obj{"selector": "#q", "value": "/x"}, "Filled").
		calling(t, "puppeteer_evaluate", obj{"script": "document.title + document.querySelector('#q').value"}, "Everyday").
		calling(t, "puppeteer_click", obj{"selector": "#go"}, "Clicked")
}

// remote speaks to a server that runs here.
func remote(t *testing.T, w *shop) guest {
	port := world.FreePort(t)
	w.Listening(exec.Command(w.node.Program, w.node.Script("mcp-server-everything"), "streamableHttp"), regexp.MustCompile(`(?i)(port \d+|listening|running)`), "PORT="+port)
	return w.server(t, "mcp-remote", "mcp-remote", nil, "http://127.0.0.1:"+port+"/mcp", "--allow-http").
		calling(t, "echo", obj{"message": "from here"}, "from here").
		calling(t, "get-sum", obj{"a": 2, "b": 3}, "5")
}

// goModule is gopls, in a module of Go.
func goModule(t *testing.T, w *shop) guest {
	w.Write("project/go.mod", "module shop.example\n\ngo 1.24\n")
	w.Write("project/main.go", "package main\n\nimport \"fmt\"\n\n// Total is what a cart costs.\nfunc Total() int { return missing }\n\nfunc main() { fmt.Println(Total()) }\n")
	main := w.Path("project", "main.go")
	return guest{pkg: "golang.org/x/tools/gopls " + world.GoplsVersion, entry: obj{"command": world.Gopls(t), "args": []string{"mcp"}}}.
		calling(t, "go_workspace", obj{}, "shop.example").
		calling(t, "go_file_context", obj{"file": main}, "Println").
		calling(t, "go_diagnostics", obj{"files": []string{main}}, "undefined: missing").
		calling(t, "go_symbol_references", obj{"file": main, "symbol": "Total"}, "main.go").
		calling(t, "go_search", obj{"query": "Total"}, "Total")
}

// version returns the version of a package that is installed.
func version(n world.Node, t *testing.T, pkg string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(n.Modules, filepath.FromSlash(pkg), "package.json"))
	world.Must(t, err)
	var about struct{ Version string }
	world.Must(t, json.Unmarshal(text, &about))
	return about.Version
}

// wantTable holds a generated part of a document to what it should be, or writes it.
func wantTable(t *testing.T, file, name, table string) {
	t.Helper()
	text, err := os.ReadFile(file)
	world.Must(t, err)
	begin, end := "<!-- generated: "+name+" -->\n", "\n<!-- end -->"
	before, rest, ok := strings.Cut(string(text), begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no part %q", file, name)
	}
	want := before + begin + "\n" + table + end + after
	switch {
	case want == string(text):
	case *world.Update:
		world.Must(t, os.WriteFile(file, []byte(want), 0o644))
	default:
		t.Errorf("%s is not what was found: go test ./e2e -run TestCompatibility -update, with MCPHUB_E2E_LONG=1", file)
	}
}
