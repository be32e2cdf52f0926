package hub

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"mcphub/e2e/childtest"
	"mcphub/e2e/seeds"
	"mcphub/hub/toolset"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/principal"
	"mcphub/validate/policy"
)

// A seer is one session, on one front and in one era, with what its toolsets are told by.
type seer struct {
	somebody
	way  string // stdio, modern stdio, attached, http or modern
	said toolset.Claim
}

// A gallery is a hub with sessions of all kinds, and the reference of what each may see: hub.json as the operator wrote it. The rules are
// those of the crowd.
type gallery struct {
	crowd
	seers   []*seer
	sets    map[string]*wantedSet
	clients map[string][]string
	project []string // the toolsets of the folder shop
	choice  []string // what a file in that folder chooses
	shop    string
}

// wantedSet is one toolset, each pattern in two halves.
type wantedSet struct {
	servers        []string
	tools, exclude [][2]string
	selectable     bool
}

func (s *wantedSet) shows(server, name string, tool bool) bool {
	any := func(patterns [][2]string) bool {
		return slices.ContainsFunc(patterns, func(p [2]string) bool { return fits(p[:1], server) && fits(p[1:], name) })
	}
	return (slices.Contains(s.servers, server) || tool && any(s.tools)) && !any(s.exclude)
}

// toolsetsOf returns the toolsets that a session has; limited false: it sees everything.
func (g *gallery) toolsetsOf(said *toolset.Claim) (all []*wantedSet, limited bool) {
	may := func(name string) bool {
		return (said.Bound == nil || slices.Contains(said.Bound, name)) && (said.Flag == nil || slices.Contains(said.Flag, name))
	}
	var chosen []string
	switch {
	case said.URL != "":
		chosen = []string{said.URL}
	case said.Flag == nil:
		chosen = slices.Clone(g.clients[said.Client])
		if len(said.Dirs) > 0 {
			chosen = append(chosen, g.project...)
			var left []string
			for _, name := range g.choice {
				if s := g.sets[name]; s != nil && s.selectable && (len(chosen) == 0 || slices.Contains(chosen, name)) {
					left = append(left, name)
				}
			}
			if left != nil {
				chosen = left
			}
		}
	}
	if limited = len(chosen) > 0; !limited {
		limited, chosen = said.Bound != nil || said.Flag != nil, setNames
	}
	for _, name := range slices.Compact(slices.Sorted(slices.Values(chosen))) {
		if set := g.sets[name]; set != nil && may(name) {
			all = append(all, set)
		}
	}
	return all, limited
}

// shows reports whether a session sees a tool; or, with kind "prompt" or "rest", a prompt, or anything else of a server; "any": anything at all.
func (g *gallery) shows(v *seer, kind, server, name string) bool {
	all, limited := g.toolsetsOf(&v.said)
	return !limited || slices.ContainsFunc(all, func(s *wantedSet) bool {
		switch kind {
		case "any":
			return slices.Contains(s.servers, server) || slices.ContainsFunc(s.tools, func(p [2]string) bool { return fits(p[:1], server) })
		case "rest":
			return slices.Contains(s.servers, server)
		}
		return s.shows(server, name, kind == "tool")
	})
}

// refuses reports whether a request of a session is answered with 403. A session of the handshake does not name its client again.
func (g *gallery) refuses(v *seer) bool {
	said := v.said
	if v.way == "http" {
		said.Client = ""
	}
	all, limited := g.toolsetsOf(&said)
	return (v.way == "http" || v.way == "modern") && limited && len(all) == 0
}

var (
	setNames    = []string{"a", "b", "c"}
	galleryKids = []string{"one", "two", "three"}
	scriptTools = []string{"echo", "allowed", "roots", "sleep", "exit", "progress", "change", "broken", "env", "noticed"} // as they are listed
)

func newGallery(t *testing.T) *gallery {
	cfg := testConfig(t, scriptedAll("one"), scriptedAll("two"), scriptedAll("three"))
	cfg.AllowWithoutRoots, cfg.Inspect, cfg.Launcher = true, false, childtest.Pipes{}
	g := &gallery{crowd: crowd{T: t, cfg: cfg, random: seeds.Rand(t), done: map[string]int{}}, shop: filepath.Join(t.TempDir(), "shop")}
	if err := os.MkdirAll(filepath.Join(g.shop, "src"), 0o700); err != nil {
		t.Fatal(err)
	}
	g.sets = map[string]*wantedSet{"a": {servers: []string{"one"}}, "b": {tools: [][2]string{{"two", "e*"}}}, "c": {servers: []string{"three"}}}
	g.clients = map[string][]string{"codex": {"a"}}
	g.h = runHub(t, g.configure())
	tokens := []Token{{Name: "alice", Toolsets: []string{"a", "b"}}, {Name: "bob", Groups: []string{"dev"}}}
	for i := range tokens {
		tokens[i].Secret = "secret of " + tokens[i].Name
	}
	w := serveWeb(t, g.h, HTTPOptions{Tokens: tokens})
	for _, said := range []toolset.Claim{{}, {Flag: []string{"a"}}, {Flag: []string{"a", "c"}}, {Client: "codex"}, {Flag: []string{"b"}, Client: "codex"}} {
		g.enter(said, "stdio")
		g.enter(said, "modern stdio")
	}
	for _, said := range []toolset.Claim{{}, {Flag: []string{"b"}}, {Dirs: []string{filepath.Join(g.shop, "src")}}, {Client: "codex", Dirs: []string{g.shop}}} {
		g.enter(said, "attached")
	}
	for i, bound := range [][]string{tokens[0].Toolsets, nil} {
		for _, said := range []toolset.Claim{{}, {URL: "a"}, {URL: "b", Client: "codex"}, {Client: "codex"}} {
			said.Bound = bound
			g.visit(w, said, &tokens[i])
		}
	}
	return g
}

// enter opens a session over stdio.
func (g *gallery) enter(said toolset.Claim, way string) {
	v := &seer{somebody: somebody{Principal: principal.User()}, way: way, said: said}
	in := Surroundings{Toolsets: said.Flag}
	if way == "attached" {
		in.Environ, in.Dir = append(os.Environ(), "SHOP=1"), g.T.TempDir()
		if len(said.Dirs) > 0 {
			in.Dir = said.Dirs[0]
		}
	}
	v.stdio = openIn(g.T, g.h, in)
	if way != "modern stdio" {
		v.stdio.raw("initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"`+said.Client+`","version":"1"}}`)
		if err := v.stdio.conn.Notify(context.Background(), "notifications/initialized"); err != nil {
			g.Fatal(err)
		}
	}
	g.seers = append(g.seers, v)
}

// visit opens a session of each era over HTTP.
func (g *gallery) visit(w *web, said toolset.Claim, of *Token) {
	at := *w
	if said.URL != "" {
		at.url += "/" + said.URL
	}
	who := principal.Principal{Name: of.Name, Groups: of.Groups}
	g.seers = append(g.seers, &seer{somebody{Principal: who, http: openWeb(&at, said.Client, of.Secret)}, "http", said},
		&seer{somebody{Principal: who, modern: at.modern(of.Secret)}, "modern", said})
}

// openWeb opens a session of a client that calls itself so.
func openWeb(w *web, name, secret string) *webClient {
	w.t.Helper()
	header := []string{"Authorization", "Bearer " + secret}
	r := w.do("POST", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"`+name+`","version":"1"}}}`, header...)
	if got := body(w.t, r); r.StatusCode != http.StatusOK {
		w.t.Fatalf("%s: %d %s", w.url, r.StatusCode, got)
	}
	return (&webClient{web: w, session: r.Header.Get(headerSession), header: header}).initialized()
}

// configure returns the Config of the reference.
func (g *gallery) configure() Config {
	cfg := under(g.T, g.cfg, policy.Policy{Rules: g.rules})
	table := &toolset.Table{Clients: g.clients}
	halves := func(all [][2]string) (out []toolset.Pattern) {
		for _, p := range all {
			out = append(out, toolset.Pattern{Server: p[0], Name: p[1]})
		}
		return out
	}
	for _, name := range setNames {
		if s := g.sets[name]; s != nil {
			table.Sets = append(table.Sets, toolset.Set{Name: name, Servers: s.servers, Tools: halves(s.tools), Exclude: halves(s.exclude), Selectable: s.selectable})
		}
	}
	if g.project != nil {
		table.Projects = []toolset.Project{{Dirs: []string{g.shop}, Toolsets: g.project}}
	}
	if g.choice != nil {
		table.Choice = &toolset.Project{Dirs: []string{g.shop}, Toolsets: g.choice}
	}
	cfg.Toolsets = table
	cfg.ForSurroundings = inAny(cfg)
	return cfg
}

// change puts other toolsets and rules in force, and waits until everybody whose lists have changed has been told.
func (g *gallery) change() {
	g.Helper()
	before := map[*seer][3]string{}
	for _, v := range g.seers {
		if v.stdio == nil || v.way == "modern stdio" {
			continue
		}
		before[v] = g.listed(v)
		for _, method := range []string{"tools/list", "prompts/list", "resources/list"} {
			v.stdio.raw(method, `{}`)
		}
		drain(v.stdio.notes)
	}
	someNames := func() (out []string) {
		if out = some(g.random, setNames); out == nil {
			return []string{pick(g.random, setNames)}
		}
		return out
	}
	patterns := func() (out [][2]string) {
		for range max(0, g.random.IntN(5)-2) {
			out = append(out, [2]string{pick(g.random, []string{"one", "t*", "*", "three"}), pick(g.random, []string{"*", "e*", "echo", "allowed", "greet"})})
		}
		return out
	}
	for _, name := range setNames {
		g.sets[name] = &wantedSet{servers: some(g.random, galleryKids), tools: patterns(), exclude: patterns(), selectable: g.random.IntN(2) == 0}
		if g.random.IntN(6) == 0 {
			delete(g.sets, name)
		}
	}
	g.clients, g.project, g.choice = map[string][]string{}, nil, some(g.random, setNames)
	if g.random.IntN(3) > 0 {
		g.clients["codex"] = someNames()
	}
	if g.random.IntN(3) > 0 {
		g.project = someNames()
	}
	g.rules = nil
	for i := range g.random.IntN(4) {
		g.rules = append(g.rules, policy.Rule{
			Name: fmt.Sprintf("rule %d", i), Then: pick(g.random, []policy.Decision{policy.Deny, policy.Allow}),
			People:  policy.People{Principals: some(g.random, []string{"alice", "bob", "local"}), Groups: some(g.random, []string{"dev"})},
			Servers: some(g.random, append([]string{"*"}, galleryKids...)), Tools: some(g.random, append([]string{"*", "prompts/get", "resources/*"}, crowdTools...)),
		})
	}
	if _, err := g.h.Apply(g.Context(), g.configure()); err != nil {
		g.Fatal(err)
	}
	for v, was := range before {
		now := g.listed(v)
		var due []string
		for k, method := range []string{"notifications/tools/list_changed", "notifications/prompts/list_changed", "notifications/resources/list_changed"} {
			if now[k] != was[k] {
				g.done["list_changed, "+v.way]++
				due = append(due, method)
			}
		}
		awaitNotes(g.T, v.stdio, due...)
	}
}

// open reports whether a session sees something of a server, and no rule denies it.
func (g *gallery) open(v *seer, kind, server, name, use string) bool {
	return g.shows(v, kind, server, name) && g.decides(&v.somebody, server, use) != "deny" && !g.withheld(&v.somebody, server)
}

// note returns the URI of the resource of a server, as a session knows it: the first server that it sees keeps it.
func (g *gallery) note(v *seer, server string) string {
	for _, first := range galleryKids {
		if first == server {
			break
		}
		if g.shows(v, "rest", first, "") && !g.withheld(&v.somebody, first) {
			return "mcphub://" + server + "/note://1"
		}
	}
	return "note://1"
}

// listed returns the names that stand on the lists of a session, of each kind.
func (g *gallery) listed(v *seer) (out [3]string) {
	for _, server := range galleryKids {
		for _, tool := range scriptTools {
			if g.open(v, "tool", server, tool, tool) {
				out[0] += server + "__" + tool + " "
			}
		}
		if g.open(v, "prompt", server, "greet", "prompts/get") {
			out[1] += server + "__greet "
		}
		if g.open(v, "rest", server, "", "resources/read") {
			out[2] += g.note(v, server) + " "
		}
	}
	return out
}

// ask makes a request; refused reports that the answer was 403.
func (g *gallery) ask(v *seer, method, params string) (result string, err *jsonrpc.Error, refused bool) {
	g.Helper()
	info := `"io.modelcontextprotocol/clientInfo":{"name":"` + v.said.Client + `","version":"1"}`
	with := strings.TrimSuffix(params, "}")
	if with != "{" {
		with += ","
	}
	var m *jsonrpc.Message
	switch v.way {
	case "http":
		r := v.http.request(method, params)
		if r.StatusCode == http.StatusForbidden {
			return body(g.T, r), nil, true
		}
		m = v.http.frames(r, nil)
	case "modern":
		r := v.modern.once(method, with+`"_meta":{`+info+`}}`)
		if r.StatusCode == http.StatusForbidden {
			return body(g.T, r), nil, true
		}
		m, _ = v.modern.outcome(r, nil)
	default:
		if v.way == "modern stdio" {
			params = with + `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},` + info + `}}`
		}
		resp, failed := v.stdio.conn.Call(g.Context(), method, []byte(params))
		if failed != nil {
			g.Fatal(failed)
		}
		return string(resp.Result), resp.Err(), false
	}
	if m.Error != nil {
		return "", jsonrpc.ParseError(m.Error), false
	}
	return string(m.Result), nil, false
}

func (g *gallery) amiss(v *seer, format string, args ...any) {
	g.Helper()
	sets := ""
	for name, s := range g.sets {
		sets += fmt.Sprintf(" %s: %+v", name, *s)
	}
	g.Fatalf("%s %s %+v: %s\ntoolsets:%s, clients %v, project %v, choice %v\nrules: %+v", v.way, v.Principal, v.said, fmt.Sprintf(format, args...), sets, g.clients, g.project, g.choice, g.rules)
}

// names returns what stands on a list, but for the hub's own tools.
func names(list, key string) string {
	out := ""
	for rest := list; ; {
		_, after, found := strings.Cut(rest, `"`+key+`":"`)
		if !found {
			return out
		}
		name, _, _ := strings.Cut(after, `"`)
		if strings.Contains(name, "__") || strings.Contains(name, "note://") {
			out += name + " "
		}
		rest = after
	}
}

// look checks one thing about a session.
func (g *gallery) look(v *seer) {
	if g.refuses(v) {
		said, err, refused := g.ask(v, "tools/list", `{}`)
		if !refused || !strings.Contains(said, "toolset") {
			g.amiss(v, "it is not refused: %s %v", said, err)
		}
		g.done["refused, "+v.way]++
		return
	}
	server, tool := pick(g.random, galleryKids), pick(g.random, crowdTools)
	switch g.random.IntN(6) {
	case 0:
		for k, list := range []struct{ method, key string }{{"tools/list", "name"}, {"prompts/list", "name"}, {"resources/list", "uri"}} {
			got, err, _ := g.ask(v, list.method, `{}`)
			if want := g.listed(v)[k]; err != nil || names(got, list.key) != want {
				g.amiss(v, "%s: %s, want %s; %v", list.method, names(got, list.key), want, err)
			}
		}
		g.done["lists, "+v.way]++
	case 1:
		got, err, _ := g.ask(v, "tools/call", toolCall("list-tools", `{}`))
		want := g.shows(v, "any", server, "") && !g.withheld(&v.somebody, server)
		if err != nil || strings.Contains(got, `"name":"`+server+`"`) != want {
			g.amiss(v, "%s is told about: %v, want %v; %v %s", server, !want, want, err, got)
		}
	case 2:
		got, err, _ := g.ask(v, "tools/call", toolCall("find-tools", fmt.Sprintf(`{"query":%q,"limit":20}`, tool)))
		if want := g.open(v, "tool", server, tool, tool); err != nil || strings.Contains(got, server+"__"+tool) != want {
			g.amiss(v, "%s__%s is found: %v, want %v; %v %s", server, tool, !want, want, err, got)
		}
	case 3:
		g.rest(v, server)
	default:
		byName := g.random.IntN(2) == 0
		call := func(server, tool string) string {
			if byName {
				return toolCall(server+"__"+tool, `{}`)
			}
			return toolCall("call-tool", fmt.Sprintf(`{"serverName":%q,"toolName":%q,"toolArgs":{}}`, server, tool))
		}
		g.use(v, "tool", server, tool, tool, func(server, tool string) (string, string) { return "tools/call", call(server, tool) })
	}
}

// rest checks all about what is no tool.
func (g *gallery) rest(v *seer, server string) {
	g.use(v, "prompt", server, "greet", "prompts/get", func(server, name string) (string, string) {
		return "prompts/get", `{"name":"` + server + "__" + name + `"}`
	})
	g.use(v, "prompt", server, "greet", "completion/complete", func(server, name string) (string, string) {
		return "completion/complete", `{"ref":{"type":"ref/prompt","name":"` + server + "__" + name + `"},"argument":{"name":"path","value":"x"}}`
	})
	methods := []string{"resources/read", "resources/subscribe"}
	if strings.HasPrefix(v.way, "modern") {
		methods = methods[:1]
	}
	for _, method := range methods {
		g.use(v, "rest", server, "note://1", method, func(server, uri string) (string, string) {
			return method, `{"uri":"mcphub://` + server + "/" + uri + `"}`
		})
	}
}

// use checks that something is served if a session sees it and no rule denies it. What is hidden is answered as a server, or a name, that is not
// there.
func (g *gallery) use(v *seer, kind, server, name, asked string, request func(server, name string) (method, params string)) {
	method, params := request(server, name)
	result, err, _ := g.ask(v, method, params)
	served := err == nil && !strings.Contains(result, `"isError":true`)
	shown := g.shows(v, kind, server, name)
	if kind == "rest" && !shown { // a URI of no server that is there may be anybody's: then that one is asked for all of it
		served = strings.Contains(result, `{\"uri\":\"note://1\"}`)
	}
	allowed := g.decides(&v.somebody, server, asked) == "allow"
	if served != (shown && allowed) {
		g.amiss(v, "%s %s is served: %v; shown %v, allowed %v; %v %s", method, params, served, shown, allowed, err, result)
	}
	g.done[fmt.Sprintf("%s, %s, shown %v", method, v.way, shown)]++
	if shown || g.withheld(&v.somebody, server) { // a rule that denies the whole server is told about names that may not be there
		return
	}
	other, otherName := server, "nothing"
	if !g.shows(v, "any", server, "") || kind == "rest" {
		other, otherName = "zero", name
	}
	method, params = request(other, otherName)
	unknown, why, _ := g.ask(v, method, params)
	if alike(result, err, server, name) != alike(unknown, why, other, otherName) {
		g.amiss(v, "%s %s/%s is answered with\n%s\nwant\n%s", method, server, name, alike(result, err, server, name), alike(unknown, why, other, otherName))
	}
}

// alike returns an answer without the names that were asked for.
func alike(result string, err *jsonrpc.Error, server, name string) string {
	text := result
	if err != nil {
		text = fmt.Sprintf("%d %s %s", err.Code, err.Message, err.Data)
	}
	for _, of := range []string{server + "__" + name, server + "/" + name} {
		text = strings.ReplaceAll(text, of, "IT")
	}
	return strings.ReplaceAll(strings.ReplaceAll(text, `server \"`+server+`\"`, "THAT"), `tool \"`+name+`\"`, "IT")
}

// galleries is how many hubs there are at a time.
const galleries = 4

// TestToolsetsProperty holds that a session is listed, finds, reads, subscribes to, completes and calls what its toolsets show and the rules
// allow, and nothing else; that the rest is answered as what is not there; and that a session is told when that changes: with random
// toolsets, rules and reloads, over stdio, attached and over HTTP, in both eras. MCPHUB_LONG_CASES says how many steps.
func TestToolsetsProperty(t *testing.T) {
	steps := seeds.Cases(t, 3000)
	var mu sync.Mutex
	done := map[string]int{}
	t.Run("galleries", func(t *testing.T) {
		for n := range galleries {
			t.Run(fmt.Sprint(n), func(t *testing.T) {
				t.Parallel()
				g := newGallery(t)
				for range steps / galleries {
					if g.random.IntN(40) == 0 {
						g.change()
					} else {
						g.look(pick(g.random, g.seers))
					}
				}
				mu.Lock()
				defer mu.Unlock()
				for what, n := range g.done {
					done[what] += n
				}
			})
		}
	})
	for _, what := range []string{
		"list_changed, stdio", "list_changed, attached", "refused, http", "refused, modern", "lists, stdio", "lists, modern stdio", "lists, attached", "lists, http", "lists, modern",
		"tools/call, stdio, shown false", "tools/call, modern, shown false", "tools/call, http, shown true", "resources/read, modern stdio, shown false", "resources/subscribe, http, shown false",
		"prompts/get, attached, shown false", "completion/complete, modern, shown false",
	} {
		if done[what] == 0 && !t.Failed() {
			t.Errorf("nothing of %q was done: %v", what, done)
		}
	}
	t.Logf("%d steps: %v", steps, done)
}
