package servers

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"mcphub/e2e/seeds"
	"mcphub/e2e/world"
)

// pairsEach is how many pairs of neighbouring versions there are of one server at most.
const pairsEach = 5

// Pairs that are compared at the fewest, and at the most. As many as the latter are held to a bound.
const fewestPairs, enoughPairs = 20, 100

// neighbourServers are servers of other folders of e2e, most of which have many versions in the registry.
var neighbourServers = []listedServer{
	{server: "@bytebase/dbhub", program: "@bytebase/dbhub/dist/index.js", args: []string{"--transport", "stdio", "--dsn", "sqlite:///:memory:"}},
	{server: "@cocal/google-calendar-mcp", program: "@cocal/google-calendar-mcp/build/index.js", env: obj{"GOOGLE_OAUTH_CREDENTIALS": "{home}/keys.json"}},
	{server: "@eslint/mcp", program: "@eslint/mcp/src/mcp-cli.js"},
	{server: "@modelcontextprotocol/server-pdf", program: "@modelcontextprotocol/server-pdf/dist/index.js", args: []string{"--stdio"}},
	{server: "@notionhq/notion-mcp-server", program: "@notionhq/notion-mcp-server/bin/cli.mjs", env: obj{"NOTION_TOKEN": "ntn_none"}},
	{server: "@playwright/mcp", program: "@playwright/mcp/cli.js", args: []string{"--headless", "--isolated"}},
	{server: "@upstash/context7-mcp", program: "@upstash/context7-mcp/dist/index.js"},
	{server: "@wonderwhy-er/desktop-commander", program: "@wonderwhy-er/desktop-commander/dist/index.js", keeps: []string{"{home}/.claude-server-commander"}},
	{server: "@zereight/mcp-gitlab", program: "@zereight/mcp-gitlab/build/index.js", env: obj{"GITLAB_PERSONAL_ACCESS_TOKEN": "none", "GITLAB_API_URL": "http://127.0.0.1:1/api/v4"}},
	{server: "airtable-mcp-server", program: "airtable-mcp-server/dist/main.js", env: obj{"AIRTABLE_API_KEY": "pat123.abc123"}},
	{server: "chrome-devtools-mcp", program: "chrome-devtools-mcp/build/src/bin/chrome-devtools-mcp.js", args: []string{"--headless", "--isolated"}},
	{server: "exa-mcp-server", program: "exa-mcp-server/dist/stdio.cjs", env: obj{"EXA_API_KEY": "none"}},
	{server: "figma-developer-mcp", program: "figma-developer-mcp/dist/bin.js", args: []string{"--figma-api-key=none", "--stdio"}},
	{server: "firecrawl-mcp", program: "firecrawl-mcp/dist/index.js", env: obj{"FIRECRAWL_API_KEY": "fc-none"}},
	{server: "mcp-server-kubernetes", program: "mcp-server-kubernetes/dist/index.js"},
	{server: "mongodb-mcp-server", program: "mongodb-mcp-server/dist/esm/index.js", keeps: []string{"{home}/.mongodb"}},
	{server: "repomix", program: "repomix/bin/repomix.cjs", args: []string{"--mcp"}},
	{server: "ssh-mcp", program: "ssh-mcp/build/index.js", args: []string{"--host=127.0.0.1", "--port=1", "--user=ada"}},
	{server: "tavily-mcp", program: "tavily-mcp/build/index.js", env: obj{"TAVILY_API_KEY": "tvly-none"}},
}

// A changed is a difference from hub.lock, as `lock --check --json` has it.
type changed struct {
	Of    string `json:"of"`
	Name  string `json:"name"`
	Grows bool   `json:"grows"`
	What  string `json:"what"`
}

// A neighbourhood is a server of npm, one version of it after the other.
type neighbourhood struct {
	*world.World
	server, program string
	entry           obj
}

// TestLocksOfNeighbouringVersions locks a version of a server of npm and compares the next one with that. Both are honest, so that few pairs
// may ask about tools that were there. The seed draws where in the history of a server its pairs begin. MCPHUB_LONG_CASES says how many
// pairs, 100 at most.
func TestLocksOfNeighbouringVersions(t *testing.T) {
	if !world.Long {
		t.Skip("MCPHUB_E2E_LONG is not set: it downloads several versions of servers")
	}
	world.RequireNode(t)
	want := min(seeds.Cases(t, fewestPairs), enoughPairs)
	var mu sync.Mutex
	var all asks
	t.Run("servers", func(t *testing.T) {
		for _, s := range slices.Concat(listedServers, neighbourServers) {
			t.Run(s.server, func(t *testing.T) {
				t.Parallel() // most of its time it waits for the registry
				isEnough := func() bool {
					mu.Lock()
					defer mu.Unlock()
					return all.pairs >= want
				}
				newNeighbourhood(t, &s).compareAll(isEnough, func(changes []changed) {
					mu.Lock()
					defer mu.Unlock()
					all.note(changes)
				})
			})
		}
	})
	t.Log(&all)
	if all.pairs < min(want, fewestPairs) {
		t.Errorf("%d pairs, want %d", all.pairs, min(want, fewestPairs))
	}
	if all.pairs < enoughPairs {
		return // a few servers that have begun to give hints would decide
	}
	if most := all.pairs * 6 / 100; all.known > most {
		t.Errorf("%d of %d pairs ask about tools that were there, want at most %d", all.known, all.pairs, most)
	}
	if most := all.pairs / 5; all.fresh > most {
		t.Errorf("%d of %d pairs ask about new tools, want at most %d", all.fresh, all.pairs, most)
	}
}

func newNeighbourhood(t *testing.T, s *listedServer) *neighbourhood {
	n := &neighbourhood{World: world.New(t), server: s.server, program: s.program}
	atHome := func(text string) string { return strings.ReplaceAll(text, "{home}", n.Home) }
	n.entry = obj{"command": "node", "args": append([]string{n.Path("now", "node_modules", s.program)}, s.args...)}
	env := obj{}
	for name, value := range s.env {
		env[name] = atHome(fmt.Sprint(value))
	}
	n.entry["env"] = env
	var open []string
	for _, folder := range s.keeps {
		open = append(open, atHome(folder))
		world.Must(t, os.MkdirAll(atHome(folder), 0o700))
	}
	if open != nil {
		n.entry["sandbox"] = obj{"write": open}
	}
	return n
}

// compareAll compares neighbours of a server, until there are enough pairs.
func (n *neighbourhood) compareAll(isEnough func() bool, note func(changes []changed)) {
	locked := ""
	for _, pair := range n.drawNeighbours(isEnough) {
		if isEnough() {
			return
		}
		for _, version := range pair {
			if version == locked {
				continue
			}
			why := n.install(version)
			var changes []changed
			if why == "" && version == pair[1] {
				changes, why = n.lock("--check")
			}
			if why == "" {
				_, why = n.lock()
			}
			if why != "" {
				n.T.Logf("%s@%s is left out: %s", n.server, version, why)
				break
			}
			locked = version
			if version == pair[1] {
				note(changes)
				n.T.Logf("%s %s -> %s: %s", n.server, pair[0], version, listOf(changes))
			}
		}
	}
}

// listOf returns a line for each change that grows.
func listOf(changes []changed) string {
	list := fmt.Sprintf("%d changes", len(changes))
	for _, c := range changes {
		if c.Grows {
			list += fmt.Sprintf("\n\t%s %q: %s", c.Of, c.Name, c.What)
		}
	}
	return list
}

// asks counts pairs of versions, and how many of them ask about tools that were there, about new tools, and about anything else.
type asks struct{ pairs, known, fresh, texts int }

func (a *asks) String() string {
	return fmt.Sprintf("%d pairs of neighbours; %d ask about tools that were there, %d about new tools, %d about prompts, resources or instructions", a.pairs, a.known, a.fresh, a.texts)
}

func (a *asks) note(changes []changed) {
	isNew := map[string]bool{}
	for _, c := range changes {
		if strings.HasPrefix(c.What, "the tool is new") {
			isNew[c.Name] = true
		}
	}
	var known, fresh, texts int
	for _, c := range changes {
		switch {
		case !c.Grows:
		case c.Of != "tool":
			texts = 1
		case isNew[c.Name]:
			fresh = 1
		default:
			known = 1
		}
	}
	a.pairs, a.known, a.fresh, a.texts = a.pairs+1, a.known+known, a.fresh+fresh, a.texts+texts
}

// areNeighbours reports whether no release lies between two versions, as far as their numbers tell: they have the same major number, and minor
// numbers that follow each other, or the same with patch numbers that do.
func areNeighbours(was, now string) bool {
	var a, b [3]int
	for _, of := range []struct {
		text string
		n    *[3]int
	}{{was, &a}, {now, &b}} {
		if _, err := fmt.Sscanf(of.text, "%d.%d.%d", &of.n[0], &of.n[1], &of.n[2]); err != nil {
			return false
		}
	}
	return a[0] == b[0] && (a[1] == b[1] && b[2]-a[2] == 1 || b[1]-a[1] == 1 && b[2] == 0)
}

// drawNeighbours returns pairs of versions that are neighbours and no previews, the oldest first: those that follow a drawn one. A registry
// that leaves versions out has fewer of them.
func (n *neighbourhood) drawNeighbours(isEnough func() bool) (pairs [][2]string) {
	n.T.Helper()
	if isEnough() {
		return nil
	}
	out, err := exec.Command("npm", "view", n.server, "versions", "--json").Output()
	if err != nil {
		n.T.Fatalf("npm view %s: %v", n.server, err)
	}
	var all []string
	if err := json.Unmarshal(out, &all); err != nil { // one version alone is no list
		return nil
	}
	all = slices.DeleteFunc(all, func(v string) bool { return strings.Contains(v, "-") })
	for i := range all[:max(0, len(all)-1)] {
		if areNeighbours(all[i], all[i+1]) {
			pairs = append(pairs, [2]string{all[i], all[i+1]})
		}
	}
	first := seeds.Rand(n.T).IntN(max(0, len(pairs)-pairsEach) + 1)
	return pairs[first:min(first+pairsEach, len(pairs))]
}

// install puts a version in the place of the former one. why reports why it is not there. What the former version needed stays if the new one
// needs it, too: that takes a fraction of the time.
func (n *neighbourhood) install(version string) (why string) {
	n.T.Helper()
	dir := n.Path("now")
	install := func() ([]byte, error) {
		world.Must(n.T, os.MkdirAll(dir, 0o700))
		return exec.Command("npm", "install", "--prefix", dir, "--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline", n.server+"@"+version).CombinedOutput()
	}
	said, err := install()
	if err != nil {
		world.Must(n.T, os.RemoveAll(dir))
		said, err = install()
	}
	if err != nil {
		return fmt.Sprintf("npm install: %v\n%.300s", err, said)
	}
	if _, err := os.Stat(filepath.Join(dir, "node_modules", n.program)); err != nil {
		return "its program lies elsewhere"
	}
	return ""
}

// lock runs mcphub lock, and returns what has changed. why reports why it cannot be compared.
func (n *neighbourhood) lock(flags ...string) (changes []changed, why string) {
	n.T.Helper()
	args := append([]string{"lock", "--config", n.Config(obj{"kid": n.entry}), "--root", n.Project, "--json"}, flags...)
	out, code := n.Command(args...)
	var report struct {
		Servers []struct {
			Tools   int       `json:"tools"`
			Changes []changed `json:"changes"`
			Error   string    `json:"error"`
		} `json:"servers"`
	}
	text, _, _ := strings.Cut(out[max(0, strings.Index(out, "{")):], "\n}\n")
	if err := json.Unmarshal([]byte(text+"\n}"), &report); err != nil || len(report.Servers) != 1 {
		n.T.Fatalf("mcphub %s: exit status %d, %v\n%s", strings.Join(args, " "), code, err, out)
	}
	s := &report.Servers[0]
	if s.Error != "" || s.Tools == 0 {
		return nil, cmp.Or(s.Error, "it lists no tools")
	}
	return s.Changes, ""
}
