package hub

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"mcphub/children"
	"mcphub/children/launch"
	"mcphub/children/link"
	"mcphub/children/spec"
	"mcphub/e2e/bounds"
	"mcphub/e2e/childtest"
	"mcphub/hub/httpfront/admission"
	"mcphub/hub/toolset"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/principal"
)

// lives are the starts and ends of servers.
type lives struct {
	children.Launcher
	ends   chan string
	mu     sync.Mutex
	starts []string
}

func (l *lives) Launch(of launch.Launch, s spec.Spec, h jsonrpc.Handler, log zerolog.Logger) (link.ChildConnection, error) {
	l.mu.Lock()
	l.starts = append(l.starts, s.Name)
	l.mu.Unlock()
	run, err := l.Launcher.Launch(of, s, h, log)
	if err != nil {
		return nil, err
	}
	return life{run, l, s.Name}, nil
}

// started returns the servers that were started since the last look, in order.
func (l *lives) started() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := strings.Join(slices.Sorted(slices.Values(l.starts)), " ")
	l.starts = nil
	return all
}

type life struct {
	link.ChildConnection
	of   *lives
	name string
}

func (l life) Run(ctx context.Context) error {
	defer func() { l.of.ends <- l.name }()
	return l.ChildConnection.Run(ctx)
}

// withSets returns a Config with toolsets.
func withSets(cfg Config, sets ...toolset.Set) Config {
	cfg.Toolsets = &toolset.Table{Sets: sets, Clients: map[string][]string{"codex": {"b"}}}
	return cfg
}

// A server that no toolset of a session shows is not started. A reload starts and stops only what differs, and tells the client. Control: a
// session without toolsets starts the rest.
func TestToolsetsDecideWhatIsStarted(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t, scripted("one", childtest.Script{}), scripted("two", childtest.Script{}), scripted("three", childtest.Script{}))
	all := &lives{Launcher: childtest.Pipes{}, ends: make(chan string, 100)}
	cfg.Launcher = all
	h := runHub(t, withSets(cfg, toolset.Set{Name: "a", Servers: []string{"one"}, Tools: []toolset.Pattern{{Server: "two", Name: "echo"}}}))
	c := openIn(t, h, Surroundings{Toolsets: []string{"a"}})
	c.handshake(`{}`)
	want := func(listed, started string) {
		t.Helper()
		got := ""
		for _, name := range []string{"one__env", "two__env", "two__echo", "three__env"} {
			if strings.Contains(c.raw("tools/list", `{}`), `"`+name+`"`) {
				got += name + " "
			}
		}
		if starts := all.started(); got != listed || starts != started {
			t.Fatalf("listed %q, want %q; started %q, want %q", got, listed, starts, started)
		}
	}
	want("one__env two__echo ", "one two")
	reload := func(sets ...toolset.Set) {
		t.Helper()
		drain(c.notes)
		if _, err := h.Apply(t.Context(), withSets(cfg, sets...)); err != nil {
			t.Fatal(err)
		}
		awaitNotes(t, c, "notifications/tools/list_changed")
	}
	ended := func(name string) {
		t.Helper()
		select {
		case got := <-all.ends:
			if got != name {
				t.Fatalf("%s has ended, want %s", got, name)
			}
		case <-time.After(bounds.Patience):
			t.Fatalf("%s does not end", name)
		}
	}
	reload(toolset.Set{Name: "a", Servers: []string{"one", "two"}})
	want("one__env two__env two__echo ", "")
	reload(toolset.Set{Name: "a", Servers: []string{"two"}, Tools: []toolset.Pattern{{Server: "three", Name: "e*"}}})
	ended("one")
	want("two__env two__echo three__env ", "three")
	// The toolset is gone: nothing is left, and nothing more is shown.
	reload(toolset.Set{Name: "b", Servers: []string{"one"}})
	for range 2 {
		select {
		case <-all.ends:
		case <-time.After(bounds.Patience):
			t.Fatal("a server that nobody sees goes on")
		}
	}
	want("", "")
	other := connectAs(t, h, principal.User())
	for _, name := range []string{"one", "two", "three"} {
		other.raw("tools/call", toolCall(name+"__echo", `{}`))
	}
	if got := all.started(); got != "one three two" {
		t.Errorf("started %q", got)
	}
}

// Of a server of which a toolset shows some tools alone there is nothing else: no extension, no skill, no prompt, no resource by any name, and not what it
// says about itself. Control: the whole server.
func TestAServerOfSomeTools(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t, scripted("two", childtest.Script{Library: true}), scripted("able", childtest.Script{Offers: `{"extensions":{"com.example/own":{}}}`}),
		scripted("skilled", childtest.Script{Skills: map[string]string{"skill://demo/SKILL.md": "---\nname: demo\ndescription: d\n---\n"}}))
	cfg.Launcher = childtest.Pipes{}
	for _, whole := range []bool{true, false} {
		set := toolset.Set{Name: "a", Servers: []string{"two", "able", "skilled"}, Instructions: "Words of the toolset."}
		if !whole {
			set.Servers, set.Tools = nil, []toolset.Pattern{{Server: "*", Name: "e*"}}
		}
		h := runHub(t, withSets(cfg, set))
		openIn(t, h, Surroundings{Toolsets: []string{"a"}}).handshake(`{}`) // from then on it is known what it offers
		first := openIn(t, h, Surroundings{Toolsets: []string{"a"}})
		first.handshake(`{}`)
		first.raw("tools/list", `{}`)
		c := openIn(t, h, Surroundings{Toolsets: []string{"a"}})
		if said := c.handshake(`{}`); !strings.Contains(said, "Words of the toolset.") {
			t.Errorf("instructions in %s", said)
		}
		for method, params := range map[string]string{
			"prompts/get": `{"name":"two__greet"}`, "resources/read": `{"uri":"note://1"}`, "skills/list": `{}`, "com.example/own": `{}`, "resources/subscribe": `{"uri":"note://1"}`,
			"completion/complete": `{"ref":{"type":"ref/resource","uri":"mcphub://two/note://{id}"},"argument":{"name":"id","value":"x"}}`,
		} {
			c.raw("tools/list", `{}`)
			resp, err := c.conn.Call(t.Context(), method, []byte(params))
			if err != nil {
				t.Fatal(err)
			}
			if served := resp.Err() == nil; served != whole {
				t.Errorf("whole %v: %s is served: %v; %s %v", whole, method, served, resp.Result, resp.Err())
			}
		}
		for _, method := range []string{"prompts/list", "resources/list", "resources/templates/list"} {
			if got := c.raw(method, `{}`); strings.Contains(got, "two") != (whole && method == "prompts/list") && strings.Contains(got, "note://") != whole {
				t.Errorf("whole %v: %s is %s", whole, method, got)
			}
		}
		if got := c.raw("tools/call", toolCall("two__echo", `{"x":1}`)); !strings.Contains(got, `"x":1`) {
			t.Errorf("whole %v: echo answers %s", whole, got)
		}
	}
}

// A client whose name chooses toolsets that its token may not have is refused when it says initialize, and no session is made. Metadata for an
// authorization server are there for each toolset, with the same resource, and whether there is such a toolset they do not tell.
func TestToolsetsOfATokenOverHTTP(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t, scriptedAll("one"), scriptedAll("two"))
	cfg.Launcher = childtest.Pipes{}
	h := runHub(t, withSets(cfg, toolset.Set{Name: "a", Servers: []string{"one"}}, toolset.Set{Name: "b", Servers: []string{"two"}}))
	w := serveWeb(t, h, HTTPOptions{Tokens: []Token{{Name: "alice", Secret: "secret of alice", Toolsets: []string{"a"}}}, Resource: &Resource{
		URL: "https://hub.example/mcp", Issuers: []string{"https://login.example"}, Basis: func(admission.Caller) string { return "dave" },
		Verify: func(context.Context, string) (admission.Caller, error) {
			return admission.Caller{Principal: principal.Principal{Name: "dave"}, Toolsets: toolset.Claim{Bound: []string{}}, Named: []string{}}, nil
		},
	}})
	initialize := func(path, client, secret string) (int, string) {
		t.Helper()
		at := *w
		at.url += path
		r := at.do("POST", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"`+client+`","version":"1"}}}`, "Authorization", "Bearer "+secret)
		return r.StatusCode, body(t, r)
	}
	for _, tc := range []struct {
		path, client, secret string
		want                 int
	}{
		{"", "cursor", "secret of alice", http.StatusOK}, {"/a", "codex", "secret of alice", http.StatusOK}, {"/a/", "x", "secret of alice", http.StatusOK},
		{"", "codex", "secret of alice", http.StatusForbidden}, {"/b", "x", "secret of alice", http.StatusForbidden}, {"/c", "x", "secret of alice", http.StatusForbidden},
		{"", "x", "a token of dave", http.StatusForbidden}, {"/a", "x", "a token of dave", http.StatusForbidden}, // no value of his token has a toolset
	} {
		if status, said := initialize(tc.path, tc.client, tc.secret); status != tc.want || tc.want == http.StatusForbidden && !strings.Contains(said, "toolset") {
			t.Errorf("%+v: %d %s", tc, status, said)
		}
	}
	_, there := initialize("/b", "x", "secret of alice")
	_, gone := initialize("/z", "x", "secret of alice")
	if strings.ReplaceAll(there, `"b`, `"z`) != strings.ReplaceAll(gone, `"b`, `"z`) && strings.ReplaceAll(there, `\"b\"`, `\"z\"`) != gone {
		t.Errorf("a toolset that is there is refused with\n%s\nand another one with\n%s", there, gone)
	}
	base := *w
	base.url = strings.TrimSuffix(base.url, "/mcp") + "/.well-known/oauth-protected-resource/mcp"
	for path, want := range map[string]int{"": 200, "/a": 200, "/nothing": 200, "/a/b": 404, "/..": 404} {
		at := base
		at.url += path
		r := at.do("GET", "")
		if said := body(t, r); r.StatusCode != want || want == 200 && !strings.Contains(said, `"https://hub.example/mcp"`) {
			t.Errorf("metadata at %q: %d %s", path, r.StatusCode, said)
		}
	}
}

// TestAWithheldToolOfOthersIsNotTold: a tool that a session's toolset excludes is answered alike whether it is well or withheld, by each of its
// names. Control: a session without a toolset is told why it is not offered, by each of its names.
func TestAWithheldToolOfOthersIsNotTold(t *testing.T) {
	answers := map[string][]string{}
	throughCallTool := func(name string) string {
		return toolCall("call-tool", `{"serverName":"kid","toolName":"`+name+`","toolArgs":{}}`)
	}
	for what, def := range map[string]string{"well": `{"name":"echo","inputSchema":{"type":"object"}}`, "withheld": brokenTool} {
		p := &past{t: t, defs: filepath.Join(t.TempDir(), "defs"), dir: filepath.Join(t.TempDir(), "catalogue"), work: t.TempDir()}
		p.define(def, `{"name":"change","inputSchema":{"type":"object"}}`)
		cfg := p.config(scripted("kid", childtest.Script{Defs: p.defs}))
		cfg.Children[0].Words.Rename = map[string]string{"echo": "keep"}
		h := runHub(t, withSets(cfg, toolset.Set{Name: "a", Servers: []string{"kid"}, Exclude: []toolset.Pattern{{Server: "kid", Name: "echo"}}}))
		in := openIn(t, h, Surroundings{Toolsets: []string{"a"}})
		in.handshake(`{}`)
		if list := in.raw("tools/list", `{}`); !strings.Contains(list, "kid__change") || strings.Contains(list, "keep") {
			t.Fatalf("%s: %s", what, list)
		}
		all := connect(t, h)
		all.handshake(`{}`)
		for _, name := range []string{"keep", "echo"} {
			answers[what] = append(answers[what], fmt.Sprint(in.refused("tools/call", toolCall("kid__"+name, `{}`))),
				in.raw("tools/call", throughCallTool(name)))
			if answer := all.raw("tools/call", throughCallTool(name)); strings.Contains(answer, "is not offered") != (what == "withheld") {
				t.Errorf("%s, without a toolset, call-tool %s: %s", what, name, answer)
			}
		}
	}
	for i, answer := range answers["withheld"] {
		if answer != answers["well"][i] {
			t.Errorf("an excluded tool is answered with\n%s\nif it is withheld, and with\n%s\nif it is well", answer, answers["well"][i])
		}
	}
}
