package validate

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"mcphub/rootsmgr"
	"mcphub/rootsmgr/guard"
	"mcphub/validate/access"
	"mcphub/validate/declare"
	"mcphub/validate/detect"
	"mcphub/validate/machine"
	"mcphub/validate/policy"
	"mcphub/validate/schema"
)

func TestAModeDecidesWhatIsSearched(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rule := map[string]map[string]declare.ArgRule{"do_it": {"/target": {Role: access.Read}, "/free": {}}, "*": {"/all/*": {Role: access.Delete}}}
	strict := ChildConfig{Name: "child", Command: "x", Args: rule}
	declared, off := strict, strict
	declared.Mode, declared.ModeSet = declare.ModeDeclared, true
	off.Mode, off.ModeSet = declare.ModeOff, true
	remote := ChildConfig{Name: "child", URL: "https://example.com/mcp", Args: rule}
	local := ChildConfig{Name: "child", URL: "http://127.0.0.1:9/mcp", Args: rule}
	for _, e := range []struct {
		name  string
		child ChildConfig
		args  string
		want  policy.Decision
	}{
		{"strict: an absolute path", strict, `{"x":"/etc/passwd"}`, policy.Deny},
		{"strict: an exempt absolute path", strict, `{"free":"/etc/passwd"}`, policy.Allow},
		{"strict: an exempt relative path", strict, `{"free":"../outside"}`, policy.Allow},
		{"strict: a file URI is not exempt", strict, `{"free":"file:///etc/passwd"}`, policy.Deny},
		{"strict: a file URI in a text is not exempt", strict, `{"free":"x file:///etc/passwd"}`, policy.Deny},
		{"strict: a path behind a long option", strict, `{"free":"--output=/etc/passwd"}`, policy.Deny},
		{"strict: a path behind a short option", strict, `{"free":"-o/etc/passwd"}`, policy.Deny},
		{"strict: a relative path behind a short option", strict, `{"free":"-C ../outside"}`, policy.Deny},
		{"strict: a path behind joined short options", strict, `{"free":"-rf /etc/passwd"}`, policy.Deny},
		{"strict: a harmless option", strict, `{"free":"--flag=a/b"}`, policy.Allow},
		{"strict: a path below an exempt argument", strict, `{"free":{"deep":"/etc/passwd"}}`, policy.Allow},
		{"strict: another spelling is not exempt", strict, `{"FREE":"/etc/passwd"}`, policy.Deny}, // an exemption is not stretched to another spelling
		{"strict: a declared path in another spelling", strict, `{"TARGET":"../outside/x"}`, policy.Deny},
		{"strict: a declared path", strict, `{"target":"../outside/x"}`, policy.Deny},
		{"strict: a declared path inside", strict, `{"target":"a.txt"}`, policy.Allow},
		{"strict: a declared pattern", strict, `{"all":["../outside"]}`, policy.Deny},
		{"declared: an argument without a declaration", declared, `{"x":"/etc/passwd"}`, policy.Allow},
		{"declared: a name without a declaration", declared, `{"x":{"/etc/passwd":1}}`, policy.Allow},
		{"declared: a file URI", declared, `{"x":"file:///etc/passwd"}`, policy.Deny},
		{"declared: a file URI as a name", declared, `{"x":{"file:///etc/passwd":1}}`, policy.Deny},
		{"declared: a declared path", declared, `{"target":"/etc/passwd"}`, policy.Deny},
		{"declared: a declared path in another spelling", declared, `{"Target":"/etc/passwd"}`, policy.Deny},
		{"declared: a declared pattern", declared, `{"all":{"k":"/etc/passwd"}}`, policy.Deny},
		{"off: nothing is searched", off, `{"x":"/etc/passwd","target":"/etc/passwd","y":"file:///etc/passwd"}`, policy.Allow},
		{"a remote server: a path", remote, `{"x":"/etc/passwd"}`, policy.Allow},
		{"a remote server: a file URI", remote, `{"x":"file:///etc/passwd"}`, policy.Deny},
		{"a server on this machine: a path", local, `{"x":"/etc/passwd"}`, policy.Deny},
	} {
		c := w.checker(e.child)
		if _, v := w.call(c, w.tool(c, "", anyTool), e.args); v.Decision != e.want {
			t.Errorf("%s: %s: %v, want %v: %+v", e.name, e.args, v.Decision, e.want, v.Deciding)
		}
	}
}

// TestOperatorWins: an entry of hub.json outweighs the profile, argument by argument.
func TestOperatorWins(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.checker(ChildConfig{Name: "child", Command: "npx", CommandArgs: []string{"-y", "@modelcontextprotocol/server-filesystem"},
		Args: map[string]map[string]declare.ArgRule{"read_file": {"/path": {}}, "push_files": {"/files": {}}}})
	tool := w.tool(c, "whatever it says", `{"name":"read_file"}`)
	if tool.ProfileName() != "filesystem" {
		t.Fatalf("profile %q", tool.ProfileName())
	}
	if _, v := w.call(c, tool, `{"path":"/etc/passwd"}`); v.Decision != policy.Allow {
		t.Errorf("the operator's exemption does not hold: %+v", v.Deciding)
	}
	if _, v := w.call(c, w.tool(c, "", `{"name":"write_file"}`), `{"path":"/etc/passwd"}`); v.Decision != policy.Deny {
		t.Error("the profile does not hold for the other tools")
	}
	// The name a server gives itself does not outweigh the operator's command line.
	if _, v := w.call(c, w.tool(c, "memory-server", `{"name":"write_file"}`), `{"path":"/etc/passwd"}`); v.Decision != policy.Deny {
		t.Error("a server talked its way into another profile")
	}
}

func TestAnArgumentIsReadFromItsDeclaredBase(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.checker(ChildConfig{Name: "child", Command: "x", Args: map[string]map[string]declare.ArgRule{
		"*": {"/repo": {Role: access.Read}, "/files/*": {Role: access.Write, Base: "/repo"}, "/jobs/*/file": {Role: access.Read, Base: "/jobs/*/dir"}}}})
	tool := w.tool(c, "", anyTool)
	for _, e := range []struct {
		name string
		args string
		want policy.Decision
	}{
		{"a name below the base", `{"repo":"{project}/src","files":["main.go"]}`, policy.Allow},
		{"a climb that the base holds", `{"repo":"{project}/src","files":["../a.txt"]}`, policy.Allow}, // from the base it stays inside; from the working directory it would not
		{"a climb out of the base", `{"repo":"{project}/src","files":["../../a.txt"]}`, policy.Deny},
		{"a relative base counts from every start", `{"repo":"src","files":["../a.txt"]}`, policy.Deny}, // a relative base: every start counts
		{"a base outside", `{"repo":"{outside}","files":["x"]}`, policy.Deny},
		{"no base is given", `{"files":["../a.txt"]}`, policy.Deny},
		{"a base by a file URI", `{"repo":"file://{project}/src","files":["../a.txt"]}`, policy.Allow},
		{"a base by a tilde", `{"repo":"~/project/src","files":["../a.txt"]}`, policy.Allow},
		{"each element has its own base", `{"jobs":[{"dir":"{project}","file":"a.txt"},{"dir":"{project}/src","file":"../a.txt"}]}`, policy.Allow},
		{"an element whose own base it leaves", `{"jobs":[{"dir":"{project}/src","file":"x"},{"dir":"{project}","file":"../a.txt"}]}`, policy.Deny},
	} {
		if _, v := w.call(c, tool, e.args); v.Decision != e.want {
			t.Errorf("%s: %s: %v, want %v: %+v", e.name, e.args, v.Decision, e.want, v.Deciding)
		}
	}
	s, _ := w.call(c, tool, `{"repo":"{project}","files":["a"]}`)
	for _, f := range s.Findings() {
		if f.Pointer == "/files/0" && (f.Base != "/repo" || f.BaseDir != w.project || f.Role != access.Write || f.How != detect.HowDeclared) {
			t.Errorf("finding %+v", f)
		}
	}
}

// What there is no Checker or no tool for is refused.
func TestNothingToCheckWith(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.checker()
	if _, err := c.Scan(nil, nil); err == nil {
		t.Error("without a tool")
	}
	if _, err := (*Checker)(nil).Scan(w.tool(c, "", anyTool), nil); err == nil {
		t.Error("without a Checker")
	}
}

func TestBadDeclarations(t *testing.T) {
	t.Parallel()
	_, err := NewChecker(Config{
		Children: []ChildConfig{
			{Name: "a", Args: map[string]map[string]declare.ArgRule{"t": {"path": {Role: access.Read}}}},
			{Name: "b", Args: map[string]map[string]declare.ArgRule{"t": {"/x": {Role: access.Read, Base: "y"}}}},
			{Name: "c", Args: map[string]map[string]declare.ArgRule{"t": {"/x": {Role: access.None, Base: "/y"}}}},
			{Name: "d", Args: map[string]map[string]declare.ArgRule{"t": {"/x": {Role: 9}}}},
			{Name: "e"}, {Name: "e"},
		},
		Protected: []string{"relative/hub.json"},
	})
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{`server "a"`, `server "b"`, `server "c"`, `server "d"`, `server "e"`, "relative/hub.json"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not name %s: %v", want, err)
		}
	}
}

// TestAProtectedFileIsDeniedByEveryName holds that a protected file and all of a protected directory are denied inside the roots too, by every name that leads to
// them. A hard link stands for every name that text cannot show.
func TestAProtectedFileIsDeniedByEveryName(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.roots = []string{w.home} // everything is inside; only protection denies
	w.must(os.Link(w.hub, w.project+"/innocent.json"))
	w.must(os.Symlink(w.hub, w.project+"/soft.json"))
	w.must(os.Symlink(w.home+"/config", w.project+"/conf"))
	c, err := NewChecker(Config{Children: []ChildConfig{{Name: "child", Command: "x"}}, Protected: []string{w.hub, "~/state/audit"}, Home: w.home, Getenv: w.getenv})
	w.must(err)
	for _, e := range []struct {
		name       string
		tool, args string
		code       string // "" allowed
	}{
		{"its path", "read_file", `{"path":"{hub}"}`, CodeProtected},
		{"its path with dots", "read_file", `{"path":"{home}/config/../config/hub.json"}`, CodeProtected},
		{"a symlink", "read_file", `{"path":"{project}/soft.json"}`, CodeProtected},
		{"a directory symlink", "read_file", `{"path":"{project}/conf/hub.json"}`, CodeProtected},
		{"a hard link", "read_file", `{"path":"{project}/innocent.json"}`, CodeProtected},
		{"a relative path", "read_file", `{"path":"../config/hub.json"}`, CodeProtected},
		{"dots behind a link", "read_file", `{"path":"{project}/link/../config/hub.json"}`, CodeProtected},
		{"a file URI", "read_file", `{"x":"file://{hub}"}`, CodeProtected},
		{"a new file in a protected directory", "write_file", `{"path":"{home}/state/audit/new.jsonl"}`, CodeProtected},
		{"the protected directory", "write_file", `{"path":"{home}/state/audit"}`, CodeProtected},
		{"a list above", "list_directory", `{"path":"{home}"}`, ""},
		{"a list of the directory", "list_directory", `{"path":"{home}/config"}`, ""},
		{"a move of its directory", "move_file", `{"source":"{home}/config","destination":"{project}/x"}`, CodeProtectedBelow},
		{"a deletion above", "delete_directory", `{"path":"{home}/state"}`, CodeProtectedBelow},
		{"an unknown tool above", "do_it", `{"path":"{home}/config"}`, CodeProtectedBelow}, // unknown counts as write
		{"a working directory above", "run_tests", `{"cwd":"{home}"}`, ""},                 // where a tool works is not what it changes
		{"a deletion in a working directory above", "delete_all", `{"cwd":"{home}"}`, CodeProtectedBelow},
		{"a shell command", "run", `{"command":"cat {hub}"}`, CodeProtected},
		{"a shell list of the directory", "run", `{"command":"ls {home}/config"}`, ""},
		{"a file beside it", "write_file", `{"path":"{home}/config/other.json"}`, ""},
		{"a file whose name begins alike", "write_file", `{"path":"{home}/config/hub.json.bak"}`, ""},
	} {
		tool := w.tool(c, "", fmt.Sprintf(`{"name":%q}`, e.tool))
		s, err := c.Scan(tool, w.json(e.args))
		w.must(err)
		for _, open := range []bool{false, true} {
			v := w.view()
			v.Open = open
			got := c.Judge(s, w.where(), v)
			code := ""
			if got.Deciding != nil {
				code = got.Deciding.Code
			}
			if code != e.code || (got.Decision == policy.Deny) != (e.code != "") {
				t.Errorf("%s: %s %s, open %v: %v %q, want %q", e.name, e.tool, e.args, open, got.Decision, code, e.code)
			}
			if e.code != "" && got.Rule != RuleProtected {
				t.Errorf("%s: %s %s: rule %q", e.name, e.tool, e.args, got.Rule)
			}
		}
	}
}

// TestAPathWithoutRootsIsDenied: a client without roots has no boundary; what is judged then, and what is not.
func TestAPathWithoutRootsIsDenied(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.checker()
	tool := w.tool(c, "", anyTool)
	s, err := c.Scan(tool, []byte(`{"path":"/etc/hosts"}`))
	w.must(err)
	nul, err := c.Scan(tool, []byte(`{"path":"/etc/ho\u0000sts"}`))
	w.must(err)
	previous, err := c.Scan(tool, []byte(`{"path":"~-/x"}`))
	w.must(err)
	drive, err := c.Scan(tool, []byte(`{"path":"C:\\x"}`))
	w.must(err)
	loop, err := c.Scan(tool, w.json(`{"path":"{project}/loop/x"}`))
	w.must(err)
	none := rootsmgr.NewSnapshot(guard.OS{}, 7, rootsmgr.OriginNone, nil)
	for _, e := range []struct {
		name      string
		RootsView rootsmgr.RootsView
		want      policy.Decision
		code      string
	}{
		{"open to a client without roots", rootsmgr.RootsView{Snapshot: none, Case: rootsmgr.CaseUnsupported, Open: true}, policy.Allow, CodeOpen},
		{"closed to a client without roots", rootsmgr.RootsView{Snapshot: none, Case: rootsmgr.CaseUnsupported}, policy.Deny, CodeRootsUnsupported},
		{"empty roots", rootsmgr.RootsView{Snapshot: none, Case: rootsmgr.CaseEmpty}, policy.Deny, CodeRootsEmpty},
		{"failed roots", rootsmgr.RootsView{Snapshot: none, Case: rootsmgr.CaseFailed}, policy.Deny, CodeRootsFailed},
		{"no case", rootsmgr.RootsView{Snapshot: none}, policy.Deny, CodeRootsFailed},
		{"no view", rootsmgr.RootsView{}, policy.Deny, CodeRootsFailed},
	} {
		v := c.Judge(s, CallContext{}, e.RootsView)
		if v.Decision != e.want || v.Findings[0].Code != e.code {
			t.Errorf("%s: %v %s, want %v %s", e.name, v.Decision, v.Findings[0].Code, e.want, e.code)
		}
		if e.want == policy.Deny && v.Why == "" {
			t.Errorf("%s: no word on what to do", e.name)
		}
		if got := c.Judge(nul, CallContext{}, e.RootsView); got.Decision != policy.Deny {
			t.Errorf("%v: NUL passes", e.RootsView.Case)
		}
		if got := c.Judge(previous, CallContext{}, e.RootsView); got.Decision != e.want {
			t.Errorf("%s: the shell's previous directory: %v, want %v", e.name, got.Decision, e.want)
		}
		if got := c.Judge(drive, CallContext{}, e.RootsView); got.Decision != policy.Deny {
			t.Errorf("%s: a path of Windows passes", e.name)
		}
		if got := c.Judge(loop, CallContext{}, e.RootsView); got.Decision != policy.Deny {
			t.Errorf("%s: a link to itself passes", e.name)
		}
	}
	if v := c.Judge(s, CallContext{}, rootsmgr.RootsView{Snapshot: none, Open: true}); v.Generation != 7 || v.Rule != RuleNoBoundary {
		t.Errorf("verdict %+v", v)
	}
}

// TestARelativePathIsReadFromEachServedRoot: a relative path is read from each served root, and one reading outside denies.
func TestARelativePathIsReadFromEachServedRoot(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.roots = []string{w.project + "/src", w.project + "/docs"}
	w.must(os.Symlink(w.outside, w.project+"/docs/sub"))
	c := w.checker()
	tool := w.tool(c, "", anyTool)
	for args, want := range map[string]policy.Decision{
		`{"path":"main.go"}`:           policy.Allow,
		`{"path":"sub/x"}`:             policy.Deny, // harmless in src, a link out of docs
		`{"path":"../docs/x"}`:         policy.Allow,
		`{"path":"../a.txt"}`:          policy.Deny,
		`{"path":"{project}/a.txt"}`:   policy.Deny,
		`{"path":"{project}/docs/a"}`:  policy.Allow,
		`{"other":"sub/x"}`:            policy.Deny,
		`{"other":"sub2/x"}`:           policy.Allow,
		`{"path":"{project}/src2/x"}`:  policy.Deny,
		`{"path":"{project}/src"}`:     policy.Allow,
		`{"path":"{project}/src/./x"}`: policy.Allow,
	} {
		s, err := c.Scan(tool, w.json(args))
		w.must(err)
		if v := c.Judge(s, CallContext{Cwd: w.roots[0], Served: w.roots}, w.view()); v.Decision != want {
			t.Errorf("%s: %v, want %v", args, v.Decision, want)
		}
	}
}

// A relative path is read from each directory that the call names, however many those are. What does not start in one is read once.
func TestARelativePathIsReadFromEachNamedDirectory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.needsUnix()
	w.must(os.Symlink(w.outside, w.project+"/docs/sub"))
	w.must(os.Symlink(w.outside, w.project+"/docs/docs"))
	var many string
	for i := range 2 * maxHinted {
		w.must(mkdir(fmt.Sprintf("%s/%d", w.project, i)))
		many += fmt.Sprintf(`"{project}/%d",`, i)
	}
	c := w.checker()
	judgeAll(t, w, c, w.tool(c, "", anyTool), policy.Deny,
		`{"dir":"{project}/docs","x":"sub/x"}`,
		`{"paths":[`+many+`"{project}/docs"],"file":"sub/x"}`,
	)
	judgeAll(t, w, c, w.tool(c, "", anyTool), policy.Allow, `{"path":"docs"}`, `{"dir":"{project}/src","x":"sub/x"}`, `{"paths":[`+many+`"{project}/src"],"file":"sub/x"}`)
	_, v := w.call(c, w.tool(c, "", anyTool), `{"dir":"{project}/docs","x":"sub/x","none":"gone/y","y":"sub/y"}`)
	if len(v.Findings) != 3 || v.Findings[1].Decision != policy.Deny || v.Findings[2].Decision != policy.Deny {
		t.Errorf("both lead out: %v %+v", v.Decision, v.Findings)
	}
	based := w.checker(ChildConfig{Name: "child", Command: "x", Args: map[string]map[string]declare.ArgRule{"*": {"/name": {Role: access.Read, Base: "/dir"}}}})
	_, v = w.call(based, w.tool(based, "", anyTool), `{"dir":"{project}/docs","uri":"file://{project}/a.txt","path":"{project}/src","name":"a.txt"}`)
	if v.Decision != policy.Allow || len(v.Findings) != 4 {
		t.Errorf("%v %+v", v.Decision, v.Findings)
	}
	for _, f := range v.Findings {
		if len(f.Readings) != 1 {
			t.Errorf("%s: %+v", f.Pointer, f.Readings)
		}
	}
}

// TestASwappedLinkChangesTheVerdict: a link swapped between two calls changes the verdict.
func TestASwappedLinkChangesTheVerdict(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.checker()
	tool := w.tool(c, "", anyTool)
	rootsView := w.view()
	for i, want := range []policy.Decision{policy.Allow, policy.Deny, policy.Allow} {
		target := []string{w.project + "/src", w.outside, w.project + "/docs"}[i]
		_ = os.Remove(w.project + "/swap")
		w.must(os.Symlink(target, w.project+"/swap"))
		s, err := c.Scan(tool, []byte(`{"path":"swap/x"}`))
		w.must(err)
		if v := c.Judge(s, w.where(), rootsView); v.Decision != want {
			t.Errorf("link to %s: %v", target, v.Decision)
		}
	}
}

func TestEachOfManyPathsIsJudged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.checker()
	tool := w.tool(c, "", anyTool)
	list := strings.Repeat(`"src/main.go",`, 4999)
	if _, v := w.call(c, tool, `{"paths":[`+list+`"a.txt"]}`); v.Decision != policy.Allow || len(v.Findings) != 5000 {
		t.Errorf("%v with %d findings", v.Decision, len(v.Findings))
	}
	if _, v := w.call(c, tool, `{"paths":[`+list+`"link/x"]}`); v.Decision != policy.Deny || v.Deciding.Pointer != "/paths/4999" {
		t.Errorf("%v at %+v", v.Decision, v.Deciding)
	}
}

func TestPathsOfAContainerAreReadThroughItsMounts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.checker(ChildConfig{Name: "child", Command: "/usr/bin/docker", CommandArgs: []string{"run", "-i", "--rm", "-e", "X=1", "-v", w.project + ":/projects:ro",
		"--mount", "type=bind,source=" + w.outside + ",target=/other", "--mount", "type=volume,src=vol,dst=/vol", "-w", "/projects", "image", "-v", "/:/x"}})
	tool := w.tool(c, "", anyTool)
	for args, want := range map[string]policy.Decision{
		`{"path":"/projects/src/main.go"}`:         policy.Allow,
		`{"x":"/projects/src/main.go"}`:            policy.Allow,
		`{"path":"/projects"}`:                     policy.Allow,
		`{"path":"src/main.go"}`:                   policy.Allow,
		`{"path":"/projects/../projects/a.txt"}`:   policy.Allow,
		`{"path":"file:///projects/a.txt"}`:        policy.Allow,
		`{"path":"/projects/link/secret.txt"}`:     policy.Deny,
		`{"path":"/other/secret.txt"}`:             policy.Deny,
		`{"x":"/other/secret.txt"}`:                policy.Deny,
		`{"path":"/projects/../other/secret.txt"}`: policy.Deny,
		`{"path":"/etc/passwd"}`:                   policy.Deny,
		`{"path":"/vol/x"}`:                        policy.Deny,
		`{"path":"/projectsx"}`:                    policy.Deny,
		`{"path":"../etc/passwd"}`:                 policy.Deny,
		`{"path":"{project}/a.txt"}`:               policy.Deny,
		`{"path":"/x/etc"}`:                        policy.Deny,
		`{"out":"/dev/null"}`:                      policy.Allow,
	} {
		if _, v := w.call(c, tool, args); v.Decision != want {
			t.Errorf("%s: %v, want %v: %+v", args, v.Decision, want, v.Deciding)
		}
	}
	if machine.ReadContainer("npx", []string{"run", "-v", "/a:/b"}) != nil {
		t.Error("npx is no container")
	}
	for _, line := range [][]string{{"timeout", "60", "docker", "run", "-v", "/a:/b", "img"}, {"bash", "-c", "exec docker run -v /a:/b img"}} {
		if got := machine.ReadContainer(line[0], line[1:]); got == nil || len(got.Mounts) != 1 {
			t.Errorf("%q: %+v", line, got)
		}
	}
	if got := machine.ReadContainer("kid", []string{"--", "docker", "run", "-v", "/a:/b", "img"}); got != nil {
		t.Errorf("behind a command that is not known: %+v", got)
	}
	if got := machine.ReadContainer("podman", []string{"--log-level", "debug", "container", "run", "--volume=./x:/y", "-v", "named:/z", "-itv", "/q:/r", "img"}); got == nil || len(got.Mounts) != 2 {
		t.Errorf("podman: %+v", got)
	}
}

// TestFindingsOfACall: what explain will print.
func TestFindingsOfACall(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.checker()
	tool := w.tool(c, "", `{"name":"read_thing","inputSchema":{"type":"object","properties":{
		"kind":{"enum":["file","dir"]},"source":{"type":"string","enum":["web","disk"]},"where":{"type":"string","format":"file-path"},
		"files":{"type":"object","properties":{"main":{"type":"string"}}},"maybe":{"anyOf":[{"type":"string","format":"path"},{"type":"null"}]},
		"list":{"type":"array","items":{"$ref":"#/$defs/p"}}},"$defs":{"p":{"type":"string","format":"directory-path"}}}}`)
	s, v := w.call(c, tool, `{"kind":"dir","source":"web","where":"a.txt","files":{"main":"x","src/b.go":"y"},"maybe":"docs","list":["src","passwd"],"x":"~/project"}`)
	type line struct {
		pointer, how string
		role         access.Role
	}
	var got []line
	for _, f := range s.Findings() {
		if f.How == detect.HowLink {
			continue // bare names beside and below paths, which are looked up
		}
		got = append(got, line{f.Pointer, f.How, f.Role})
	}
	want := []line{
		{"/where", schema.HowFormat, access.Read}, {"/files/src~1b.go", detect.HowMember, access.Read}, {"/maybe", schema.HowFormat, access.Read},
		{"/list/0", schema.HowFormat, access.Read}, {"/list/1", schema.HowFormat, access.Read}, {"/x", detect.HowHome, access.Read},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if v.Decision != policy.Deny || v.Deciding == nil || v.Deciding.Pointer != "/list/1" || v.Deciding.Code != CodeOutsideLink || v.Deciding.Target != w.outside+"/secret.txt" {
		t.Errorf("verdict %+v", v.Deciding)
	}
	if want := `"mcpServers": { "child": { "paths": { "args": { "read_thing": { "/list/*": "none" } } } } }`; v.Deciding.Hint != want {
		t.Errorf("hint %s, want %s", v.Deciding.Hint, want)
	}
	if len(v.Roots) != 1 || v.Rule != RuleBoundary || v.Why == "" || v.Generation != 1 {
		t.Errorf("verdict %+v", v)
	}
}

// TestRequestsBesideToolCallsAreJudgedByTheirPaths holds that a request that is no call of a tool is judged by its paths too: the URI of a resource, the values in its template,
// and the arguments of prompts and completions.
func TestRequestsBesideToolCallsAreJudgedByTheirPaths(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.checker()
	for _, e := range []struct {
		name          string
		uri, template string
		want          policy.Decision
	}{
		{"a file inside", "file://{project}/a.txt", "", policy.Allow},
		{"a file outside", "file:///etc/passwd", "", policy.Deny},
		{"a scheme in capitals", "FILE:/etc/passwd", "", policy.Deny},
		{"encoded dots", "file://{project}/%2e%2e/outside", "", policy.Deny},
		{"a path of a template outside", "file:///etc/passwd", "file:///{+path}", policy.Deny},
		{"a path of a template inside", "file://{project}/a.txt", "file:///{+path}", policy.Allow},
		{"a value of a template inside", "file://local/a.txt", "file://local/{path}", policy.Allow},
		{"an encoded value outside", "file://local/%2Fetc%2Fpasswd", "file://local/{path}", policy.Deny},
		{"an absolute value", "file://local//etc/passwd", "file://local/{path}", policy.Deny},
		{"a value that climbs", "file://local/../outside/secret.txt", "file://local/{path}", policy.Deny},
		{"a link out", "file://local/link", "file://local/{path}", policy.Deny},
		{"a host without a template", "file://local/a.txt", "", policy.Deny},
		{"another host than the template", "file://other/a.txt", "file://local/{path}", policy.Deny},
		{"a name that is no file", "notes://x/a.txt", "notes://x/{name}", policy.Allow},
		{"an encoded path as a name", "notes://x/%2Fetc%2Fpasswd", "notes://x/{name}", policy.Deny},
		{"a path in a query", "notes://x?file=/etc/passwd", "notes://x{?file}", policy.Deny},
		{"a name that climbs", "notes://x/a/b/../../../etc", "notes://x/{+path}", policy.Deny},
		{"a scheme without paths", "memory://x/y", "", policy.Allow},
		{"a number", "test://static/resource/1", "test://static/resource/{id}", policy.Allow},
		{"a web page", "https://example.com/etc/passwd", "", policy.Allow},
		{"a bare absolute path", "/etc/passwd", "", policy.Deny},
		{"a bare relative path", "../outside", "", policy.Deny},
		{"a path in another scheme", "sqlite:////etc/x.db", "", policy.Deny},
	} {
		var templates []string
		if e.template != "" {
			templates = []string{"other://{x}", e.template}
		}
		s, err := c.ScanURI("child", w.fill(e.uri), templates...)
		if err != nil {
			t.Errorf("%s: %s: %v", e.name, e.uri, err)
			continue
		}
		if v := c.Judge(s, w.where(), w.view()); v.Decision != e.want {
			t.Errorf("%s: %s with %q: %v, want %v: %+v", e.name, e.uri, e.template, v.Decision, e.want, v.Deciding)
		}
	}
	if _, err := c.ScanURI("child", "file:///\xff"); err == nil {
		t.Error("a URI that is not UTF-8 passes")
	}
	if _, err := c.ScanURI("nobody", "file:///a"); err == nil {
		t.Error("an unknown child passes")
	}
	judge := func(s *Scan, err error) policy.Decision {
		t.Helper()
		w.must(err)
		return c.Judge(s, w.where(), w.view()).Decision
	}
	if judge(c.ScanPrompt("child", "p", []byte(`{"topic":"/etc/passwd"}`))) != policy.Deny || judge(c.ScanPrompt("child", "p", []byte(`{"topic":"x","file":"a.txt"}`))) != policy.Allow {
		t.Error("prompt arguments")
	}
	if judge(c.ScanCompletion("child", "", "path", "../outside", nil)) != policy.Deny || judge(c.ScanCompletion("child", "", "path", "src/", []byte(`{"x":"y"}`))) != policy.Allow {
		t.Error("completion of a prompt")
	}
	if judge(c.ScanCompletion("child", "", "name", "x", []byte(`{"x":"/etc/passwd"}`))) != policy.Deny {
		t.Error("completion context")
	}
	if judge(c.ScanCompletion("child", "file:///{+path}", "path", "etc/pass", nil)) != policy.Deny {
		t.Error("completion of a template")
	}
	for template, want := range map[string]bool{"": true, "notes://x/{path}": false} { // hub.json declares arguments of prompts, and no parts of URIs
		s, err := c.ScanCompletion("child", template, "path", "../outside", nil)
		w.must(err)
		if v := c.Judge(s, w.where(), w.view()); v.Deciding == nil || (v.Deciding.Hint != "") != want {
			t.Errorf("completion of %q: %+v", template, v.Deciding)
		}
	}
	if judge(c.ScanCompletion("child", "file://local/{path}", "path", "sr", nil)) != policy.Allow {
		t.Error("honest completion of a template")
	}
}
