package hub

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mcphub/children/spec"
	"mcphub/e2e/childtest"
	"mcphub/hub/approval"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
	"mcphub/rootsmgr/guard"
	"mcphub/validate"
	"mcphub/validate/access"
	"mcphub/validate/declare"
	"mcphub/validate/policy"
)

// askedHub is a Hub with a policy that escalates, and a tree to call it about:
// root (the client's), open (a rule lets it be read), data and home (reading and
// writing them is asked about), never (a rule denies it), kept (protected).
type askedHub struct {
	*testing.T
	h    *Hub
	s    *stage
	base string
}

func (a *askedHub) at(names ...string) string {
	return filepath.Join(append([]string{a.base}, names...)...)
}

func write(t testing.TB, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// config makes the directories and returns the configuration of the Hub.
func (a *askedHub) config(specs []spec.Spec, change ...func(*Config, *validate.Config)) Config {
	a.Helper()
	base, err := filepath.EvalSymlinks(a.TempDir())
	if err != nil {
		a.Fatal(err)
	}
	a.base = base
	for _, name := range []string{"root/in.txt", "open/o.txt", "data/one/1.txt", "data/two/2.txt", "home/h.txt", "home/sub/s.txt", "never/n.txt", "kept/k.txt"} {
		write(a, a.at(filepath.FromSlash(name)))
	}
	cfg := testConfig(a, specs...)
	cfg.Home = a.at("home")
	judged := validate.Config{FS: guard.OS{}, Home: cfg.Home, Protected: []string{a.at("kept")}}
	for _, s := range specs {
		judged.Children = append(judged.Children, validate.ChildConfig{Name: s.Name, Command: s.Command, CommandArgs: s.Args, Args: map[string]map[string]declare.ArgRule{
			"*": {"/path": {Role: access.Read}, "/also": {Role: access.Read}, "/out": {Role: access.Write}, "/gone": {Role: access.Delete}},
		}})
	}
	judged.Policy.Rules = []policy.Rule{
		{Name: "never", Then: policy.Deny, Paths: &policy.PathRule{Within: a.at("never")}},
		{Name: "read-open", Then: policy.Allow, Paths: &policy.PathRule{Roles: []access.Role{access.Read}, Within: a.at("open")}},
		{Name: "deny-open", Then: policy.Deny, Paths: &policy.PathRule{Within: a.at("open")}},
		{Name: "ask", Then: policy.Escalate, Paths: &policy.PathRule{Outside: true}},
		{Name: "ask-env", Then: policy.Escalate, Tools: []string{"env"}},
	}
	cfg.Approval.Timeout = time.Minute
	for _, f := range change {
		f(&cfg, &judged)
	}
	if cfg.Checker, err = validate.NewChecker(judged); err != nil {
		a.Fatal(err)
	}
	return cfg
}

// approving runs a test in a time of its own.
func approving(t *testing.T, specs []spec.Spec, test func(a *askedHub), change ...func(*Config, *validate.Config)) {
	if runtime.GOOS == "windows" {
		t.Skip("these are paths of Unix")
	}
	if specs == nil {
		specs = []spec.Spec{played("kid", spec.ShareSession, childtest.Script{AskRoots: true})}
	}
	synctest.Test(t, func(t *testing.T) {
		a := &askedHub{T: t, s: newStage()}
		cfg := a.config(specs, change...)
		cfg.Launcher = a.s
		a.h = runHub(t, cfg)
		test(a)
	})
}

// A person answers the questions of a client and keeps them.
type person struct {
	mu    sync.Mutex
	texts []string
	seen  chan struct{} // one for each question
	// says answers; "" leaves the question standing.
	says func(ctx context.Context, m *jsonrpc.Message) string
}

const (
	yes     = `{"action":"accept","content":{"decision":"directory"}}`
	yesFile = `{"action":"accept","content":{"decision":"file"}}`
	no      = `{"action":"accept","content":{"decision":"deny"}}`
)

func saying(answer string) *person {
	return &person{seen: make(chan struct{}, 1000), says: func(context.Context, *jsonrpc.Message) string { return answer }}
}

func (p *person) ask(ctx context.Context, _ *testClient, m *jsonrpc.Message) jsonrpc.Answer {
	if m.Method != methods.Elicit {
		return jsonrpc.ErrorAnswer(jsonrpc.CodeMethodNotFound, m.Method)
	}
	message, _ := jsonrpc.String(m.Param("message"))
	p.mu.Lock()
	p.texts = append(p.texts, message)
	p.mu.Unlock()
	p.seen <- struct{}{}
	answer := p.says(ctx, m)
	if answer == "" {
		<-ctx.Done()
		return jsonrpc.Answer{}
	}
	if strings.HasPrefix(answer, "!") {
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInternal, answer[1:])
	}
	return jsonrpc.ResultAnswer([]byte(answer))
}

func (p *person) asked() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.texts)
}

const canAsk = `{"roots":{"listChanged":true},"elicitation":{}}`

// client enters a session whose questions p answers; nil: it cannot be asked.
func (a *askedHub) client(p *person) (*testClient, func()) {
	a.Helper()
	c, leave := enter(a.T, a.h, a.at("root"))
	caps := `{"roots":{"listChanged":true}}`
	if p != nil {
		c.asks, caps = p.ask, canAsk
	}
	c.handshake(caps)
	return c, leave
}

var tags struct {
	sync.Mutex
	n int
}

// try makes a call with a tag and tells what came back and whether the child
// saw it.
func (a *askedHub) try(c *testClient, tool, args string) (msg string, denied, reached bool) {
	a.Helper()
	tags.Lock()
	tags.n++
	tag := fmt.Sprintf("t%d", tags.n)
	tags.Unlock()
	args = fmt.Sprintf(`{"tag":%q,%s`, tag, strings.TrimPrefix(args, "{"))
	msg, denied = text(c.raw("tools/call", toolCall(tool, args)))
	return msg, denied, a.s.who(tag) != nil
}

// passes wants a call to reach the child, refused wants it not to, and a text.
func (a *askedHub) passes(c *testClient, tool, args string) {
	a.Helper()
	if msg, denied, reached := a.try(c, tool, args); denied || !reached {
		a.Errorf("%s %s: denied (reached %v): %s", tool, args, reached, msg)
	}
}

func (a *askedHub) refused(c *testClient, tool, args, want string) {
	a.Helper()
	msg, denied, reached := a.try(c, tool, args)
	if !denied || reached || !strings.Contains(msg, want) {
		a.Errorf("%s %s: denied %v, reached %v, want %q in: %s", tool, args, denied, reached, want, msg)
	}
}

func reading(path string) string { return fmt.Sprintf(`{"path":%q}`, path) }
func writing(path string) string { return fmt.Sprintf(`{"out":%q}`, path) }

// asks wants a number of questions so far.
func (a *askedHub) asks(p *person, n int) {
	a.Helper()
	if got := p.asked(); len(got) != n {
		a.Errorf("%d questions, want %d: %q", len(got), n, got)
	}
}

func (c *testClient) grants(t testing.TB) []approval.GrantReport {
	t.Helper()
	var list []approval.GrantReport
	_ = jsonrpc.Elements(jsonrpc.Get(jsonrpc.Get([]byte(c.raw("tools/call", toolCall("get-roots", `{}`))), "structuredContent"), "grants"), func(raw []byte) bool {
		uri, _ := jsonrpc.String(jsonrpc.Get(raw, "uri"))
		server, _ := jsonrpc.String(jsonrpc.Get(raw, "server"))
		lifetime, _ := jsonrpc.String(jsonrpc.Get(raw, "lifetime"))
		var roles []string
		_ = jsonrpc.Elements(jsonrpc.Get(raw, "roles"), func(r []byte) bool {
			role, _ := jsonrpc.String(r)
			roles = append(roles, role)
			return true
		})
		list = append(list, approval.GrantReport{URI: uri, Server: server, Lifetime: lifetime, Roles: roles, File: string(jsonrpc.Get(raw, "file")) == "true", Served: string(jsonrpc.Get(raw, "served")) == "true"})
		return true
	})
	return list
}
