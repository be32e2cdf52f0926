package hub

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mcphub/children/spec"
	"mcphub/e2e/bounds"
	"mcphub/e2e/childtest"
	"mcphub/e2e/seeds"
	"mcphub/hub/httpfront/admission"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/principal"
	"mcphub/validate/policy"
)

// crowd is a hub, and people who are served by it in every way that there is.
type crowd struct {
	*testing.T
	h      *Hub
	cfg    Config
	rules  []policy.Rule
	people []*somebody
	random *rand.Rand
	done   map[string]int
}

// somebody is one principal. Of http and modern, who has no token has none.
type somebody struct {
	principal.Principal
	stdio  *testClient
	http   *webClient
	modern *modernWeb
}

// connectAs opens a session of someone over stdio, and shakes hands.
func connectAs(t testing.TB, h *Hub, who principal.Principal) *testClient {
	t.Helper()
	c := openAs(t, h, who)
	c.handshake(`{}`)
	return c
}

// openAs opens a session of someone over stdio.
func openAs(t testing.TB, h *Hub, who principal.Principal) *testClient {
	t.Helper()
	return openIn(t, h, Surroundings{Impersonate: &Impersonation{Principal: who}})
}

// newCrowd starts them.
func newCrowd(t *testing.T) *crowd {
	cfg := testConfig(t, scriptedAll("one"), scriptedAll("two"))
	cfg.AllowWithoutRoots = true // this is about rules
	cfg.Inspect, cfg.Launcher = true, childtest.Pipes{}
	c := &crowd{T: t, cfg: cfg, random: seeds.Rand(t), done: map[string]int{}}
	c.h = runHub(t, under(t, cfg, policy.Policy{}))
	const issuer = "https://login.example"
	tokens := []Token{{Name: "alice", Groups: []string{"dev"}}, {Name: "bob", Groups: []string{"dev", "ops"}}, {Name: "carol"}}
	for i := range tokens {
		tokens[i].Secret = "secret of " + tokens[i].Name
		c.people = append(c.people, &somebody{Principal: principal.Principal{Name: tokens[i].Name, Groups: tokens[i].Groups}})
	}
	dave := principal.Principal{Name: "dave", Issuer: issuer, Groups: []string{"ops"}}
	c.people = append(c.people, &somebody{Principal: dave}, &somebody{Principal: principal.User()}, &somebody{})
	w := serveWeb(t, c.h, HTTPOptions{Tokens: tokens, Resource: &Resource{URL: "https://hub.example/mcp", Issuers: []string{issuer}, Verify: func(_ context.Context, token string) (admission.Caller, error) {
		if token != "secret of dave" {
			return admission.Caller{}, errors.New("it is not valid")
		}
		return admission.Caller{Principal: dave}, nil
	}, Basis: func(admission.Caller) string { return "dave" }}})
	for _, p := range c.people {
		p.stdio = connectAs(t, c.h, p.Principal)
		if p.Name == "" {
			continue
		}
		secret := "secret of " + p.Name
		p.http = w.initialize(`{}`, "Authorization", "Bearer "+secret).initialized()
		p.modern = w.modern(secret)
	}
	return c
}

// scriptedAll returns a server that all share.
func scriptedAll(name string) spec.Spec {
	s := scripted(name, childtest.Script{Library: true})
	s.Share = spec.ShareAll
	return s
}

var (
	crowdTools = []string{"echo", "allowed", "env"}
	crowdNames = []string{"alice", "bob", "carol", "*", "dave@login.example", "*@login.example", "local", "nobody", "[ab]*", "mallory"}
)

func pick[T any](r *rand.Rand, all []T) T { return all[r.IntN(len(all))] }

// some returns a few of all, or none.
func some(r *rand.Rand, all []string) (out []string) {
	for range max(0, r.IntN(5)-2) {
		out = append(out, pick(r, all))
	}
	return out
}

// reload puts other rules in force, and waits until everybody whose lists have changed has been told.
func (c *crowd) reload() {
	c.Helper()
	before := map[*somebody][3]string{}
	for _, p := range c.people {
		before[p] = c.lists(p)
		for _, method := range []string{"tools/list", "prompts/list", "resources/list"} { // who has seen a list is told about another
			p.stdio.raw(method, `{}`)
		}
		drain(p.stdio.notes)
	}
	c.rules = nil
	for i := range c.random.IntN(6) {
		r := policy.Rule{
			Name: fmt.Sprintf("rule %d", i), Then: policy.Decision(c.random.IntN(3)),
			People:  policy.People{Principals: some(c.random, crowdNames), Groups: some(c.random, []string{"dev", "ops", "o*", "none"})},
			Servers: some(c.random, []string{"one", "two", "*"}), Tools: some(c.random, append([]string{"*", "prompts/get", "resources/*", "completion/complete", "e*"}, crowdTools...)),
		}
		c.rules = append(c.rules, r)
	}
	if _, err := c.h.Apply(c.Context(), under(c.T, c.cfg, policy.Policy{Rules: c.rules})); err != nil {
		c.Fatal(err)
	}
	for _, p := range c.people {
		now := c.lists(p)
		var due []string
		for k, method := range []string{"notifications/tools/list_changed", "notifications/prompts/list_changed", "notifications/resources/list_changed"} {
			if now[k] != before[p][k] {
				c.done["list_changed"]++
				due = append(due, method)
			}
		}
		awaitNotes(c.T, p.stdio, due...)
	}
}

func drain(notes chan string) {
	for {
		select {
		case <-notes:
		default:
			return
		}
	}
}

// awaitNotes waits until a client was told by all of these methods, in any order.
func awaitNotes(t *testing.T, c *testClient, methods ...string) {
	t.Helper()
	late := time.After(bounds.Patience)
	for len(methods) > 0 {
		select {
		case n := <-c.notes:
			methods = slices.DeleteFunc(methods, func(method string) bool { return strings.Contains(n, method) })
		case <-late:
			t.Fatalf("a list has changed, and nobody was told by %s", methods)
		}
	}
}

// lists returns what the tests of the model say that someone is shown, of each kind.
func (c *crowd) lists(p *somebody) (out [3]string) {
	for _, server := range []string{"one", "two"} {
		for _, tool := range crowdTools {
			if c.decides(p, server, tool) != "deny" {
				out[0] += server + tool + " "
			}
		}
		if c.decides(p, server, "prompts/get") != "deny" {
			out[1] += server + " "
		}
		if c.decides(p, server, "resources/read") != "deny" { // those of both are alike, but for the URI
			out[2] += c.uri(p, server) + " "
		}
	}
	return out
}

// fits reports whether one of some patterns is for a name, in few words.
func fits(patterns []string, name string) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(g string) bool {
		switch {
		case g == "[ab]*":
			return strings.HasPrefix(name, "a") || strings.HasPrefix(name, "b")
		case strings.HasPrefix(g, "*"):
			return strings.HasSuffix(name, g[1:])
		case strings.HasSuffix(g, "*"):
			return strings.HasPrefix(name, g[:len(g)-1])
		}
		return g == name
	})
}

// says returns what a rule says to someone; "" if it is not for them.
func (p *somebody) says(r *policy.Rule) string {
	named := len(r.Principals) > 0 || len(r.Groups) > 0
	if named && !p.Local && p.Name == "" { // no one
		if r.Then != policy.Allow {
			return "deny"
		}
		return ""
	}
	name := cmp.Or(p.Name, "local")
	if p.Issuer != "" {
		name += "@login.example"
	}
	if fits(r.Principals, name) && (len(r.Groups) == 0 || slices.ContainsFunc(p.Groups, func(g string) bool { return fits(r.Groups, g) })) {
		return r.Then.String()
	}
	return ""
}

// decides returns what the rules say about a call: the first that is about it.
func (c *crowd) decides(p *somebody, server, tool string) string {
	for _, r := range c.rules {
		if then := p.says(&r); then != "" && fits(r.Servers, server) && fits(r.Tools, tool) {
			return then
		}
	}
	return "allow"
}

// withheld reports whether the rules deny all of a server: the first that is about any of it denies, or the ones that follow
// do, up to one that is about all.
func (c *crowd) withheld(p *somebody, server string) bool {
	for _, r := range c.rules {
		switch then := p.says(&r); {
		case then == "" || !fits(r.Servers, server):
		case then != "deny":
			return false
		case len(r.Tools) == 0 || slices.Contains(r.Tools, "*"):
			return true
		}
	}
	return false
}

// asks makes a request of someone on a front of the era that it says, and returns the result, or an error.
func (c *crowd) asks(p *somebody, method, params string) (result string, way string, err *jsonrpc.Error) {
	c.Helper()
	ways := []string{"stdio"}
	if p.http != nil {
		ways = append(ways, "http", "modern")
	}
	if method == "resources/subscribe" {
		ways = slices.DeleteFunc(ways, func(w string) bool { return w == "modern" })
	}
	switch way = pick(c.random, ways); way {
	case "http":
		m := p.http.frames(p.http.request(method, params), nil)
		if m.Error != nil {
			return "", way, jsonrpc.ParseError(m.Error)
		}
		return string(m.Result), way, nil
	case "modern":
		m := p.modern.request(method, params, nil)
		if m.Error != nil {
			return "", way, jsonrpc.ParseError(m.Error)
		}
		return string(m.Result), way, nil
	}
	resp, failed := p.stdio.conn.Call(c.Context(), method, []byte(params))
	if failed != nil {
		c.Fatal(failed)
	}
	return string(resp.Result), way, resp.Err()
}

func (c *crowd) wrong(p *somebody, format string, args ...any) {
	c.Helper()
	c.Fatalf("%s in %v: %s\nrules: %+v", p, p.Groups, fmt.Sprintf(format, args...), c.rules)
}

// tool checks all about one tool.
func (c *crowd) tool(p *somebody) {
	server, tool := pick(c.random, []string{"one", "two"}), pick(c.random, crowdTools)
	want, name := c.decides(p, server, tool), server+"__"+tool
	switch c.random.IntN(5) {
	case 4:
		shown, way, err := c.asks(p, "tools/call", toolCall("list-tools", `{}`))
		withheld := c.withheld(p, server)
		if has := strings.Contains(shown, `"name":"`+server+`"`); err != nil || has == withheld {
			c.wrong(p, "%s: %s is shown: %v, and the rules withhold it: %v; %v %s", way, server, has, withheld, err, shown)
		}
		c.done[fmt.Sprintf("shown, withheld %v", withheld)]++
	case 0:
		resp, err := p.stdio.conn.Call(c.Context(), MethodExplain, []byte(toolCall(name, `{}`)))
		if err != nil || resp.Err() != nil {
			c.Fatal(err, resp)
		}
		if got, _ := jsonrpc.String(jsonrpc.Get(resp.Result, "decision")); got != want {
			c.wrong(p, "explain says %s of %s, want %s", got, name, want)
		}
		c.done["explain "+want]++
	case 1:
		list, way, err := c.asks(p, "tools/list", `{}`)
		if listed := strings.Contains(list, `"`+name+`"`); err != nil || listed != (want != "deny") {
			c.wrong(p, "%s: %s is listed: %v, and the rules say %s; %v", way, name, listed, want, err)
		}
		c.done["list, "+way]++
	case 2:
		found, way, err := c.asks(p, "tools/call", toolCall("find-tools", fmt.Sprintf(`{"query":%q,"limit":20}`, tool)))
		if has := strings.Contains(found, name); err != nil || has != (want != "deny") {
			c.wrong(p, "%s: %s is found: %v, and the rules say %s; %v %s", way, name, has, want, err, found)
		}
		c.done["find, "+way]++
	default:
		params := toolCall(name, `{}`)
		if c.random.IntN(3) == 0 {
			params = toolCall("call-tool", fmt.Sprintf(`{"serverName":%q,"toolName":%q,"arguments":{}}`, server, tool))
		}
		result, way, err := c.asks(p, "tools/call", params)
		if called := err == nil && !strings.Contains(result, `"isError":true`); called != (want == "allow") {
			c.wrong(p, "%s: %s is called: %v, and the rules say %s; %v %s", way, params, called, want, err, result)
		}
		c.done["call, "+way+", "+want]++
	}
}

// uri returns the URI of the resource of a server, as someone knows it: of two that are called alike the second one's names its
// server, and what is withheld is no first one.
func (c *crowd) uri(p *somebody, server string) string {
	if (server == "two") == c.withheld(p, "one") {
		return "note://1"
	}
	return "mcphub://" + server + "/note://1"
}

// item checks all about what is no tool.
func (c *crowd) item(p *somebody) {
	server := pick(c.random, []string{"one", "two"})
	prompt, uri := server+"__greet", c.uri(p, server)
	for _, one := range []struct{ list, entry, use, params string }{
		{"prompts/list", prompt, "prompts/get", `{"name":"` + prompt + `"}`},
		{"resources/list", uri, "resources/read", `{"uri":"` + uri + `"}`},
		{"", "", "resources/subscribe", `{"uri":"` + uri + `"}`},
		{"", "", "completion/complete", `{"ref":{"type":"ref/prompt","name":"` + prompt + `"},"argument":{"name":"path","value":"x"}}`},
	} {
		want := c.decides(p, server, one.use)
		if one.list != "" {
			list, way, err := c.asks(p, one.list, `{}`)
			if listed := strings.Contains(list, `"`+one.entry+`"`); err != nil || listed != (want != "deny") {
				c.wrong(p, "%s: %s of %s: %v, and the rules say %s; %v %s", way, one.list, one.entry, listed, want, err, list)
			}
			c.done[one.list+", "+way]++
		}
		result, way, err := c.asks(p, one.use, one.params)
		if (err == nil) != (want == "allow") {
			c.wrong(p, "%s: %s %s, and the rules say %s; %v %s", way, one.use, one.params, want, err, result)
		}
		c.done[one.use+", "+want]++
	}
}

// crowds is how many hubs with people there are at a time: most of the time of one goes by waiting until news of a list are told.
const crowds = 6

// TestPeopleProperty holds that whom rules are for is listed, finds, reads, subscribes to and calls what explain allows, and nothing
// else: with random rules, people and reloads, over stdio and HTTP, in both eras. MCPHUB_LONG_CASES says how many steps.
func TestPeopleProperty(t *testing.T) {
	steps := seeds.Cases(t, 3000)
	var mu sync.Mutex
	done := map[string]int{}
	t.Run("crowds", func(t *testing.T) {
		for n := range crowds {
			t.Run(fmt.Sprint(n), func(t *testing.T) {
				t.Parallel()
				c := newCrowd(t)
				for n := range steps / crowds {
					if c.step(); n%10_000 == 9_999 {
						t.Logf("%d steps", n+1)
					}
				}
				mu.Lock()
				defer mu.Unlock()
				for what, n := range c.done {
					done[what] += n
				}
			})
		}
	})
	for _, what := range []string{"list_changed", "explain deny", "explain allow", "explain escalate", "list, modern", "find, http", "call, modern, deny", "call, http, allow", "call, stdio, escalate", "resources/subscribe, deny", "shown, withheld true", "prompts/get, deny"} {
		if done[what] == 0 && !t.Failed() {
			t.Errorf("nothing of %q was done: %v", what, done)
		}
	}
	t.Logf("%d steps: %v", steps, done)
}

// step checks one thing about someone, or reloads.
func (c *crowd) step() {
	switch n := c.random.IntN(40); {
	case n == 0:
		c.reload()
	case n < 8:
		c.item(pick(c.random, c.people))
	default:
		c.tool(pick(c.random, c.people))
	}
}
