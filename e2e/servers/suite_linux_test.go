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

// sameOfSuite is how many servers of npm are the same through the hub, and fewestOfSuite how many there are. They only ever rise.
const (
	sameOfSuite   = 51
	fewestOfSuite = 45
)

// TestServersOfNpm lists all that servers of npm offer, without the hub and through it with roots given, and calls three tools of
// each: the lists hold the same, with the same descriptions and schemas, and the answers are the same. Of a service that cannot be
// reached from here the error is.
func TestServersOfNpm(t *testing.T) {
	needShop(t)
	world.RequireLandlock(t)
	for _, folder := range []string{"everyday", "servers", "compat"} { // once, and not by all at a time
		world.NPM.Of(t, folder)
	}
	rows := make([]string, len(npmServers))
	differ := make([]string, len(npmServers))
	t.Run("servers", func(t *testing.T) {
		for i, s := range npmServers {
			t.Run(s.entry().name, func(t *testing.T) {
				t.Parallel()
				rows[i], differ[i] = s.compare(t)
			})
		}
	})
	same, packages := 0, map[string]bool{}
	for i, s := range npmServers {
		packages[s.entry().server] = true
		if differ[i] == "" && rows[i] != "" {
			same++
		}
	}
	t.Logf("%d of %d servers are the same\n| server | tools | prompts | resources | templates | what differs |\n|---|---|---|---|---|---|\n%s", same, len(npmServers), strings.Join(rows, ""))
	if len(packages) < fewestOfSuite || same < sameOfSuite {
		t.Errorf("%d packages, %d the same: want %d and %d", len(packages), same, fewestOfSuite, sameOfSuite)
	}
}

// npmServer is a server of npm and calls that harm no one.
type npmServer struct {
	public string     // the entry of publicEntries, whose two calls are made as well; or
	own    configured // one that is only here
	calls  []act
}

func (s npmServer) entry() *configured {
	for i := range publicEntries {
		if publicEntries[i].name == s.public {
			return &publicEntries[i]
		}
	}
	return &s.own
}

// asked are three calls at least.
func (s npmServer) asked() []act {
	if s.public == "" {
		return s.calls
	}
	return append([]act{s.entry().read, s.entry().write}, s.calls...)
}

// offered is all that a server offers, and what it said.
type offered struct {
	lists map[string]map[string]string // kind, name or URI: the entry in one form
	said  []string
	fault string
}

var kindsOfLists = []string{"tools", "prompts", "resources", "resourceTemplates"}

// compare runs a server without the hub and through it, and gives its row of the table and what differs.
func (s npmServer) compare(t *testing.T) (row, differs string) {
	e := s.entry()
	e.need(t)
	direct := s.look(e.at(newDesk(t, e)), (*desk).direct)
	if direct.fault != "" || len(direct.lists["tools"]) == 0 || len(direct.said) < 3 {
		t.Fatalf("it shows nothing without the hub: %s; it said %q", direct.fault, direct.said)
	}
	for i, c := range s.asked() {
		if want := otherEachTime.ReplaceAllString(c.want, "N"); !strings.Contains(direct.said[i], want) || strings.HasPrefix(direct.said[i], "ERROR ") && !c.fails {
			t.Errorf("%s says %q without the hub, so it shows nothing", c.tool, direct.said[i])
		}
	}
	with := e.at(newDesk(t, e))
	with.configure(e.hub)
	hub := s.look(with, func(d *desk, talk func(*ide.Client, string)) error { return d.throughHub(nil, talk) })
	var all []string
	counts := ""
	for _, kind := range kindsOfLists {
		got, want := hub.lists[kind], direct.lists[kind]
		counts += fmt.Sprintf(" %d |", len(want))
		for _, name := range slices.Sorted(maps.Keys(want)) {
			if text, ok := got[name]; !ok {
				all = append(all, fmt.Sprintf("%s lack %s", kind, name))
			} else if text != want[name] {
				all = append(all, fmt.Sprintf("of the %s %s is %.600s and not %.600s", kind, name, text, want[name]))
			}
		}
		for _, name := range slices.Sorted(maps.Keys(got)) {
			if _, ok := want[name]; !ok {
				all = append(all, fmt.Sprintf("%s have %s as well", kind, name))
			}
		}
	}
	for i, c := range s.asked() {
		if len(hub.said) <= i || hub.said[i] != direct.said[i] {
			all = append(all, fmt.Sprintf("%s %s says %.500q and not %.500q", c.tool, c.args, slices.Concat(hub.said, make([]string, 9))[i], direct.said[i]))
		}
	}
	if hub.fault != "" {
		all = append(all, hub.fault)
	}
	differs = strings.Join(all, "; ")
	return fmt.Sprintf("| `%s` |%s %s |\n", e.server, counts, cmp.Or(strings.ReplaceAll(differs, "\n", " "), "nothing")), differs
}

// look returns a client's session with the server.
func (s npmServer) look(d *desk, run func(*desk, func(*ide.Client, string)) error) (o offered) {
	d.T.Helper()
	err := run(d, func(c *ide.Client, prefix string) {
		limited := func() context.Context {
			ctx, cancel := context.WithTimeout(context.Background(), d.bound())
			d.T.Cleanup(cancel)
			return ctx
		}
		m, err := c.Initialize(limited())
		if err != nil {
			o.fault = err.Error()
			return
		}
		var greeting struct{ Capabilities map[string]json.RawMessage }
		world.Must(d.T, json.Unmarshal(m.Result, &greeting))
		for _, call := range s.asked() {
			o.said = append(o.said, d.said(limited(), c, prefix, call))
		}
		o.lists = map[string]map[string]string{}
		for _, kind := range kindsOfLists {
			if greeting.Capabilities[strings.Replace(kind, "resourceTemplates", "resources", 1)] == nil {
				continue
			}
			if o.lists[kind], err = d.listed(limited(), c, prefix, kind); err != nil && kind == "tools" {
				o.fault = err.Error()
			}
		}
	})
	if err != nil {
		o.fault = err.Error()
	}
	return o
}

// npmServers are the npm servers of the everyday entries, and more of the folders of pinned packages.
var npmServers = []npmServer{
	{public: "filesystem", calls: []act{{"list_allowed_directories", `{}`, "", false}, {"list_directory", `{"path":"{project}"}`, "hello.txt", false}}},
	{public: "obsidian vault", calls: []act{{"search_notes", `{"query":"nothing"}`, "", false}}},
	{public: "obsidian vaults", calls: []act{{"obsidian_list_vaults", `{}`, "notes", false}, {"obsidian_search_vault", `{"vault":"notes","query":"plants"}`, "", false}}},
	{public: "knowledge graph", calls: []act{{"search_nodes", `{"query":"Ada"}`, "Ada", false}, {"open_nodes", `{"names":["Ada"]}`, "Ada", false}}},
	{public: "memory", calls: []act{{"search_nodes", `{"query":"Ada"}`, "Ada", false}, {"open_nodes", `{"names":["Ada"]}`, "Ada", false}}},
	{public: "memory bank", calls: []act{{"list_projects", `{}`, "shop", false}, {"list_project_files", `{"projectName":"shop"}`, "brief.md", false}}},
	{public: "shrimp tasks", calls: []act{{"query_task", `{"query":"water"}`, "", false}}},
	{public: "task manager", calls: []act{{"get_next_task", `{"requestId":"req-1"}`, "water", false}}},
	{public: "fast filesystem", calls: []act{{"fast_list_directory", `{"path":"{project}"}`, "hello.txt", false}}},
	{public: "agent filesystem", calls: []act{{"list_allowed_directories", `{}`, "", false}}},
	{own: configured{name: "pdf of the project", server: "@modelcontextprotocol/server-pdf", files: map[string]string{"{project}/one.pdf": "%PDF-1.4\n"},
		hub: obj{"command": "{everyday}/.bin/mcp-pdf-server", "args": []string{"--stdio", "{project}/one.pdf"}}}, calls: []act{
		{"read_pdf_bytes", `{"url":"{project}/one.pdf","offset":0,"byteCount":8}`, "bytes", false}, {"read_pdf_bytes", `{"url":"nowhere.pdf","offset":0,"byteCount":8}`, "", true}, {"list_pdfs", `{}`, "one.pdf", false}}},
	{public: "excel", calls: []act{{"excel_read_sheet", `{"fileAbsolutePath":"{project}/book.xlsx","sheetName":"Sheet1"}`, "", false}}},
	{public: "repomix", calls: []act{{"read_repomix_output", `{"outputId":"none"}`, "", true}}},
	{public: "eslint", calls: []act{{"lint-files", `{"filePaths":["{project}/eslint.config.js"]}`, "", false}}},
	{public: "desktop commander", calls: []act{{"get_file_info", `{"path":"{project}/hello.txt"}`, "size", false}}},
	{public: "ripgrep", calls: []act{{"list-file-types", `{}`, "typescript", false}}},
	{public: "commands", calls: []act{{"run_command", `{"command":"ls","workdir":"{project}"}`, "hello.txt", false}}},
	{public: "code runner", calls: []act{{"run-code", `{"languageId":"shellscript","code":"echo $((6*7))"}`, "42", false}}},
	{public: "dbhub", calls: []act{{"search_objects", `{"object_type":"table"}`, "users", false}}},
	{public: "libsql memory", calls: []act{{"search_nodes", `{"query":"Ada"}`, "", false}}},
	{public: "mongodb log", calls: []act{{"list-collections", `{"connectionId":"none","database":"x"}`, "", true}}},
	{public: "postgres", calls: []act{{"query", `{"sql":"select 3"}`, "", true}}},
	{public: "bigquery", calls: []act{{"query", `{"sql":"select 3"}`, "", true}}},
	{public: "google calendar", calls: []act{{"list-colors", `{}`, "", true}}},
	{public: "gmail", calls: []act{{"list_filters", `{}`, "", true}}},
	{public: "git", calls: []act{{"git_status", `{"path":"{project}"}`, "main", false}}},
	{public: "kubernetes", calls: []act{{"ping", `{}`, "", false}}},
	{public: "openapi", calls: []act{{"lst-things", `{"limit":3}`, "", true}}},
	{public: "ssh", calls: []act{{"list-sessions", `{}`, "", true}}},
	{public: "playwright profile", calls: []act{{"browser_snapshot", `{}`, "hello", false}}},
	{public: "everything", calls: []act{{"get-tiny-image", `{}`, "", false}}},
	{public: "sequential thinking", calls: []act{{"sequentialthinking", `{"thought":"end","nextThoughtNeeded":false,"thoughtNumber":3,"totalThoughts":3}`, "", false}}},
	{public: "time", calls: []act{{"get_week_year", `{"date":"2024-02-01"}`, "", false}}},
	{public: "fetch", calls: []act{{"fetch_json", `{"url":"http://127.0.0.1:1/"}`, "", true}}},
	{public: "drawio", calls: []act{{"search_shapes", `{"query":"server"}`, "", true}}},
	{public: "context7", calls: []act{{"query-docs", `{"libraryId":"/vercel/next.js","query":"routes"}`, "", true}}},
	{public: "github", calls: []act{{"get_file_contents", `{"owner":"o","repo":"r","path":"/x"}`, "", true}}},
	{public: "gitlab", calls: []act{{"get_file_contents", `{"project_id":"1","file_path":"/x"}`, "", true}}},
	{public: "slack", calls: []act{{"slack_list_channels", `{}`, "", true}}},
	{public: "notion", calls: []act{{"API-get-users", `{}`, "", true}}},
	{public: "figma", calls: []act{{"get_figma_data", `{"fileKey":"ghi"}`, "", true}}},
	{public: "zereight gitlab", calls: []act{{"get_project", `{"project_id":"1"}`, "", true}}},
	{own: serviceOf("hubspot", "@hubspot/mcp-server", "{everyday}/.bin/mcp-hubspot", obj{"PRIVATE_APP_ACCESS_TOKEN": "none"}), calls: []act{
		{"hubspot-get-user-details", `{}`, "", true}, {"hubspot-list-objects", `{"objectType":"contacts"}`, "", true}, {"hubspot-list-properties", `{"objectType":"contacts"}`, "", true}}},
	{own: serviceOf("brave search", "@modelcontextprotocol/server-brave-search", "{everyday}/.bin/mcp-server-brave-search", obj{"BRAVE_API_KEY": "none"}), calls: []act{
		{"brave_web_search", `{"query":"x"}`, "", true}, {"brave_local_search", `{"query":"x"}`, "", true}, {"brave_web_search", `{"query":"y"}`, "", true}}},
	{own: serviceOf("brave", "@brave/brave-search-mcp-server", "{compat}/.bin/brave-search-mcp-server", obj{"BRAVE_API_KEY": "none"}), calls: []act{
		{"brave_web_search", `{"query":"x"}`, "", true}, {"brave_news_search", `{"query":"x"}`, "", true}, {"brave_image_search", `{"query":"x"}`, "", true}}},
	{own: serviceOf("google maps", "@modelcontextprotocol/server-google-maps", "{everyday}/.bin/mcp-server-google-maps", obj{"GOOGLE_MAPS_API_KEY": "none"}), calls: []act{
		{"maps_geocode", `{"address":"x"}`, "", true}, {"maps_elevation", `{"locations":[{"latitude":1,"longitude":2}]}`, "", true}, {"maps_directions", `{"origin":"x","destination":"y"}`, "", true}}},
	{own: serviceOf("airbnb", "@openbnb/mcp-server-airbnb", "{everyday}/.bin/mcp-server-airbnb", nil), calls: []act{
		{"airbnb_listing_details", `{"id":"1"}`, "", true}, {"airbnb_listing_details", `{"id":"2"}`, "", true}, {"airbnb_search", `{"location":"x"}`, "", true}}},
	{own: serviceOf("airtable", "airtable-mcp-server", "{everyday}/.bin/airtable-mcp-server", obj{"AIRTABLE_API_KEY": "none"}), calls: []act{
		{"list_bases", `{}`, "", true}, {"list_tables", `{"baseId":"appNone"}`, "", true}, {"list_records", `{"baseId":"appNone","tableId":"tblNone"}`, "", true}}},
	{own: serviceOf("exa", "exa-mcp-server", "{everyday}/.bin/exa-mcp-server", obj{"EXA_API_KEY": "none"}), calls: []act{
		{"web_search_exa", `{"query":"x"}`, "", true}, {"web_fetch_exa", `{"urls":["http://127.0.0.1:1/"]}`, "", true}, {"web_search_exa", `{"query":"y"}`, "", true}}},
	{own: serviceOf("firecrawl", "firecrawl-mcp", "{everyday}/.bin/firecrawl-mcp", obj{"FIRECRAWL_API_KEY": "fc-none", "FIRECRAWL_API_URL": "http://127.0.0.1:1"}), calls: []act{
		{"firecrawl_check_crawl_status", `{"id":"x"}`, "ECONNREFUSED", true}, {"firecrawl_map", `{"url":"http://127.0.0.1:1/"}`, "", true}, {"firecrawl_agent_status", `{"id":"x"}`, "", true}}},
	{own: serviceOf("todoist", "todoist-mcp", "{everyday}/.bin/todoist-mcp", obj{"API_KEY": "none"}), calls: []act{
		{"get_labels_list", `{}`, "", true}, {"get_labels", `{"items":[{"id":"1"}]}`, "", true}, {"get_comments", `{"items":[{"id":"1"}]}`, "", true}}},
	{own: serviceOf("youtube transcript", "@kimtaeyoon83/mcp-server-youtube-transcript", "{everyday}/.bin/mcp-server-youtube-transcript", nil), calls: []act{
		{"get_transcript", `{"url":"nope","lang":"en"}`, "Invalid", true}, {"get_transcript", `{"url":"","lang":"en"}`, "", true}, {"get_transcript", `{"url":"no","lang":"de"}`, "", true}}},
	{own: serviceOf("tavily", "tavily-mcp", "{compat}/.bin/tavily-mcp", obj{"TAVILY_API_KEY": "tvly-none"}), calls: []act{
		{"tavily_search", `{"query":"x"}`, "", true}, {"tavily_extract", `{"urls":["http://127.0.0.1:1/"]}`, "", true}, {"tavily_map", `{"url":"http://127.0.0.1:1/"}`, "", true}}},
	{own: browserOf("devtools", "chrome-devtools-mcp", "{servers}/.bin/chrome-devtools-mcp"), calls: []act{
		{"list_pages", `{}`, "", false}, {"new_page", `{"url":"data:text/html,<title>Everyday</title>hello"}`, "", false}, {"list_pages", `{}`, "Everyday", true}}},
}

// serviceOf returns a server that speaks for a service of the web.
func serviceOf(name, pkg, program string, env obj) configured {
	return configured{name: name, server: pkg, hub: obj{"command": program, "args": []string{}, "env": env}}
}

// browserOf returns a server that drives a browser.
func browserOf(name, pkg, program string) configured {
	return configured{name: name, server: pkg, needs: []string{"chromium"}, hub: obj{"command": program, "args": []string{"--headless", "--isolated",
		"--executablePath", "/usr/bin/chromium", "--chromeArg=--no-sandbox", "--no-usage-statistics", "--no-performance-crux"}}}
}
