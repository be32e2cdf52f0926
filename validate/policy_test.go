package validate

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcphub/rootsmgr"
	"mcphub/rootsmgr/guard"
	"mcphub/validate/access"
)

// rules makes a Checker of the world's child under a policy.
func (w *world) rules(sandbox string, rules ...Rule) *Checker {
	w.t.Helper()
	c, err := NewChecker(w.config(sandbox, rules...))
	w.must(err)
	return c
}

func (w *world) config(sandbox string, rules ...Rule) Config {
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
		Policy: Policy{Sandbox: w.fill(sandbox), Rules: rules},
	}
}

func within(dir string, roles ...access.Role) *PathRule { return &PathRule{Within: dir, Roles: roles} }

// policyCase is one call under one policy. The control is the same call without the rules.
type policyCase struct {
	name    string
	rules   []Rule
	tool    string // "": anyTool, whose paths count as written to
	args    string
	want    Decision
	rule    string   // that decided; "" is not looked at
	control Decision // without the policy
}

func (e *policyCase) run(t *testing.T, w *world) {
	t.Helper()
	def := anyTool
	if e.tool != "" {
		def = e.tool
	}
	c := w.rules("", e.rules...)
	if _, v := w.call(c, w.tool(c, "", def), e.args); v.Decision != e.want || e.rule != "" && v.Rule != e.rule {
		t.Errorf("%s: %s: %v by %q, want %v by %q: %+v", e.name, e.args, v.Decision, v.Rule, e.want, e.rule, v.First)
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

// TestRuleWithin: a rule's directory is compared as roots are, never as text.
func TestRuleWithin(t *testing.T) {
	w := newWorld(t)
	w.must(os.Symlink(w.home+"/projects", w.outside+"/way")) // out of the rule's directory
	w.must(os.Symlink(w.outside, w.home+"/alias"))           // into it, under another name
	w.must(os.Symlink(w.outside+"/new", w.home+"/projects/dangling"))
	allow := []Rule{{Then: Allow, Paths: within("{outside}", access.Read)}}
	deny := []Rule{{Then: Deny, Paths: within("{project}/src")}}
	linked := []Rule{{Then: Allow, Paths: within("{home}/alias", access.Read)}}
	for _, e := range []policyCase{
		{"plain", allow, readTool, `{"path":"{outside}/secret.txt"}`, Allow, "rule 1", Deny},
		{"from home", []Rule{{Then: Allow, Paths: within("~/outside", access.Read)}}, readTool, `{"path":"~/outside/secret.txt"}`, Allow, "rule 1", Deny},
		{"from home, with a directory called ~", []Rule{{Then: Allow, Paths: within("~/outside", access.Read)}, {Then: Deny, Paths: within("{project}/~")}}, readTool, `{"path":"~/outside/secret.txt"}`, Deny, "rule 2", Deny},
		{"the directory itself", allow, readTool, `{"path":"{outside}"}`, Allow, "rule 1", Deny},
		{"missing tail", allow, readTool, `{"path":"{outside}/no/such"}`, Allow, "rule 1", Deny},
		{"a link out", allow, readTool, `{"path":"{outside}/way/sibling.txt"}`, Deny, RuleBoundary, Deny},
		{"climbing out", allow, readTool, `{"path":"{outside}/../projects/sibling.txt"}`, Deny, RuleBoundary, Deny},
		{"climbing after a link", allow, readTool, `{"path":"{outside}/way/../projects/sibling.txt"}`, Deny, "", Deny},
		{"a look-alike", []Rule{{Then: Allow, Paths: within("{home}/proj", access.Read)}}, readTool, `{"path":"{home}/projects/sibling.txt"}`, Deny, RuleBoundary, Deny},
		{"through a link in the project", allow, readTool, `{"path":"{project}/link/secret.txt"}`, Deny, RuleBoundary, Deny},
		{"the wrong role", allow, "", `{"path":"{outside}/secret.txt"}`, Deny, RuleBoundary, Deny},
		{"encoded", allow, readTool, `{"path":"file://{outside}/%2e%2e/projects/sibling.txt"}`, Deny, RuleBoundary, Deny},
		{"a directory under another name", linked, readTool, `{"path":"{outside}/secret.txt"}`, Allow, "rule 1", Deny},
		{"that other name", linked, readTool, `{"path":"{home}/alias/secret.txt"}`, Allow, "rule 1", Deny},

		{"denied", deny, readTool, `{"path":"{project}/src/main.go"}`, Deny, "rule 1", Allow},
		{"denied through a link", deny, readTool, `{"path":"{project}/inner/main.go"}`, Deny, "rule 1", Allow},
		{"denied by climbing in", deny, readTool, `{"path":"{project}/docs/../src/main.go"}`, Deny, "rule 1", Allow},
		{"denied as it is written", deny, readTool, `{"path":"{project}/src/../a.txt"}`, Allow, RuleInside, Allow},
		{"denied relative", deny, readTool, `{"path":"src/main.go"}`, Deny, "rule 1", Allow},
		{"denied encoded", deny, readTool, `{"path":"file://{project}/%73rc/main.go"}`, Deny, "rule 1", Allow},
		{"denied as one of several", deny, readTool, `{"paths":["a.txt","src/main.go"]}`, Deny, "rule 1", Allow},
		{"denied in a shell string", deny, shellTool, `{"command":"cat {project}/src/main.go"}`, Deny, "rule 1", Allow},
		{"denied relative in a shell string", deny, shellTool, `{"command":"cat src/main.go"}`, Deny, "rule 1", Allow},
		{"denied after cd", deny, shellTool, `{"command":"cd src && cat main.go"}`, Deny, "rule 1", Allow},
		{"denied under a key that says nothing", deny, readTool, `{"x":"src/main.go"}`, Deny, "rule 1", Allow},
		{"made in a shell string", deny, shellTool, `{"command":"echo x > src/new.go"}`, Deny, "rule 1", Allow},
		{"a word that is no path there", deny, shellTool, `{"command":"echo src/nothing-of-that-name"}`, Allow, "", Allow},
		{"its parent moved away", deny, moveTool, `{"source":"{project}","destination":"{project}/docs/x"}`, Deny, "rule 1", Allow},
		{"its parent listed", deny, readTool, `{"path":"{project}"}`, Allow, RuleInside, Allow},
		{"its look-alike", deny, readTool, `{"path":"{project}/srcs/x"}`, Allow, RuleInside, Allow},
	} {
		e.run(t, w)
	}
	// The control of the link: as text the path is inside, and what it opens is not.
	p := w.outside + "/way/sibling.txt"
	if raw, err := os.ReadFile(p); err != nil || string(raw) != "projects/sibling.txt" || !strings.HasPrefix(p, w.outside+"/") {
		t.Errorf("the link leads nowhere: %q %v", raw, err)
	}
}

// TestRuleOrder: the first match decides a path, the strictest path a call.
func TestRuleOrder(t *testing.T) {
	w := newWorld(t)
	allow, deny, ask := Rule{Name: "yes", Then: Allow, Paths: within("{outside}/sub")}, Rule{Name: "no", Then: Deny, Paths: within("{outside}")}, Rule{Name: "ask", Then: Escalate, Paths: &PathRule{Outside: true}}
	for _, e := range []policyCase{
		{"allow first", []Rule{allow, deny}, "", `{"path":"{outside}/sub/x"}`, Allow, "yes", Deny},
		{"deny first", []Rule{deny, allow}, "", `{"path":"{outside}/sub/x"}`, Deny, "no", Deny},
		{"escalate behind deny", []Rule{deny, ask}, "", `{"path":"{outside}/sub/x"}`, Deny, "no", Deny},
		{"escalate first", []Rule{ask, deny}, "", `{"path":"{outside}/sub/x"}`, Escalate, "ask", Deny},
		{"escalate inside the boundary", []Rule{ask}, "", `{"path":"{project}/a.txt"}`, Allow, RuleInside, Allow},
		{"deny before escalate", []Rule{deny, ask}, "", `{"path":"{home}/projects/x","p2":"{outside}/x"}`, Deny, "no", Deny},
		{"escalate before allow", []Rule{allow, ask}, "", `{"path":"{outside}/sub/x","p2":"{home}/projects/x"}`, Escalate, "ask", Deny},
		{"the boundary denies beside a rule that allows", []Rule{allow}, "", `{"path":"{outside}/sub/x","p2":"{home}/projects/x"}`, Deny, RuleBoundary, Deny},
		{"what cannot be resolved", []Rule{{Then: Allow}}, "", `{"path":"{project}/loop"}`, Deny, RuleUnresolvable, Deny},
		{"NUL", []Rule{{Then: Escalate}}, "", `{"path":"a\u0000b"}`, Deny, RuleUnresolvable, Deny},
		{"protected", []Rule{{Then: Allow}}, "", `{"path":"{hub}"}`, Deny, RuleProtected, Deny},
		{"a folder of something protected", []Rule{{Then: Allow}}, "", `{"path":"{home}/config"}`, Deny, "", Deny},
		{"no paths asked: every path", []Rule{{Then: Allow}}, "", `{"path":"/etc/passwd"}`, Allow, "rule 1", Deny},
		{"paths empty: every path", []Rule{{Then: Allow, Paths: &PathRule{}}}, "", `{"path":"/etc/passwd"}`, Allow, "rule 1", Deny},
		{"one reading suffices to ask", []Rule{{Name: "ask", Then: Escalate, Paths: within("{outside}")}, {Name: "no", Then: Deny, Paths: within("{project}")}}, readTool, `{"path":"{project}/link/../outside/secret.txt"}`, Escalate, "ask", Deny},
		{"the null device", []Rule{{Then: Deny, Paths: &PathRule{Outside: true}}}, "", `{"path":"/dev/null"}`, Allow, "", Allow},
		{"another server's rule", []Rule{{Then: Allow, Servers: []string{"chil", "child2", "c?"}}}, "", `{"path":"/etc/passwd"}`, Deny, RuleBoundary, Deny},
		{"another tool's rule", []Rule{{Then: Allow, Tools: []string{"do_i", "DO_IT", `do_\*`, "[!d]*"}}}, "", `{"path":"/etc/passwd"}`, Deny, RuleBoundary, Deny},
		{"patterns", []Rule{{Then: Deny, Servers: []string{"ch*"}, Tools: []string{"x", "do_??"}}}, "", `{"path":"a.txt"}`, Deny, "rule 1", Allow},
		{"a slash in a tool's name", []Rule{{Then: Deny, Tools: []string{"fs*"}}}, `{"name":"fs/delete"}`, `{"path":"a.txt"}`, Deny, "rule 1", Allow},
	} {
		e.run(t, w)
	}
}

// TestRuleRoles: a role comes from hub.json, a profile, or what the child says of the tool; the strictest word of a child
// counts, and nothing said is writing.
func TestRuleRoles(t *testing.T) {
	w := newWorld(t)
	reading := []Rule{{Name: "read", Then: Allow, Paths: within("{outside}", access.Read)}}
	noDelete := []Rule{{Name: "keep", Then: Deny, Paths: &PathRule{Roles: []access.Role{access.Delete}}}}
	args := `{"path":"{outside}/secret.txt"}`
	for _, e := range []policyCase{
		{"said to read", reading, `{"name":"frob","annotations":{"readOnlyHint":true}}`, args, Allow, "read", Deny},
		{"nothing said", reading, `{"name":"frob"}`, args, Deny, RuleBoundary, Deny},
		{"said not to read", reading, `{"name":"frob","annotations":{"readOnlyHint":false}}`, args, Deny, RuleBoundary, Deny},
		{"a lie that the name gives away", reading, `{"name":"write_file","annotations":{"readOnlyHint":true}}`, args, Deny, RuleBoundary, Deny},
		{"a lie against itself", reading, `{"name":"frob","annotations":{"readOnlyHint":true,"destructiveHint":true}}`, args, Deny, RuleBoundary, Deny},
		{"no boolean", reading, `{"name":"frob","annotations":{"readOnlyHint":"true"}}`, args, Deny, RuleBoundary, Deny},
		{"an output of a tool that reads", reading, `{"name":"frob","annotations":{"readOnlyHint":true}}`, `{"outputPath":"{outside}/x"}`, Deny, RuleBoundary, Deny},
		{"deleting said to read", noDelete, `{"name":"delete_file","annotations":{"readOnlyHint":true}}`, `{"path":"a.txt"}`, Deny, "keep", Allow},
		{"moving is deleting at the source", noDelete, moveTool, `{"source":"a.txt","destination":"b.txt"}`, Deny, "keep", Allow},
		{"and writing at the destination", noDelete, moveTool, `{"destination":"b.txt"}`, Allow, "", Allow},
	} {
		e.run(t, w)
	}
	// hub.json outweighs what the child says, both ways.
	cfg := w.config("", reading...)
	cfg.Children[0].Args = map[string]map[string]ArgRule{"*": {"/in": {Role: access.Read}, "/out": {Role: access.Write}}}
	c, err := NewChecker(cfg)
	w.must(err)
	for _, e := range []struct {
		def, args string
		want      Decision
	}{
		{`{"name":"write_it"}`, `{"in":"{outside}/secret.txt"}`, Allow},
		{`{"name":"read_it","annotations":{"readOnlyHint":true}}`, `{"out":"{outside}/secret.txt"}`, Deny},
		{`{"name":"read_it","annotations":{"readOnlyHint":true}}`, `{"in":"{outside}/secret.txt"}`, Allow}, // the control
	} {
		if _, v := w.call(c, w.tool(c, "", e.def), e.args); v.Decision != e.want {
			t.Errorf("%s %s: %v, want %v", e.def, e.args, v.Decision, e.want)
		}
	}
}

// TestRulesWithoutBoundary: R11. Where a client has no roots and that passes, rules hold all the same, nothing is outside
// of nothing, and a sandbox alone makes no boundary.
func TestRulesWithoutBoundary(t *testing.T) {
	w := newWorld(t)
	w.must(os.MkdirAll(w.home+"/sandbox", 0o700))
	none := rootsmgr.NewSnapshot(guard.OS{}, 1, rootsmgr.OriginNone, nil)
	open := rootsmgr.View{Snapshot: none, Case: rootsmgr.CaseUnsupported, Open: true}
	shut := rootsmgr.View{Snapshot: none, Case: rootsmgr.CaseEmpty}
	no, ask, out := Rule{Then: Deny, Paths: within("{outside}")}, Rule{Then: Escalate, Paths: within("{outside}")}, Rule{Then: Deny, Paths: &PathRule{Outside: true}}
	for _, e := range []struct {
		name    string
		sandbox string
		rules   []Rule
		View    rootsmgr.View
		args    string
		want    Decision
	}{
		{"no rule", "", nil, open, `{"path":"{outside}/x"}`, Allow},
		{"deny", "", []Rule{no}, open, `{"path":"{outside}/x"}`, Deny},
		{"escalate", "", []Rule{ask}, open, `{"path":"{outside}/x"}`, Escalate},
		{"elsewhere", "", []Rule{no}, open, `{"path":"{home}/projects/x"}`, Allow},
		{"relative", "", []Rule{no}, open, `{"x":"../outside/sub/x"}`, Deny},
		{"a name in a shell string", "", []Rule{no}, open, `{"command":"cat ../outside/secret.txt"}`, Deny},
		{"outside of nothing", "", []Rule{out}, open, `{"path":"{outside}/x"}`, Allow},
		{"outside of the sandbox alone", "{home}/sandbox", []Rule{out}, open, `{"path":"{outside}/x"}`, Allow},
		{"beside the sandbox", "{home}/sandbox", nil, open, `{"path":"{outside}/x"}`, Allow},
		{"protected", "", []Rule{{Then: Allow}}, open, `{"path":"{hub}"}`, Deny},
		{"nothing is open", "", nil, shut, `{"path":"{outside}/x"}`, Deny},
		{"nothing but the sandbox", "{home}/sandbox", nil, shut, `{"path":"{home}/sandbox/x"}`, Allow},
		{"and not beside it", "{home}/sandbox", nil, shut, `{"path":"{home}/sandbox2/x"}`, Deny},
		{"outside of an empty list", "", []Rule{{Then: Escalate, Paths: &PathRule{Outside: true}}}, shut, `{"path":"{outside}/x"}`, Escalate},
		{"a view that nobody made", "{home}/sandbox", nil, rootsmgr.View{}, `{"path":"{home}/sandbox/x"}`, Deny},
	} {
		c := w.rules(e.sandbox, e.rules...)
		s, err := c.Scan(w.tool(c, "", anyTool), []byte(w.fill(e.args)))
		w.must(err)
		if v := c.Judge(s, Where{Cwd: w.project}, e.View); v.Decision != e.want {
			t.Errorf("%s: %v by %q, want %v: %+v", e.name, v.Decision, v.Rule, e.want, v.First)
		}
	}
}

// TestCallsWithoutPaths: a rule that asks nothing of paths is about the call itself, one that asks anything is not.
func TestCallsWithoutPaths(t *testing.T) {
	w := newWorld(t)
	for _, e := range []struct {
		name     string
		rules    []Rule
		args     string
		approved string
		want     Decision
		rule     string
		needs    bool
	}{
		{"no rule", nil, `{"n":1}`, "", Allow, RuleNoPath, false},
		{"paths empty", []Rule{{Then: Deny, Paths: &PathRule{}}}, `{"n":1}`, "", Allow, RuleNoPath, false},
		{"deny", []Rule{{Then: Deny}}, `{"n":1}`, "", Deny, "rule 1", true},
		{"escalate", []Rule{{Then: Escalate}}, `{"n":1}`, "", Escalate, "rule 1", true},
		{"approved", []Rule{{Then: Escalate}}, `{"n":1}`, "rule 1", Allow, "rule 1", true},
		{"approved otherwise", []Rule{{Then: Escalate}}, `{"n":1}`, "rule 2", Escalate, "rule 1", true},
		{"approval lifts no denial", []Rule{{Then: Deny}}, `{"n":1}`, "rule 1", Deny, "rule 1", true},
		{"allow before deny", []Rule{{Then: Allow, Tools: []string{"do_*"}}, {Then: Deny}}, `{"n":1}`, "", Allow, "rule 1", false},
		{"another tool", []Rule{{Then: Deny, Tools: []string{"x"}}}, `{"n":1}`, "", Allow, RuleNoPath, false},
		{"words that turn out to be none", []Rule{{Then: Deny}}, `{"command":"echo hello/world"}`, "", Deny, "rule 1", true},
		{"with a path", []Rule{{Then: Escalate}}, `{"path":"a.txt"}`, "", Escalate, "rule 1", true},
		{"with a path, approved", []Rule{{Then: Escalate}}, `{"path":"a.txt"}`, "rule 1", Allow, "rule 1", true},
		{"approval of a call opens no path of another rule", []Rule{{Name: "p", Then: Escalate, Paths: &PathRule{Outside: true}}, {Then: Escalate}}, `{"path":"a.txt","p2":"/etc/hosts"}`, "rule 2", Escalate, "p", true},
		{"both are asked about at once", []Rule{{Name: "p", Then: Escalate, Paths: &PathRule{Outside: true}}, {Then: Escalate}}, `{"path":"a.txt","p2":"/etc/hosts"}`, "", Escalate, "rule 2", true},
	} {
		c := w.rules("", e.rules...)
		s, err := c.Scan(w.tool(c, "", anyTool), []byte(e.args))
		w.must(err)
		where := w.where()
		where.Approved = e.approved
		v := c.Judge(s, where, w.view())
		if v.Decision != e.want || v.Rule != e.rule || s.NeedsJudge() != e.needs && !s.NeedsBoundary() {
			t.Errorf("%s: %v by %q, needs %v; want %v by %q, %v", e.name, v.Decision, v.Rule, s.NeedsJudge(), e.want, e.rule, e.needs)
		}
	}
}

// TestRulesOfRequests: V7. A request that is no call of a tool has its method for a name.
func TestRulesOfRequests(t *testing.T) {
	w := newWorld(t)
	for _, e := range []struct {
		name  string
		rules []Rule
		want  Decision
	}{
		{"no rule", nil, Allow},
		{"within", []Rule{{Then: Deny, Paths: within("{project}/src", access.Read)}}, Deny},
		{"writing", []Rule{{Then: Deny, Paths: within("{project}/src", access.Write)}}, Allow},
		{"every tool", []Rule{{Then: Deny, Tools: []string{"*"}}}, Deny},
		{"some tools", []Rule{{Then: Deny, Tools: []string{"read_*"}}}, Allow},
		{"escalate", []Rule{{Then: Escalate, Servers: []string{"child"}}}, Escalate},
	} {
		c := w.rules("", e.rules...)
		byURI, err := c.ScanURI("child", "file://"+w.project+"/src/main.go")
		w.must(err)
		byPrompt, err := c.ScanPrompt("child", "review", []byte(w.fill(`{"path":"{project}/src/main.go"}`)))
		w.must(err)
		byCompletion, err := c.ScanCompletion("child", "", "path", w.project+"/src/ma", nil)
		w.must(err)
		for kind, s := range map[string]*Scan{methodRead: byURI, methodPrompt: byPrompt, methodComplete: byCompletion} {
			if v := c.Judge(s, w.where(), w.view()); v.Decision != e.want {
				t.Errorf("%s: %s: %v by %q, want %v", e.name, kind, v.Decision, v.Rule, e.want)
			}
		}
	}
	c := w.rules("", Rule{Then: Deny, Tools: []string{methodRead}})
	for uri, want := range map[string]Decision{"https://example.com/x": Deny, "file://" + w.project + "/a.txt": Deny} {
		s, err := c.ScanURI("child", uri)
		w.must(err)
		if v := c.Judge(s, w.where(), w.view()); v.Decision != want {
			t.Errorf("%s: %v, want %v", uri, v.Decision, want)
		}
	}
}

// TestGrants: a grant is exact, and opens nothing but what a rule escalates.
func TestGrants(t *testing.T) {
	w := newWorld(t)
	rules := []Rule{{Name: "never", Then: Deny, Paths: within("{outside}/sub")}, {Name: "ask", Then: Escalate, Paths: &PathRule{Outside: true}}}
	dir, file := Grant{Path: w.outside, Roles: Roles(access.Read)}, Grant{Path: w.outside + "/secret.txt", File: true, Roles: Roles(access.Read, access.Write)}
	hub := Grant{Path: filepath.Dir(w.hub), Roles: AnyRole}
	w.must(os.Symlink(w.home+"/projects/sibling.txt", w.outside+"/planted"))
	w.must(os.Mkdir(w.outside+"/sub2", 0o700))
	for _, e := range []struct {
		name, tool, args string
		grants           []Grant
		want             Decision
	}{
		{"none", readTool, `{"path":"{outside}/secret.txt"}`, nil, Escalate},
		{"the directory", readTool, `{"path":"{outside}/secret.txt"}`, []Grant{dir}, Allow},
		{"through a link", readTool, `{"path":"{project}/link/secret.txt"}`, []Grant{dir}, Allow},
		{"another role", anyTool, `{"path":"{outside}/secret.txt"}`, []Grant{dir}, Escalate},
		{"that file", anyTool, `{"path":"{outside}/secret.txt"}`, []Grant{file}, Allow},
		{"below that file", readTool, `{"path":"{outside}/secret.txt/x"}`, []Grant{file}, Escalate},
		{"that file, and it is a directory", readTool, `{"path":"{outside}/sub2"}`, []Grant{{Path: w.outside + "/sub2", File: true, Roles: AnyRole}}, Escalate},
		{"that directory", readTool, `{"path":"{outside}/sub2"}`, []Grant{{Path: w.outside + "/sub2", Roles: AnyRole}}, Allow},
		{"its neighbour", readTool, `{"path":"{outside}/tool"}`, []Grant{file}, Escalate},
		{"a look-alike", readTool, `{"path":"{home}/outside2/x"}`, []Grant{dir}, Escalate},
		{"a link planted since", readTool, `{"path":"{outside}/planted"}`, []Grant{dir}, Escalate},
		{"climbing", readTool, `{"path":"{outside}/../projects/sibling.txt"}`, []Grant{dir}, Escalate},
		{"what a rule denies", readTool, `{"path":"{outside}/sub/x"}`, []Grant{dir, {Path: w.outside + "/sub", Roles: AnyRole}}, Deny},
		{"what is protected", readTool, `{"path":"{hub}"}`, []Grant{hub}, Deny},
		{"the zero grant", readTool, `{"path":"{outside}/secret.txt"}`, []Grant{{}, {Path: w.outside}, {Roles: AnyRole}, {File: true, Roles: AnyRole}}, Escalate},
		{"one of two paths", readTool, `{"path":"{outside}/secret.txt","p2":"{home}/projects/sibling.txt"}`, []Grant{dir}, Escalate},
	} {
		c := w.rules("", rules...)
		s, err := c.Scan(w.tool(c, "", e.tool), []byte(w.fill(e.args)))
		w.must(err)
		where := w.where()
		where.Grants = e.grants
		if v := c.Judge(s, where, w.view()); v.Decision != e.want {
			t.Errorf("%s: %v by %q, want %v: %+v", e.name, v.Decision, v.Rule, e.want, v.First)
		}
	}
	// A rule about calls is approved call by call: what a grant covers may stand beside anything.
	shell := w.rules("", Rule{Name: "ask", Then: Escalate, Tools: []string{"run_*"}})
	for approved, want := range map[string]Decision{"": Escalate, "ask": Allow, "other": Escalate} {
		s, err := shell.Scan(w.tool(shell, "", shellTool), []byte(w.fill(`{"command":"cat {project}/a.txt; make everything"}`)))
		w.must(err)
		where := w.where()
		where.Grants, where.Approved = []Grant{{Path: w.project, Roles: AnyRole}}, approved
		if v := shell.Judge(s, where, w.view()); v.Decision != want || v.First != nil {
			t.Errorf("a shell string approved under %q: %v %+v", approved, v.Decision, v.First)
		}
	}
	// Readings say what a grant is missing for.
	asked := w.rules("", rules...)
	s, err := asked.Scan(w.tool(asked, "", readTool), []byte(w.fill(`{"path":"../projects/sibling.txt"}`)))
	w.must(err)
	wide := w.where()
	wide.Served = append(slices.Clone(w.roots), w.outside) // from there it is inside nothing, and asked about as well
	v := asked.Judge(s, wide, w.view())
	for _, r := range v.First.Readings {
		if !r.Asks || !strings.HasPrefix(r.Leads, w.home+"/projects") {
			t.Errorf("reading %+v", r)
		}
	}
	// Where nothing is escalated a grant is worth nothing.
	c := w.rules("", Rule{Then: Allow, Paths: within("{outside}/sub")})
	s, err = c.Scan(w.tool(c, "", readTool), []byte(w.fill(`{"path":"{outside}/secret.txt"}`)))
	w.must(err)
	where := w.where()
	where.Grants = []Grant{dir, file, {Path: "/", Roles: AnyRole}}
	if v = c.Judge(s, where, w.view()); v.Decision != Deny {
		t.Errorf("a grant opened what the boundary denies: %+v", v)
	}
}

// TestCeilingBeforeRules: H5. Neither rule, grant nor sandbox opens what lies outside a token's directories.
func TestCeilingBeforeRules(t *testing.T) {
	w := newWorld(t)
	w.must(os.MkdirAll(w.home+"/sandbox", 0o700))
	c := w.rules("{home}/sandbox", Rule{Name: "ask", Then: Escalate, Paths: within("{outside}/sub")}, Rule{Name: "all", Then: Allow})
	tool := w.tool(c, "", anyTool)
	ceiling := rootsmgr.NewSnapshot(guard.OS{}, 1, rootsmgr.OriginCeiling, []rootsmgr.Entry{{URI: w.project}, {URI: w.home + "/projects"}}).Guard()
	for _, path := range []string{"{outside}/x", "{outside}/sub/x", "{home}/sandbox/x", "{project}/link/x", "/etc/passwd"} {
		s, err := c.Scan(tool, []byte(w.fill(`{"path":"`+path+`"}`)))
		w.must(err)
		where := w.where()
		where.Grants = []Grant{{Path: w.outside, Roles: AnyRole}}
		view := w.view()
		if v := c.Judge(s, where, view); v.Decision != Allow {
			t.Errorf("control: %s: %v by %q without a ceiling", path, v.Decision, v.Rule)
		}
		view.Ceiling = ceiling
		if v := c.Judge(s, where, view); v.Decision != Deny || v.Rule != RuleCeiling || v.First.Code != CodeCeiling {
			t.Errorf("%s: %v by %q under a ceiling", path, v.Decision, v.Rule)
		}
	}
	s, err := c.Scan(tool, []byte(w.fill(`{"path":"{home}/projects/sibling.txt"}`)))
	w.must(err)
	view := w.view()
	view.Ceiling = ceiling
	if v := c.Judge(s, w.where(), view); v.Decision != Allow || v.Rule != "all" {
		t.Errorf("a rule opens nothing below the ceiling: %+v", v)
	}
}

// TestBadPolicies: everything that is wrong is told at once, and where.
func TestBadPolicies(t *testing.T) {
	w := newWorld(t)
	_, err := NewChecker(Config{Children: []ChildConfig{{Name: "child"}}, Home: w.home, Policy: Policy{Sandbox: "no/where", Rules: []Rule{
		{Name: "twice"}, {Name: "twice"}, {Name: RuleInside}, {}, {Name: "a", Then: 9}, {Name: "b", Servers: []string{"[a"}}, {Name: "c", Tools: []string{""}},
		{Name: "d", Paths: &PathRule{Roles: []access.Role{access.None}}}, {Name: "e", Paths: &PathRule{Within: "rel"}}, {Name: "f", Paths: &PathRule{Within: w.project + "/a.txt"}},
		{Name: "g", Paths: &PathRule{Within: w.project + "/loop"}}, {Name: "h", Paths: &PathRule{Within: w.home + "/*"}}, {Name: "i", Paths: &PathRule{Within: w.project + "/link/../x"}},
		{Name: "fine", Paths: &PathRule{Within: "~/project"}},
	}}})
	got := map[int]string{}
	var walk func(error)
	walk = func(err error) {
		if many, ok := err.(interface{ Unwrap() []error }); ok { // this level
			for _, e := range many.Unwrap() {
				walk(e)
			}
			return
		}
		var p *PolicyError
		if !errors.As(err, &p) {
			t.Errorf("no PolicyError: %v", err)
			return
		}
		got[p.Rule] += strings.Join(p.Key, ".")
	}
	if err == nil {
		t.Fatal("accepted")
	}
	walk(err)
	want := map[int]string{-1: "sandbox", 1: "name", 2: "name", 3: "name", 4: "then", 5: "if.servers", 6: "if.tools", 7: "if.paths.roles",
		8: "if.paths.within", 9: "if.paths.within", 10: "if.paths.within", 11: "if.paths.within", 12: "if.paths.within"}
	for i, key := range want {
		if got[i] != key {
			t.Errorf("rule %d: told %q, want %q", i, got[i], key)
		}
	}
	if len(got) != len(want) {
		t.Errorf("told of %v", got)
	}
}
