package servers

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"mcphub/e2e/ide"
	"mcphub/e2e/world"
)

// A listedServer is a server of npm, and how it starts.
type listedServer struct {
	server, program string
	args            []string
	env             obj
	keeps           []string // its own folders in the home folder, which its entry has to open
	cleaned         []string // tools of which the hub takes what no one sees out of their texts
	renamed         bool     // some of its names are too long for models, so the hub gives them others
}

// listedServers are servers of npm whose lists alone are compared, those of e2e/listed: their programs, and what they need to say what they have.
var listedServers = []listedServer{
	{server: "@agentdeskai/browser-tools-mcp", program: "@agentdeskai/browser-tools-mcp/dist/mcp-server.js"},
	{server: "@amap/amap-maps-mcp-server", program: "@amap/amap-maps-mcp-server/build/index.js", env: obj{"AMAP_MAPS_API_KEY": "none"}},
	{server: "@brightdata/mcp", program: "@brightdata/mcp/server.js", env: obj{"API_TOKEN": "none"}},
	{server: "@browsermcp/mcp", program: "@browsermcp/mcp/dist/index.js"},
	{server: "@currents/mcp", program: "@currents/mcp/build/index.js", env: obj{"CURRENTS_API_KEY": "none"}},
	{server: "@larksuiteoapi/lark-mcp", program: "@larksuiteoapi/lark-mcp/dist/cli.js", args: []string{"mcp", "-a", "none", "-s", "none"},
		keeps: []string{"{home}/.local/state/lark-mcp-nodejs", "{home}/.local/share/lark-mcp-nodejs"}, cleaned: []string{"im_v1_message_list"}},
	{server: "@line/line-bot-mcp-server", program: "@line/line-bot-mcp-server/dist/index.js", env: obj{"CHANNEL_ACCESS_TOKEN": "none"}},
	{server: "@mapbox/mcp-server", program: "@mapbox/mcp-server/dist/esm/index.js", env: obj{"MAPBOX_ACCESS_TOKEN": "pk.eyJ1Ijoibm9uZSJ9.none"}},
	{server: "@mastra/mcp-docs-server", program: "@mastra/mcp-docs-server/dist/stdio.js"},
	{server: "@mui/mcp", program: "@mui/mcp/stdio.js"},
	{server: "@perplexity-ai/mcp-server", program: "@perplexity-ai/mcp-server/dist/index.js", env: obj{"PERPLEXITY_API_KEY": "none"}},
	{server: "@primeng/mcp", program: "@primeng/mcp/dist/index.js"},
	{server: "@remotion/mcp", program: "@remotion/mcp/dist/esm/index.mjs"},
	{server: "@roychri/mcp-server-asana", program: "@roychri/mcp-server-asana/dist/index.js", env: obj{"ASANA_ACCESS_TOKEN": "none"}},
	{server: "@sentry/mcp-server", program: "@sentry/mcp-server/dist/index.js", args: []string{"--access-token=none"}},
	{server: "@shopify/dev-mcp", program: "@shopify/dev-mcp/dist/index.js"},
	{server: "@shortcut/mcp", program: "@shortcut/mcp/dist/index.js", env: obj{"SHORTCUT_API_TOKEN": "none"}},
	{server: "@softeria/ms-365-mcp-server", program: "@softeria/ms-365-mcp-server/dist/index.js", keeps: []string{"{home}/.ms-365-mcp-server"}},
	{server: "@winor30/mcp-server-datadog", program: "@winor30/mcp-server-datadog/build/index.js", env: obj{"DATADOG_API_KEY": "none", "DATADOG_APP_KEY": "none"}},
	{server: "argocd-mcp", program: "argocd-mcp/dist/index.js", args: []string{"stdio"}, env: obj{"ARGOCD_API_TOKEN": "none", "ARGOCD_BASE_URL": "http://127.0.0.1:1"}},
	{server: "backlog-mcp-server", program: "backlog-mcp-server/build/index.js", env: obj{"BACKLOG_DOMAIN": "none.backlog.com", "BACKLOG_API_KEY": "none"}},
	{server: "flightradar-mcp-server", program: "flightradar-mcp-server/build/index.js", env: obj{"FR24_API_KEY": "none"}},
	{server: "hostinger-api-mcp", program: "hostinger-api-mcp/src/servers/all.js", env: obj{"API_TOKEN": "none"}, renamed: true},
	{server: "mcp-deepwiki", program: "mcp-deepwiki/bin/cli.mjs"},
	{server: "mcp-hello-world", program: "mcp-hello-world/build/stdio.js"},
	{server: "mcp-mermaid", program: "mcp-mermaid/build/index.js"},
	{server: "mcp-searxng", program: "mcp-searxng/dist/cli.js", env: obj{"SEARXNG_URL": "http://127.0.0.1:1"}},
	{server: "next-devtools-mcp", program: "next-devtools-mcp/dist/index.js"},
	{server: "nx-mcp", program: "nx-mcp/main.js"},
	{server: "reddit-mcp-buddy", program: "reddit-mcp-buddy/dist/cli.js"},
	{server: "server-perplexity-ask", program: "server-perplexity-ask/dist/index.js", env: obj{"PERPLEXITY_API_KEY": "none"}},
}

// fewestListed is how many of them there are at least.
const fewestListed = 30

// TestListsOfServersOfNpm: each tool, prompt, resource and template of these servers is through the hub what it is without it, byte for
// byte but for the name. Folders of their own in the home folder are open to the ones that do not start without.
func TestListsOfServersOfNpm(t *testing.T) {
	needShop(t)
	world.NPM.Of(t, "listed")
	rows := make([]string, len(listedServers))
	entries, same := 0, 0
	t.Run("servers", func(t *testing.T) {
		for i, s := range listedServers {
			t.Run(s.server, func(t *testing.T) {
				e := configured{name: s.server, server: s.server, hub: obj{"command": "node", "args": append([]string{"{listed}/" + s.program}, s.args...)}}
				if s.env != nil {
					e.hub["env"] = s.env
				}
				direct := bytesOf(e.at(newDesk(t, &e)), nil, (*desk).direct)
				if s.keeps != nil {
					e.files = map[string]string{}
					for _, folder := range s.keeps {
						e.files[folder+"/"] = ""
					}
					e.hub["sandbox"] = obj{"write": s.keeps}
				}
				with := e.at(newDesk(t, &e))
				with.configure(e.hub)
				hub := bytesOf(with, direct, func(d *desk, talk func(*ide.Client, string)) error { return d.throughHub(nil, talk) })
				counts, differ, others := "", []string{}, 0
				for _, kind := range kindsOfLists {
					counts += fmt.Sprintf(" %d |", len(direct[kind]))
					another := map[string]bool{} // what the hub lists under names that the server has not
					for name, text := range hub[kind] {
						if direct[kind][name] == "" {
							another[strings.Replace(text, `"name":`+with.same(world.Raw(t, name)), `"name":"NAME"`, 1)] = true
						}
					}
					for _, name := range slices.Sorted(maps.Keys(direct[kind])) {
						entries++
						want := direct[kind][name]
						switch blank := strings.Replace(want, `"name":`+with.same(world.Raw(t, name)), `"name":"NAME"`, 1); {
						case hub[kind][name] == want:
							same++
							if slices.Contains(s.cleaned, name) {
								differ = append(differ, name+" is as it was")
							}
						case hub[kind][name] != "" && slices.Contains(s.cleaned, name):
						case hub[kind][name] == "" && another[blank]:
							delete(another, blank)
							same++
							others++
						default:
							differ = append(differ, fmt.Sprintf("of the %s %s is %.600s and not %.600s", kind, name, hub[kind][name], want))
						}
					}
					for text := range another {
						differ = append(differ, fmt.Sprintf("%s have %.300s as well", kind, text))
					}
				}
				if len(direct["tools"]) == 0 {
					t.Error("it lists no tools without the hub, so it shows nothing")
				}
				if len(differ) > 0 || (others > 0) != s.renamed {
					t.Errorf("%d have other names; %s", others, strings.Join(differ, "; "))
				}
				about := "nothing"
				switch {
				case s.cleaned != nil:
					about = fmt.Sprintf("%d has a character that nobody sees", len(s.cleaned))
				case s.renamed:
					about = fmt.Sprintf("the names of %d, which are too long for models", others)
				}
				if s.keeps != nil {
					about += "; its entry opens its own folder"
				}
				rows[i] = fmt.Sprintf("| `%s@%s` |%s %s |\n", s.server, version(world.NPM.Of(t, "listed"), t, s.server), counts, about)
			})
		}
	})
	t.Logf("%d servers; %d of %d entries are the same, digits and folders of a start aside\n| server | tools | prompts | resources | templates | what differs |\n|---|---|---|---|---|---|\n%s", len(listedServers), same, entries, strings.Join(rows, ""))
	if len(listedServers) < fewestListed {
		t.Errorf("%d servers, want %d", len(listedServers), fewestListed)
	}
}

// bytesOf returns all that a server lists: by kind, and by name or URI, each entry raw, with the server's own name. The hub is asked
// until it has the names of want.
func bytesOf(d *desk, want map[string]map[string]string, run func(*desk, func(*ide.Client, string)) error) map[string]map[string]string {
	d.T.Helper()
	all := map[string]map[string]string{}
	err := run(d, func(c *ide.Client, prefix string) {
		ctx, cancel := context.WithTimeout(context.Background(), 2*world.WaitLimit)
		defer cancel()
		m, err := c.Initialize(ctx)
		world.Must(d.T, err)
		var greeting struct{ Capabilities map[string]json.RawMessage }
		world.Must(d.T, json.Unmarshal(m.Result, &greeting))
		for _, kind := range kindsOfLists {
			if greeting.Capabilities[strings.Replace(kind, "resourceTemplates", "resources", 1)] == nil {
				continue
			}
			world.Within(world.WaitLimit/2, func() bool {
				all[kind] = rawList(ctx, d, c, prefix, kind)
				for name := range want[kind] {
					if all[kind][name] == "" {
						return false
					}
				}
				return true
			})
		}
	})
	world.Must(d.T, err)
	return all
}

// rawList returns all pages of a list. What is another at each start of a server is left out.
func rawList(ctx context.Context, d *desk, c *ide.Client, prefix, kind string) map[string]string {
	method := strings.Replace(kind+"/list", "resourceTemplates", "resources/templates", 1)
	all := map[string]string{}
	params := obj{}
	for {
		m, err := c.Call(ctx, method, world.Raw(d.T, params))
		world.Must(d.T, err)
		var page map[string]json.RawMessage
		var entries []json.RawMessage
		if json.Unmarshal(m.Result, &page) != nil || json.Unmarshal(page[kind], &entries) != nil {
			return all // it has no such list
		}
		for _, raw := range entries {
			var of struct{ Name, URI, URITemplate string }
			world.Must(d.T, json.Unmarshal(raw, &of))
			name, text := d.same(cmp.Or(of.URI, of.URITemplate)), string(raw)
			if name == "" {
				own, is := strings.CutPrefix(of.Name, prefix)
				if !is {
					continue // the hub's own
				}
				name, text = own, strings.Replace(text, world.Raw(d.T, of.Name), world.Raw(d.T, own), 1)
			}
			all[name] = d.same(text)
		}
		if page["nextCursor"] == nil {
			return all
		}
		params = obj{"cursor": page["nextCursor"]}
	}
}
