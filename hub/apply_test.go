package hub

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mcphub/children"
	"mcphub/children/offers"
	"mcphub/children/spec"
	"mcphub/e2e/childtest"
	"mcphub/hub/call"
	"mcphub/hub/configuration"
	"mcphub/hub/offering"
	"mcphub/hub/status"
	"mcphub/internal/callertoken"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/principal"
	"mcphub/rootsmgr"
	"mcphub/validate"
	"mcphub/validate/access"
	"mcphub/validate/declare"
)

func apply(t *testing.T, h *Hub, cfg Config) ReloadReport {
	t.Helper()
	a, err := h.Apply(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// other returns the spec with arguments that change nothing but that it is another.
func other(s spec.Spec, args ...string) spec.Spec {
	s.Args = args
	return s
}

func (c *testClient) awaitNote(method string) {
	c.t.Helper()
	for note := range c.notes {
		if note == method {
			return
		}
	}
}

func (c *testClient) listed(name string) bool {
	c.t.Helper()
	return strings.Contains(c.raw("tools/list", `{}`), fmt.Sprintf(`"name":%q`, name))
}

// pid returns which process of the child answers now.
func pid(t *testing.T, h *Hub, child string) int {
	t.Helper()
	for _, st := range h.sup.Status() {
		if st.Child == child && st.State == children.Ready {
			return st.PID
		}
	}
	t.Fatalf("%s is not ready: %v", child, h.sup.Status())
	return 0
}

const listChanged = "notifications/tools/list_changed"

func TestApplyAddsReplacesRemovesAndLeavesAlone(t *testing.T) {
	same, changes, goes := scripted("same", childtest.Script{}), scripted("changes", childtest.Script{}), scripted("goes", childtest.Script{})
	h := newTestHub(t, same, changes, goes)
	c := connect(t, h)
	c.handshake(`{}`)
	c.raw("tools/list", `{}`)
	before, changed := pid(t, h, "same"), pid(t, h, "changes")

	a := apply(t, h, testConfig(t, same, other(changes, "x"), scripted("comes", childtest.Script{})))
	if want := (ReloadReport{2, []string{"comes"}, []string{"changes"}, []string{"same"}, []string{"goes"}}); fmt.Sprint(a) != fmt.Sprint(want) {
		t.Errorf("%+v, want %+v", a, want)
	}
	c.awaitNote(listChanged)
	for name, want := range map[string]bool{"same__echo": true, "changes__echo": true, "comes__echo": true, "goes__echo": false} {
		if got := c.listed(name); got != want {
			t.Errorf("%s listed: %t", name, got)
		}
	}
	c.raw("tools/call", toolCall("comes__echo", `{}`))
	c.raw("tools/call", toolCall("changes__echo", `{}`))
	if e := c.refused("tools/call", toolCall("goes__echo", `{}`)); e.Code != jsonrpc.CodeInvalidParams {
		t.Error(e)
	}
	if now := pid(t, h, "same"); now != before {
		t.Errorf("the unchanged child was restarted: %d became %d", before, now)
	}
	if now := pid(t, h, "changes"); now == changed {
		t.Error("the changed child was not replaced")
	}
}

func TestApplyThatFailsChangesNothing(t *testing.T) {
	kid := scripted("kid", childtest.Script{})
	h := newTestHub(t, kid)
	c := connect(t, h)
	c.handshake(`{}`)
	c.raw("tools/list", `{}`)
	before, conf := pid(t, h, "kid"), h.currentConfiguration()
	noChecker := testConfig(t, other(kid, "x"))
	noChecker.Checker = nil
	twice := testConfig(t, other(kid, "x"))
	twice.Children = append(twice.Children, twice.Children[0])
	for _, cfg := range []Config{noChecker, twice} {
		if _, err := h.Apply(t.Context(), cfg); err == nil {
			t.Error("no error")
		}
	}
	if h.currentConfiguration() != conf || pid(t, h, "kid") != before {
		t.Error("something changed all the same")
	}
	c.raw("tools/call", toolCall("kid__echo", `{}`))
	ctx, cancel := context.WithCancelCause(context.Background())
	stop := errors.New("no time")
	cancel(stop)
	h.replacing <- struct{}{} // another Apply is at work
	if _, err := h.Apply(ctx, testConfig(t, kid)); !errors.Is(err, stop) {
		t.Error(err)
	}
	<-h.replacing
}

// TestApplyJudgesAnew changes only what calls are judged by, and the names of the tools: no process is touched.
func TestApplyJudgesAnew(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	kid := scripted("kid", childtest.Script{})
	h := newTestHub(t, kid)
	c := connect(t, h, root)
	c.handshake(`{"roots":{}}`)
	try := func(tool string) bool {
		_, bad := text(c.raw("tools/call", toolCall(tool, fmt.Sprintf(`{"path":%q}`, outside))))
		return !bad
	}
	if try("kid__echo") {
		t.Fatal("a path outside passed")
	}
	before := pid(t, h, "kid")
	cfg := testConfig(t, kid)
	var err error
	cfg.Checker, err = validate.NewChecker(validate.Config{Home: t.TempDir(), Children: []validate.ChildConfig{{
		Name: "kid", Args: map[string]map[string]declare.ArgRule{"*": {"/path": {Role: access.None}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	cfg.Children[0].Prefix, cfg.Children[0].Exclude = "", []string{"sleep"}
	apply(t, h, cfg)
	if !try("echo") {
		t.Error("the new rule does not count")
	}
	if c.listed("kid__echo") || !c.listed("echo") || c.listed("sleep") {
		t.Error("the new names and choice of tools do not count")
	}
	apply(t, h, testConfig(t, kid))
	if try("kid__echo") {
		t.Error("the rule that was taken away still counts")
	}
	if pid(t, h, "kid") != before {
		t.Error("the child was restarted")
	}
}

// TestACallIsNeverJudgedByOneAndRunByAnother holds a call back, in the judgement of the old generation, while another takes its
// place, with its child or without: it is looked up and judged again.
func TestACallIsNeverJudgedByOneAndRunByAnother(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	kid := scripted("kid", childtest.Script{})
	lax := testConfig(t, kid)
	var err error
	lax.Checker, err = validate.NewChecker(validate.Config{Home: t.TempDir(), Children: []validate.ChildConfig{{
		Name: "kid", Args: map[string]map[string]declare.ArgRule{"*": {"/path": {Role: access.None}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, replaced := range []bool{true, false} {
		h := runHub(t, lax)
		c := connect(t, h, root)
		c.handshake(`{"roots":{}}`)
		c.raw("tools/list", `{}`)
		list := sessionOfTest(h).Catalog()
		_, offered := sessionOfTest(h).StatusAndOffer("kid")
		tool := list.Named("kid__echo")
		next := kid
		if replaced {
			next = other(kid, "x")
		}
		apply(t, h, testConfig(t, next))
		c.raw("tools/call", toolCall("kid__echo", `{}`)) // the new one is there
		// What a call does that looked its tool up a moment before Apply.
		s := sessionOfTest(h)
		m := split(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":`+toolCall("kid__echo", fmt.Sprintf(`{"path":%q}`, outside))+`}`)
		answer, err := s.sender.CallTool(t.Context(), m, m.Param("name"), tool)
		if !errors.Is(err, configuration.ErrSuperseded) { // also where its child has stayed: what judges it has not
			t.Errorf("replaced %t: judged by what was in force before, answer %s", replaced, answer.Result)
		}
		answer.Free()
		if replaced {
			before := offering.New(list.Conf, &h.current, func(string) bool { return false })
			before.Take(&children.Status{Key: spec.Key{Child: "kid"}, State: children.Ready}, offered)
			stale := &call.Sender{
				MainClient: s.mainClient, Current: &h.current, Offering: before, Instances: s.assignedSession, RootsManager: s.roots, Approvals: s.approvals, Records: s.records, Progress: &h.progress, Log: s.log,
			}
			m := &jsonrpc.Message{Method: "tools/call", Params: []byte(toolCall("kid__echo", `{}`)), Members: []jsonrpc.Member{
				{Name: "name", Value: []byte(`"kid__echo"`)}, {Name: "arguments", Value: []byte(`{}`)}}}
			if stale.TryCallTool(m, s.mainClient, nil, true) {
				t.Error("the fast path sent it to the new one")
			}
		}
		if msg, bad := text(c.raw("tools/call", toolCall("kid__echo", fmt.Sprintf(`{"path":%q}`, outside)))); !bad {
			t.Errorf("a call made afterwards is judged by what was: %s", msg)
		}
	}
}

func sessionOfTest(h *Hub) *Session {
	for _, s := range h.sessions.Sessions() {
		return s
	}
	return nil
}

// TestListedWhileItIsReplaced: for the moment that it takes, the tools of the old one stay on the list, and a call waits.
func TestListedWhileItIsReplaced(t *testing.T) {
	play(t, []spec.Spec{scripted("kid", childtest.Script{})}, func(t *testing.T, h *Hub, s *stage) {
		c, _ := enter(t, h)
		c.handshake(`{}`)
		c.raw("tools/list", `{}`)
		cfg := testConfig(t, scripted("kid", childtest.Script{StartDelay: 400 * time.Millisecond, Pages: 1}))
		cfg.Launcher = s
		apply(t, h, cfg)
		list := sessionOfTest(h).Catalog()
		if list.Tool("kid__echo") != nil || list.ToolOf("kid", "echo") != nil || !strings.Contains(string(list.Pages(offers.Tools).At(nil).Result), "kid__echo") {
			t.Error("not listed, or a call would not wait")
		}
		if got := c.raw("tools/call", toolCall("kid__echo", `{"a":1}`)); !strings.Contains(got, `{"a":1}`) {
			t.Error(got)
		}
		c.awaitNote(listChanged)
		if !c.listed("kid__page2_0") {
			t.Error("the new list is not shown")
		}
	})
}

// TestRootsChangeAmidApply has a session serve new roots down at the moment when the hub knows of a child and the supervisor
// does not yet: it is started all the same.
func TestRootsChangeAmidApply(t *testing.T) {
	one, two := t.TempDir(), t.TempDir()
	kid := scripted("kid", childtest.Script{})
	h := newTestHub(t, kid)
	c := connect(t, h, one)
	c.handshake(`{"roots":{"listChanged":true}}`)
	c.raw("tools/list", `{}`)
	old := h.currentConfiguration()
	conf, err := configuration.New(testConfig(t, kid, scripted("late", childtest.Script{})), h.ownTools, old)
	if err != nil {
		t.Fatal(err)
	}
	h.sessions.Replace(map[*configuration.Current]*configuration.Configuration{&h.current: conf})
	updates := sessionOfTest(h).roots.Updates()
	c.setRoots(two)
	if err := c.conn.Notify(context.Background(), "notifications/roots/list_changed"); err != nil {
		t.Fatal(err)
	}
	<-updates
	for range 50 {
		c.raw("ping", `{}`)
	}
	h.sup.ApplySpecs(conf.Specs())
	conf.MarkFollowed(old)
	if got := c.raw("tools/call", toolCall("late__echo", `{"a":1}`)); !strings.Contains(got, `{"a":1}`) {
		t.Error(got)
	}
}

// TestReplacedButFailing: what stands on the list while a child is being replaced goes when the new one fails.
func TestReplacedButFailing(t *testing.T) {
	kid := scripted("kid", childtest.Script{})
	h := newTestHub(t, kid)
	c := connect(t, h)
	c.handshake(`{}`)
	if !c.listed("kid__echo") {
		t.Fatal("not listed")
	}
	apply(t, h, testConfig(t, scripted("kid", childtest.Script{Exit: 4})))
	c.awaitNote(listChanged)
	if c.listed("kid__echo") {
		t.Error("listed although its child cannot be started any more")
	}
	if msg, bad := text(c.raw("tools/call", toolCall("kid__echo", `{}`))); !bad || !strings.Contains(msg, "status 4") {
		t.Errorf("%t %s", bad, msg)
	}
	apply(t, h, testConfig(t, kid))
	c.raw("tools/call", toolCall("kid__echo", `{}`)) // waits for it
	c.awaitNote(listChanged)
	cfg := testConfig(t)
	cfg.Broken = []Broken{{Name: "kid", Prefix: "kid__", Reason: "hub.json:3:1: error: it is odd"}}
	apply(t, h, cfg)
	if msg, bad := text(c.raw("tools/call", toolCall("kid__echo", `{}`))); !bad || !strings.Contains(msg, "it is odd") {
		t.Errorf("%t %s", bad, msg)
	}
}

// TestSameToolsAreNoNews replaces a child by one that offers the same.
func TestSameToolsAreNoNews(t *testing.T) {
	kid := scripted("kid", childtest.Script{})
	h := newTestHub(t, kid)
	c := connect(t, h)
	c.handshake(`{}`)
	list := c.raw("tools/list", `{}`)
	apply(t, h, testConfig(t, other(kid, "x")))
	c.raw("tools/call", toolCall("kid__echo", `{}`))
	if got := c.raw("tools/list", `{}`); got != list {
		t.Errorf("the list became %s", got)
	}
	if len(c.notes) > 0 {
		t.Errorf("told of %s", <-c.notes)
	}
}

func TestApplyChangesTheTermsOfLivingSessions(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	kid := scripted("kid", childtest.Script{AskRoots: true})
	cfg := testConfig(t, kid)
	cfg.Roots.When = rootsmgr.NoRootsPolicy{}
	h := runHub(t, cfg)
	c := connect(t, h)
	c.handshake(`{}`)
	try := func(dir string) bool {
		_, bad := text(c.raw("tools/call", toolCall("kid__echo", fmt.Sprintf(`{"path":%q}`, filepath.Join(dir, "f")))))
		return !bad
	}
	if try(root) {
		t.Fatal("passed although nothing is known")
	}
	cfg.Roots.When.Unsupported = true
	apply(t, h, cfg)
	if !try(root) || !try(outside) {
		t.Error("roots.when does not count for a session that lives")
	}
	cfg.Fallback = rootsmgr.Fallback{Origin: rootsmgr.OriginConfig, Entries: []rootsmgr.RootEntry{{URI: root}}}
	apply(t, h, cfg)
	if !try(root) || try(outside) {
		t.Error("roots.fallback does not count for a session that lives")
	}
	if served, _ := text(c.raw("tools/call", toolCall("kid__roots", `{}`))); !strings.Contains(served, root) {
		t.Errorf("the child is served %s", served)
	}
}

// TestNoCallIsLost applies one configuration after the other while calls run all the time.
func TestNoCallIsLost(t *testing.T) {
	root := t.TempDir()
	same, kid := scripted("same", childtest.Script{}), scripted("kid", childtest.Script{AskRoots: true})
	h := newTestHub(t, same, kid)
	c := connect(t, h, root)
	c.handshake(`{"roots":{}}`)
	c.raw("tools/list", `{}`)
	before := pid(t, h, "same")
	stop := make(chan struct{})
	var wg sync.WaitGroup
	var mu sync.Mutex
	var bad []string
	for i := range 4 {
		wg.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				args := fmt.Sprintf(`{"n":%d}`, n)
				if n%2 == 0 {
					args = fmt.Sprintf(`{"n":%d,"path":%q}`, n, root)
				}
				name := []string{"same__echo", "kid__echo"}[(n+i)%2]
				got := c.raw("tools/call", toolCall(name, args))
				if s := string(jsonrpc.Get([]byte(got), "structuredContent")); s != args {
					mu.Lock()
					bad = append(bad, name+" "+args+": "+got)
					mu.Unlock()
				}
			}
		})
	}
	for i := range 15 {
		now := kid
		if i%3 > 0 {
			now = other(kid, fmt.Sprint(i))
		}
		cfg := testConfig(t, same, now)
		if i%2 > 0 {
			slices.Reverse(cfg.Children)
		}
		apply(t, h, cfg)
		if i%4 == 0 {
			c.raw("tools/call", toolCall("kid__echo", `{}`))
		}
	}
	close(stop)
	wg.Wait()
	if len(bad) > 0 {
		t.Errorf("%d calls lost, the first: %s", len(bad), bad[0])
	}
	if pid(t, h, "same") != before {
		t.Error("the unchanged child was restarted")
	}
}

func TestConfigStateIsShown(t *testing.T) {
	h := newTestHub(t)
	c := connect(t, h)
	c.handshake(`{}`)
	if got := c.raw("tools/call", toolCall("get-roots", `{}`)); strings.Contains(got, "loadedAt") {
		t.Error(got)
	}
	h.SetConfigState(status.Config{File: "/etc/hub.json", LastError: "hub.json:3:1: error: odd"})
	got := jsonrpc.Get(jsonrpc.Get([]byte(c.raw("tools/call", toolCall("get-roots", `{}`))), "structuredContent"), "config")
	if s, _ := jsonrpc.String(jsonrpc.Get(got, "lastError")); s != "hub.json:3:1: error: odd" {
		t.Errorf("%s", got)
	}
}

// TestApplyWantsTokens: the tokens of callers are held while some server needs them, by the configuration in force, and forgotten when none
// does.
func TestApplyWantsTokens(t *testing.T) {
	t.Parallel()
	table, who := callertoken.New(), principal.Principal{Name: "alice", Issuer: "https://login.example"}
	exchanges := spec.Spec{Name: "far", URL: "https://mcp.example/mcp", Auth: spec.Auth{Asked: true, Exchange: true, ClientID: "hub"}}
	cfg := testConfig(t)
	cfg.Callers = table
	h, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	session := table.NewHolder(who, who.Key())
	for i, specs := range [][]spec.Spec{nil, {exchanges}, nil} {
		if i > 0 {
			apply(t, h, testConfig(t, specs...))
		}
		if _, held := table.NewestToken(who.Key()); held {
			t.Errorf("%d: held before it was shown again", i)
		}
		session.KeepToken("token", time.Now().Add(time.Hour))
		if _, held := table.NewestToken(who.Key()); held != (specs != nil) {
			t.Errorf("%d: held: %t", i, held)
		}
	}
}
