package hub

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"mcphub/children/spec"
	"mcphub/e2e/childtest"
	"mcphub/e2e/rootstest"
	"mcphub/internal/jsonrpc"
	"mcphub/rootsmgr"
	"mcphub/validate/policy"
)

// echoes reports whether a call with a path reaches the child.
func (c *testClient) echoes(path string) bool {
	c.t.Helper()
	msg, bad := c.callText("kid__echo", fmt.Sprintf(`{"path":%q}`, path))
	if bad && !strings.HasPrefix(msg, "Access denied") {
		c.t.Fatalf("%s: %s", path, msg)
	}
	return !bad
}

// servedTo returns the paths of the roots that a child is served.
func (c *testClient) servedTo(child string) string {
	c.t.Helper()
	msg, bad := c.callText(child+"__roots", `{}`)
	if bad {
		c.t.Fatal(msg)
	}
	return msg
}

// replace puts a link instead of a directory, as a server may that can
// write there.
func replace(t *testing.T, path, target string) {
	t.Helper()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}

// A server that may write in one place puts a link instead of a root that
// lies there, and the client says that its roots have changed. Each case has its
// control: the same link, if no one else may write around it, is followed.
func TestRootIsNotFollowedOut(t *testing.T) {
	allow := func(dir string) policy.Policy {
		return policy.Policy{Rules: []policy.Rule{{Name: "docs", Then: policy.Allow, Paths: &policy.PathRule{Within: dir}}}}
	}
	for name, tc := range map[string]struct {
		policy   func(dir string) policy.Policy
		around   bool // the place around is a root too
		fallback bool
	}{
		"another root":     {around: true},
		"policy directory": {policy: allow},
		"sandbox":          {policy: func(dir string) policy.Policy { return policy.Policy{Sandbox: dir} }},
		"fallback roots":   {around: true, fallback: true},
		"control":          {},
		"control fallback": {fallback: true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := rootstest.Tree(t, "p/gen/", "out/secret")
			if err := os.Chmod(dir+"/p", 0o700); err != nil {
				t.Fatal(err)
			}
			gen, secret := dir+"/p/gen", dir+"/out/secret"
			roots := []string{gen}
			if tc.around {
				roots = []string{dir + "/p", gen}
			}
			cfg := testConfig(t, scripted("kid", childtest.Script{AskRoots: true}))
			cfg.Launcher = childtest.Pipes{}
			if tc.policy != nil {
				cfg = under(t, cfg, tc.policy(dir+"/p"))
			}
			caps := declared
			if tc.fallback {
				caps = `{}`
				cfg.Fallback = rootsmgr.Fallback{Origin: rootsmgr.OriginConfig, Entries: directories(roots...)}
			}
			h := runHub(t, cfg)
			c := connect(t, h, roots...)
			c.handshake(caps)
			if !c.echoes(gen+"/f") || c.echoes(secret) {
				t.Fatal("the roots are not what they should be to begin with")
			}
			replace(t, gen, dir+"/out")
			if c.echoes(gen + "/secret") {
				t.Error("the link is followed though nobody has said that the roots changed")
			}
			if tc.fallback { // another client comes
				c = connect(t, h)
				c.handshake(caps)
			} else {
				c.change(roots...)
			}
			control := strings.HasPrefix(name, "control")
			if got := c.echoes(secret); got != control {
				t.Errorf("%s is open: %v", secret, got)
			}
			if got := c.echoes(gen + "/secret"); got != control {
				t.Errorf("%s/secret is open: %v", gen, got)
			}
			if served := c.servedTo("kid"); strings.Contains(served, dir+"/out") != control {
				t.Errorf("served: %s", served)
			}
			report := c.raw("tools/call", toolCall("get-roots", `{}`))
			if strings.Contains(report, "is a link inside") == control {
				t.Errorf("get-roots: %s", report)
			}
		})
	}
}

// The same with a grant: what a person has opened to one server is a place that
// it may write in.
func TestRootIsNotFollowedOutOfAGrant(t *testing.T) {
	for _, granted := range []bool{true, false} {
		dir := rootstest.Tree(t, "p/gen/", "p/other", "q/", "out/secret")
		cfg := testConfig(t, scripted("kid", childtest.Script{AskRoots: true}))
		cfg.Launcher = childtest.Pipes{}
		cfg = under(t, cfg, policy.Policy{Rules: []policy.Rule{{Name: "ask", Then: policy.Escalate, Paths: &policy.PathRule{Outside: true}}}})
		c := connect(t, runHub(t, cfg), dir+"/q")
		answers := []string{no, yes}
		if !granted {
			answers = answers[:1]
		}
		c.asks = func(ctx context.Context, from *testClient, m *jsonrpc.Message) jsonrpc.Answer {
			answer := answers[len(answers)-1]
			answers = answers[:max(len(answers)-1, 1)]
			return saying(answer).ask(ctx, from, m)
		}
		c.handshake(canAsk)
		if got := c.echoes(dir + "/p/other"); got != granted {
			t.Fatalf("granted %v: the call is made: %v", granted, got)
		}
		c.change(dir + "/p/gen")
		replace(t, dir+"/p/gen", dir+"/out")
		c.change(dir + "/p/gen")
		if got := c.echoes(dir + "/out/secret"); got == granted {
			t.Errorf("granted %v: what the link leads to is open: %v", granted, got)
		}
	}
}

// A directory of the policy that has become a link is served to no one.
func TestPolicyDirectoryIsNotFollowed(t *testing.T) {
	dir := rootstest.Tree(t, "p/docs/", "out/secret")
	cfg := testConfig(t, scripted("kid", childtest.Script{AskRoots: true}))
	cfg.Launcher = childtest.Pipes{}
	cfg = under(t, cfg, policy.Policy{Rules: []policy.Rule{{Name: "docs", Then: policy.Allow, Paths: &policy.PathRule{Within: dir + "/p/docs"}}}})
	c := connect(t, runHub(t, cfg), dir+"/p")
	c.handshake(declared)
	if served := c.servedTo("kid"); !strings.Contains(served, dir+"/p/docs") {
		t.Fatalf("control: %s", served)
	}
	replace(t, dir+"/p/docs", dir+"/out")
	c.change(dir + "/p")
	if c.echoes(dir+"/out/secret") || strings.Contains(c.servedTo("kid"), "out") {
		t.Errorf("served: %s", c.servedTo("kid"))
	}
}

// A root that is a file opens that file alone, to the children that can do
// with one.
func TestFileRoot(t *testing.T) {
	dir := rootstest.Tree(t, "p/", "notes/todo.md", "notes/other.md")
	specs := []spec.Spec{scripted("kid", childtest.Script{AskRoots: true}), scripted("dirs", childtest.Script{AskRoots: true})}
	specs[1].Env["AT"] = "${root}"
	h := newTestHub(t, specs...)
	c := connect(t, h, dir+"/notes/todo.md", dir+"/p")
	c.handshake(declared)
	for path, want := range map[string]bool{"/notes/todo.md": true, "/notes/other.md": false, "/notes": false, "/notes/todo.md/x": false, "/p/new": true} {
		if got := c.echoes(dir + path); got != want {
			t.Errorf("%s is open: %v", path, got)
		}
	}
	// A relative path starts from directories.
	if !c.echoes("new.txt") {
		t.Error("a relative path is read from the file")
	}
	if served := c.servedTo("kid"); !strings.Contains(served, "todo.md") || !strings.Contains(served, dir+"/p") {
		t.Errorf("served: %s", served)
	}
	if served := c.servedTo("dirs"); strings.Contains(served, "todo.md") || !strings.Contains(served, dir+"/p") {
		t.Errorf("a child that takes directories is served %s", served)
	}
	env := c.raw("tools/call", toolCall("dirs__env", `{}`))
	if strings.Contains(env, "todo.md") || !strings.Contains(env, dir+"/p") {
		t.Errorf("and has %s", env)
	}
	if st := onlySession(h).ChildStatus("kid"); st.Cwd != dir+"/p" {
		t.Errorf("the working directory is %q", st.Cwd)
	}
	report := c.raw("tools/call", toolCall("get-roots", `{}`))
	if !strings.Contains(report, `"file":true`) {
		t.Errorf("get-roots: %s", report)
	}
}

// Every text about missing roots says which client this is, which of the three
// cases holds, and what helps; get-roots says so without a denial.
func TestTextsWithoutRoots(t *testing.T) {
	for name, tc := range map[string]struct {
		caps   string
		answer string // to roots/list
		when   rootsmgr.NoRootsPolicy
		want   []string
	}{
		"gives none":         {caps: `{}`, want: []string{`The client "test" gives no roots`, "--roots DIR", "MCPHUB_ROOTS", "roots.fallback", "roots.when.unsupported"}},
		"none, allowed":      {caps: `{}`, when: rootsmgr.NoRootsPolicy{Unsupported: true}, want: []string{`The client "test" gives no roots`, "--roots DIR", "MCPHUB_ROOTS", "roots.fallback"}},
		"gave an empty list": {caps: declared, answer: `{"roots":[]}`, want: []string{`The client "test" answered that no folder is open (an empty list of roots)`, "open a folder", "roots.when.empty"}},
		"did not answer":     {caps: declared, answer: `{}`, want: []string{`The client "test" declared roots but did not give them`, "--roots DIR", "MCPHUB_ROOTS", "roots.fallback", "roots.when.failed"}},
	} {
		t.Run(name, func(t *testing.T) {
			needy := scripted("needy", childtest.Script{})
			needy.Args = append(slices.Clone(needy.Args), "${root}")
			cfg := testConfig(t, scripted("kid", childtest.Script{AskRoots: true}), needy)
			cfg.Launcher = childtest.Pipes{}
			cfg.Roots.When = tc.when
			c := connect(t, runHub(t, cfg))
			c.roots = []byte(tc.answer)
			c.handshake(tc.caps)
			msg, bad := c.callText("kid__echo", `{"path":"/etc/passwd"}`)
			if bad == tc.when.Unsupported {
				t.Fatalf("%v: %s", bad, msg)
			}
			report := jsonrpc.Get([]byte(c.raw("tools/call", toolCall("get-roots", `{}`))), "structuredContent")
			meaning, _ := jsonrpc.String(jsonrpc.Get(report, "meaning"))
			texts := []string{meaning}
			if bad {
				texts = append(texts, msg)
			}
			served := jsonrpc.Get(jsonrpc.Get([]byte(c.servedTo("kid")), "_meta"), "mcphub/roots")
			note, _ := jsonrpc.String(served)
			unstarted, bad := c.callText("needy__echo", `{}`)
			if !bad {
				t.Errorf("a server that needs a root was started: %s", unstarted)
			}
			texts = append(texts, note, unstarted)
			for _, text := range texts {
				if i := slices.IndexFunc(tc.want, func(w string) bool { return !strings.Contains(text, w) }); i >= 0 {
					t.Errorf("%q is missing in %s", tc.want[i], text)
				}
			}
			if got := strings.Contains(meaning, "no boundary is enforced"); got != tc.when.Unsupported {
				t.Errorf("get-roots: %s", meaning)
			}
			if strings.Contains(note+unstarted, "enforced") {
				t.Errorf("a server is told what the hub does not enforce: %s; %s", note, unstarted)
			}
			if strings.Contains(meaning, "refused") || strings.Contains(meaning, "denied") {
				t.Errorf("get-roots speaks of a denial: %s", meaning)
			}
		})
	}
}

func onlySession(h *Hub) (s *Session) {
	for _, s = range h.sessions.Sessions() {
	}
	return s
}
