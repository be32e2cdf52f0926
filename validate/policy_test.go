package validate

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcphub/internal/methods"
	"mcphub/rootsmgr"
	"mcphub/rootsmgr/guard"
	"mcphub/validate/access"
	"mcphub/validate/declare"
	"mcphub/validate/policy"
)

// rules makes a Checker of the world's child under a policy.
func (w *world) rules(sandbox string, rules ...policy.Rule) *Checker {
	w.t.Helper()
	c, err := NewChecker(w.config(sandbox, rules...))
	w.must(err)
	return c
}

func (w *world) config(sandbox string, rules ...policy.Rule) Config {
	for i := range rules {
		if rules[i].Name == "" {
			rules[i].Name = fmt.Sprintf("rule %d", i+1)
		}
		if p := rules[i].Paths; p != nil {
			p.Within = w.fill(p.Within)
		}
	}
	return Config{
		Children: []ChildConfig{{Name: "child", Command: "some-server"}}, Protected: []string{w.hub}, Home: w.home, Getenv: w.getenv,
		Policy: policy.Policy{Sandbox: w.fill(sandbox), Rules: rules},
	}
}

func within(dir string, roles ...access.Role) *policy.PathRule {
	return &policy.PathRule{Within: dir, Roles: roles}
}

// policyCase is one call under one policy. The control is the same call without the rules.
type policyCase struct {
	name    string
	rules   []policy.Rule
	tool    string // "": anyTool, whose paths count as written to
	args    string
	want    policy.Decision
	rule    string          // that decided; "" is not looked at
	control policy.Decision // without the policy
}

func (e *policyCase) run(t *testing.T, w *world) {
	t.Helper()
	def := anyTool
	if e.tool != "" {
		def = e.tool
	}
	c := w.rules("", e.rules...)
	if _, v := w.call(c, w.tool(c, "", def), e.args); v.Decision != e.want || e.rule != "" && v.Rule != e.rule {
		t.Errorf("%s: %s: %v by %q, want %v by %q: %+v", e.name, e.args, v.Decision, v.Rule, e.want, e.rule, v.Deciding)
	}
	bare := w.checker()
	if _, v := w.call(bare, w.tool(bare, "", def), e.args); v.Decision != e.control {
		t.Errorf("%s: control: %s: %v without the policy, want %v", e.name, e.args, v.Decision, e.control)
	}
}

const (
	readTool   = `{"name":"read_file"}`
	deleteTool = `{"name":"delete_file"}`
	moveTool   = `{"name":"move_file"}`
	shellTool  = `{"name":"run_command"}`
)

// TestRuleWithin: a rule is about a path however a call spells it. Package policy has what lies within its directory.
func TestRuleWithin(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	allow := []policy.Rule{{Then: policy.Allow, Paths: within("{outside}", access.Read)}}
	deny := []policy.Rule{{Then: policy.Deny, Paths: within("{project}/src")}}
	for _, e := range []policyCase{
		{"plain", allow, readTool, `{"path":"{outside}/secret.txt"}`, policy.Allow, "rule 1", policy.Deny},
		{"from home", []policy.Rule{{Then: policy.Allow, Paths: within("~/outside", access.Read)}}, readTool, `{"path":"~/outside/secret.txt"}`, policy.Allow, "rule 1", policy.Deny},
		{"from home, with a directory called ~", []policy.Rule{{Then: policy.Allow, Paths: within("~/outside", access.Read)}, {Then: policy.Deny, Paths: within("{project}/~")}}, readTool, `{"path":"~/outside/secret.txt"}`, policy.Deny, "rule 2", policy.Deny},
		{"through a link in the project", allow, readTool, `{"path":"{project}/link/secret.txt"}`, policy.Deny, RuleBoundary, policy.Deny},
		{"encoded", allow, readTool, `{"path":"file://{outside}/%2e%2e/projects/sibling.txt"}`, policy.Deny, RuleBoundary, policy.Deny},

		{"denied", deny, readTool, `{"path":"{project}/src/main.go"}`, policy.Deny, "rule 1", policy.Allow},
		{"denied relative", deny, readTool, `{"path":"src/main.go"}`, policy.Deny, "rule 1", policy.Allow},
		{"denied encoded", deny, readTool, `{"path":"file://{project}/%73rc/main.go"}`, policy.Deny, "rule 1", policy.Allow},
		{"denied as one of several", deny, readTool, `{"paths":["a.txt","src/main.go"]}`, policy.Deny, "rule 1", policy.Allow},
		{"denied in a shell string", deny, shellTool, `{"command":"cat {project}/src/main.go"}`, policy.Deny, "rule 1", policy.Allow},
		{"denied relative in a shell string", deny, shellTool, `{"command":"cat src/main.go"}`, policy.Deny, "rule 1", policy.Allow},
		{"denied after cd", deny, shellTool, `{"command":"cd src && cat main.go"}`, policy.Deny, "rule 1", policy.Allow},
		{"denied under a key that says nothing", deny, readTool, `{"x":"src/main.go"}`, policy.Deny, "rule 1", policy.Allow},
		{"made in a shell string", deny, shellTool, `{"command":"echo x > src/new.go"}`, policy.Deny, "rule 1", policy.Allow},
		{"a word that is no path there", deny, shellTool, `{"command":"echo src/nothing-of-that-name"}`, policy.Allow, "", policy.Allow},
		{"its parent moved away", deny, moveTool, `{"source":"{project}","destination":"{project}/docs/x"}`, policy.Deny, "rule 1", policy.Allow},
	} {
		e.run(t, w)
	}
}

// TestRuleRoles: a role comes from hub.json, a profile, or what the child says about the tool; the strictest word of a
// child counts, and nothing said is writing.
func TestRuleRoles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	reading := []policy.Rule{{Name: "read", Then: policy.Allow, Paths: within("{outside}", access.Read)}}
	noDelete := []policy.Rule{{Name: "keep", Then: policy.Deny, Paths: &policy.PathRule{Roles: []access.Role{access.Delete}}}}
	args := `{"path":"{outside}/secret.txt"}`
	for _, e := range []policyCase{
		{"said to read", reading, `{"name":"frob","annotations":{"readOnlyHint":true}}`, args, policy.Allow, "read", policy.Deny},
		{"nothing said", reading, `{"name":"frob"}`, args, policy.Deny, RuleBoundary, policy.Deny},
		{"said not to read", reading, `{"name":"frob","annotations":{"readOnlyHint":false}}`, args, policy.Deny, RuleBoundary, policy.Deny},
		{"a lie that the name gives away", reading, `{"name":"write_file","annotations":{"readOnlyHint":true}}`, args, policy.Deny, RuleBoundary, policy.Deny},
		{"a lie against itself", reading, `{"name":"frob","annotations":{"readOnlyHint":true,"destructiveHint":true}}`, args, policy.Deny, RuleBoundary, policy.Deny},
		{"no boolean", reading, `{"name":"frob","annotations":{"readOnlyHint":"true"}}`, args, policy.Deny, RuleBoundary, policy.Deny},
		{"an output of a tool that reads", reading, `{"name":"frob","annotations":{"readOnlyHint":true}}`, `{"outputPath":"{outside}/x"}`, policy.Deny, RuleBoundary, policy.Deny},
		{"deleting said to read", noDelete, `{"name":"delete_file","annotations":{"readOnlyHint":true}}`, `{"path":"a.txt"}`, policy.Deny, "keep", policy.Allow},
		{"moving is deleting at the source", noDelete, moveTool, `{"source":"a.txt","destination":"b.txt"}`, policy.Deny, "keep", policy.Allow},
		{"and writing at the destination", noDelete, moveTool, `{"destination":"b.txt"}`, policy.Allow, "", policy.Allow},
	} {
		e.run(t, w)
	}
	// hub.json outweighs what the child says, both ways.
	cfg := w.config("", reading...)
	cfg.Children[0].Args = map[string]map[string]declare.ArgRule{"*": {"/in": {Role: access.Read}, "/out": {Role: access.Write}}}
	c, err := NewChecker(cfg)
	w.must(err)
	for _, e := range []struct {
		def, args string
		want      policy.Decision
	}{
		{`{"name":"write_it"}`, `{"in":"{outside}/secret.txt"}`, policy.Allow},
		{`{"name":"read_it","annotations":{"readOnlyHint":true}}`, `{"out":"{outside}/secret.txt"}`, policy.Deny},
		{`{"name":"read_it","annotations":{"readOnlyHint":true}}`, `{"in":"{outside}/secret.txt"}`, policy.Allow}, // the control
	} {
		if _, v := w.call(c, w.tool(c, "", e.def), e.args); v.Decision != e.want {
			t.Errorf("%s %s: %v, want %v", e.def, e.args, v.Decision, e.want)
		}
	}
}

// TestRulesWithoutBoundary: if a client has no roots and that passes, rules hold all the same, nothing is outside of
// nothing, and a sandbox alone makes no boundary.
func TestRulesWithoutBoundary(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.must(os.MkdirAll(w.home+"/sandbox", 0o700))
	none := rootsmgr.NewSnapshot(guard.OS{}, 1, rootsmgr.OriginNone, nil)
	open := rootsmgr.RootsView{Snapshot: none, Case: rootsmgr.CaseUnsupported, Open: true}
	shut := rootsmgr.RootsView{Snapshot: none, Case: rootsmgr.CaseEmpty}
	no, ask, out := policy.Rule{Then: policy.Deny, Paths: within("{outside}")}, policy.Rule{Then: policy.Escalate, Paths: within("{outside}")}, policy.Rule{Then: policy.Deny, Paths: &policy.PathRule{Outside: true}}
	for _, e := range []struct {
		name      string
		sandbox   string
		rules     []policy.Rule
		RootsView rootsmgr.RootsView
		args      string
		want      policy.Decision
	}{
		{"no rule", "", nil, open, `{"path":"{outside}/x"}`, policy.Allow},
		{"deny", "", []policy.Rule{no}, open, `{"path":"{outside}/x"}`, policy.Deny},
		{"escalate", "", []policy.Rule{ask}, open, `{"path":"{outside}/x"}`, policy.Escalate},
		{"elsewhere", "", []policy.Rule{no}, open, `{"path":"{home}/projects/x"}`, policy.Allow},
		{"relative", "", []policy.Rule{no}, open, `{"x":"../outside/sub/x"}`, policy.Deny},
		{"a name in a shell string", "", []policy.Rule{no}, open, `{"command":"cat ../outside/secret.txt"}`, policy.Deny},
		{"outside of nothing", "", []policy.Rule{out}, open, `{"path":"{outside}/x"}`, policy.Allow},
		{"outside of the sandbox alone", "{home}/sandbox", []policy.Rule{out}, open, `{"path":"{outside}/x"}`, policy.Allow},
		{"beside the sandbox", "{home}/sandbox", nil, open, `{"path":"{outside}/x"}`, policy.Allow},
		{"protected", "", []policy.Rule{{Then: policy.Allow}}, open, `{"path":"{hub}"}`, policy.Deny},
		{"nothing is open", "", nil, shut, `{"path":"{outside}/x"}`, policy.Deny},
		{"nothing but the sandbox", "{home}/sandbox", nil, shut, `{"path":"{home}/sandbox/x"}`, policy.Allow},
		{"and not beside it", "{home}/sandbox", nil, shut, `{"path":"{home}/sandbox2/x"}`, policy.Deny},
		{"outside of an empty list", "", []policy.Rule{{Then: policy.Escalate, Paths: &policy.PathRule{Outside: true}}}, shut, `{"path":"{outside}/x"}`, policy.Escalate},
		{"a view that nobody made", "{home}/sandbox", nil, rootsmgr.RootsView{}, `{"path":"{home}/sandbox/x"}`, policy.Deny},
	} {
		c := w.rules(e.sandbox, e.rules...)
		s, err := c.Scan(w.tool(c, "", anyTool), w.json(e.args))
		w.must(err)
		if v := c.Judge(s, CallContext{Cwd: w.project}, e.RootsView); v.Decision != e.want {
			t.Errorf("%s: %v by %q, want %v: %+v", e.name, v.Decision, v.Rule, e.want, v.Deciding)
		}
	}
}

// TestRulesOfRequests: a request that is no call of a tool has its method for a name.
func TestRulesOfRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, e := range []struct {
		name  string
		rules []policy.Rule
		want  policy.Decision
	}{
		{"no rule", nil, policy.Allow},
		{"within", []policy.Rule{{Then: policy.Deny, Paths: within("{project}/src", access.Read)}}, policy.Deny},
		{"writing", []policy.Rule{{Then: policy.Deny, Paths: within("{project}/src", access.Write)}}, policy.Allow},
		{"every tool", []policy.Rule{{Then: policy.Deny, Tools: []string{"*"}}}, policy.Deny},
		{"some tools", []policy.Rule{{Then: policy.Deny, Tools: []string{"read_*"}}}, policy.Allow},
		{"escalate", []policy.Rule{{Then: policy.Escalate, Servers: []string{"child"}}}, policy.Escalate},
	} {
		c := w.rules("", e.rules...)
		byURI, err := c.ScanURI("child", "file://"+w.project+"/src/main.go")
		w.must(err)
		byPrompt, err := c.ScanPrompt("child", "review", w.json(`{"path":"{project}/src/main.go"}`))
		w.must(err)
		byCompletion, err := c.ScanCompletion("child", "", "path", w.project+"/src/ma", nil)
		w.must(err)
		for kind, s := range map[string]*Scan{methods.ReadResource: byURI, methods.GetPrompt: byPrompt, methods.Complete: byCompletion} {
			if v := c.Judge(s, w.where(), w.view()); v.Decision != e.want {
				t.Errorf("%s: %s: %v by %q, want %v", e.name, kind, v.Decision, v.Rule, e.want)
			}
		}
	}
	c := w.rules("", policy.Rule{Then: policy.Deny, Tools: []string{methods.ReadResource}})
	for uri, want := range map[string]policy.Decision{"https://example.com/x": policy.Deny, "file://" + w.project + "/a.txt": policy.Deny} {
		s, err := c.ScanURI("child", uri)
		w.must(err)
		if v := c.Judge(s, w.where(), w.view()); v.Decision != want {
			t.Errorf("%s: %v, want %v", uri, v.Decision, want)
		}
	}
}

// TestGrants: a grant opens nothing but what a rule escalates. Package policy has how exact it is.
func TestGrants(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rules := []policy.Rule{{Name: "never", Then: policy.Deny, Paths: within("{outside}/sub")}, {Name: "ask", Then: policy.Escalate, Paths: &policy.PathRule{Outside: true}}}
	dir, file := policy.Grant{Path: w.outside, Roles: policy.Roles(access.Read)}, policy.Grant{Path: w.outside + "/secret.txt", File: true, Roles: policy.Roles(access.Read, access.Write)}
	hub := policy.Grant{Path: filepath.Dir(w.hub), Roles: policy.AnyRole}
	for _, e := range []struct {
		name, tool, args string
		grants           []policy.Grant
		want             policy.Decision
	}{
		{"none", readTool, `{"path":"{outside}/secret.txt"}`, nil, policy.Escalate},
		{"the directory", readTool, `{"path":"{outside}/secret.txt"}`, []policy.Grant{dir}, policy.Allow},
		{"through a link", readTool, `{"path":"{project}/link/secret.txt"}`, []policy.Grant{dir}, policy.Allow},
		{"what a rule denies", readTool, `{"path":"{outside}/sub/x"}`, []policy.Grant{dir, {Path: w.outside + "/sub", Roles: policy.AnyRole}}, policy.Deny},
		{"what is protected", readTool, `{"path":"{hub}"}`, []policy.Grant{hub}, policy.Deny},
		{"one of two paths", readTool, `{"path":"{outside}/secret.txt","p2":"{home}/projects/sibling.txt"}`, []policy.Grant{dir}, policy.Escalate},
	} {
		c := w.rules("", rules...)
		s, err := c.Scan(w.tool(c, "", e.tool), w.json(e.args))
		w.must(err)
		where := w.where()
		where.Grants = e.grants
		if v := c.Judge(s, where, w.view()); v.Decision != e.want {
			t.Errorf("%s: %v by %q, want %v: %+v", e.name, v.Decision, v.Rule, e.want, v.Deciding)
		}
	}
	// A rule about calls is approved call by call: what a grant covers may stand beside anything.
	shell := w.rules("", policy.Rule{Name: "ask", Then: policy.Escalate, Tools: []string{"run_*"}})
	for approved, want := range map[string]policy.Decision{"": policy.Escalate, "ask": policy.Allow, "other": policy.Escalate} {
		s, err := shell.Scan(w.tool(shell, "", shellTool), w.json(`{"command":"cat {project}/a.txt; make everything"}`))
		w.must(err)
		where := w.where()
		where.Grants, where.Approved = []policy.Grant{{Path: w.project, Roles: policy.AnyRole}}, approved
		if v := shell.Judge(s, where, w.view()); v.Decision != want || v.Deciding != nil {
			t.Errorf("a shell string approved under %q: %v %+v", approved, v.Decision, v.Deciding)
		}
	}
	// Readings say what a grant is missing for.
	asked := w.rules("", rules...)
	s, err := asked.Scan(w.tool(asked, "", readTool), w.json(`{"path":"../projects/sibling.txt"}`))
	w.must(err)
	wide := w.where()
	wide.Served = append(slices.Clone(w.roots), w.outside) // from there it is inside nothing, and asked about as well
	v := asked.Judge(s, wide, w.view())
	for _, r := range v.Deciding.Readings {
		if !r.Asks || !strings.HasPrefix(r.Target, w.home+"/projects") {
			t.Errorf("reading %+v", r)
		}
	}
	// If nothing is escalated a grant is worth nothing.
	c := w.rules("", policy.Rule{Then: policy.Allow, Paths: within("{outside}/sub")})
	s, err = c.Scan(w.tool(c, "", readTool), w.json(`{"path":"{outside}/secret.txt"}`))
	w.must(err)
	where := w.where()
	where.Grants = []policy.Grant{dir, file, {Path: "/", Roles: policy.AnyRole}}
	if v = c.Judge(s, where, w.view()); v.Decision != policy.Deny {
		t.Errorf("a grant opened what the boundary denies: %+v", v)
	}
}

// TestCeilingBeforeRules: H5. Neither rule, grant nor sandbox opens what lies outside a token's directories.
func TestCeilingBeforeRules(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.must(os.MkdirAll(w.home+"/sandbox", 0o700))
	w.must(os.Symlink(w.project+"/src", w.outside+"/way"))
	c := w.rules("{home}/sandbox", policy.Rule{Name: "ask", Then: policy.Escalate, Paths: within("{outside}/sub")}, policy.Rule{Name: "all", Then: policy.Allow})
	tool := w.tool(c, "", anyTool)
	ceiling := rootsmgr.NewSnapshot(guard.OS{}, 1, rootsmgr.OriginCeiling, []rootsmgr.RootEntry{{URI: w.project}, {URI: w.home + "/projects"}}).Guard()
	for _, path := range []string{"{outside}/x", "{outside}/sub/x", "{home}/sandbox/x", "{project}/link/x", "{project}/link/../a.txt", "{outside}/way/../a.txt", "/etc/passwd"} {
		s, err := c.Scan(tool, w.json(`{"path":"`+path+`"}`))
		w.must(err)
		where := w.where()
		where.Grants = []policy.Grant{{Path: w.outside, Roles: policy.AnyRole}}
		rootsView := w.view()
		if v := c.Judge(s, where, rootsView); v.Decision != policy.Allow {
			t.Errorf("control: %s: %v by %q without a ceiling", path, v.Decision, v.Rule)
		}
		rootsView.Ceiling = ceiling
		if v := c.Judge(s, where, rootsView); v.Decision != policy.Deny || v.Rule != RuleCeiling || v.Deciding.Code != CodeCeiling {
			t.Errorf("%s: %v by %q under a ceiling", path, v.Decision, v.Rule)
		}
	}
	s, err := c.Scan(tool, w.json(`{"path":"{home}/projects/sibling.txt"}`))
	w.must(err)
	rootsView := w.view()
	rootsView.Ceiling = ceiling
	if v := c.Judge(s, w.where(), rootsView); v.Decision != policy.Allow || v.Rule != "all" {
		t.Errorf("a rule opens nothing below the ceiling: %+v", v)
	}
}

// TestARuleIsNotCalledLikeOneOfTheHub: the record gives the rule that decided by its name alone.
func TestARuleIsNotCalledLikeOneOfTheHub(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, name := range ownRules {
		if _, err := NewChecker(w.config("", policy.Rule{Name: name, Then: policy.Deny})); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("a rule called %s: %v", name, err)
		}
	}
	w.rules("", policy.Rule{Name: "mine", Then: policy.Deny})
}
