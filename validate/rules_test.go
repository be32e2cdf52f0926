package validate

import (
	"os"
	"strings"
	"testing"

	"mcphub/internal/lazyregexp"
	"mcphub/validate/declare"
	"mcphub/validate/detect"
	"mcphub/validate/policy"
)

// judgeAll holds calls of one tool against what each should become.
func judgeAll(t *testing.T, w *world, c *Checker, tool *Tool, want policy.Decision, list ...string) {
	t.Helper()
	for _, args := range list {
		s, err := c.Scan(tool, w.json(args))
		if err != nil {
			t.Errorf("%.300s: %v", args, err)
			continue
		}
		if v := c.Judge(s, w.where(), w.view()); v.Decision != want {
			why := ""
			if v.Deciding != nil {
				why = v.Deciding.Pointer + " " + v.Deciding.Value + " " + v.Deciding.How + " " + v.Deciding.Code
			}
			t.Errorf("%.300s: %v %s", args, v.Decision, why)
		}
	}
}

// TestContentKeys: prose is exempt whatever it holds, and what is never exempt.
func TestContentKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.checker()
	tool := w.tool(c, "", anyTool)
	judgeAll(t, w, c, tool, policy.Allow,
		`{"title":"/etc/passwd is world-readable"}`, `{"title":"/etc/passwd"}`, `{"note":"~/.ssh"}`, `{"notes":["/etc/hosts"]}`, `{"reason":"see file:///etc/passwd"}`,
		`{"search":"/etc/passwd","replace":"/etc/hosts"}`, `{"old":"/etc/passwd","new":"/etc/hosts"}`, `{"search":"../x","replacement":"/etc"}`, `{"find":"/etc/x","replace":"/etc/y"}`,
		`{"text":"file:///x"}`, `{"prompt":"Summarise file:///etc/passwd"}`, `{"code":"open('/etc/passwd')"}`, `{"javascript":"fetch('/etc/passwd')"}`, `{"css":"url('/etc/passwd')"}`,
		`{"xpath":"/etc/passwd"}`, `{"jq":"select(.p == \"/etc/passwd\")"}`, `{"selector":"a[href='/etc/passwd']"}`, `{"regex":"/etc/.*"}`, `{"body":"@/etc is the alias"}`,
		`{"path":"{project}/a.txt","message":"@/etc/passwd"}`, `{"repo_path":"{project}","body":"@/etc/passwd"}`,
	)
	judgeAll(t, w, c, tool, policy.Deny,
		`{"text":"file:///etc/passwd"}`, `{"content":"file:///etc"}`, `{"message":["file:///etc/passwd"]}`, `{"query":"file:///etc/passwd"}`, `{"q":"FILE:///etc/passwd"}`, `{"search":"file:///etc/passwd"}`,
		`{"selector":"file:///etc/passwd"}`, `{"body":"@/etc/passwd"}`, `{"data":"@/etc/passwd"}`, `{"data":"@{outside}/secret.txt"}`, `{"data":"@file:///etc/passwd"}`, `{"text":" @~/outside/secret.txt "}`,
		`{"content":{"x":"/etc/passwd"}}`, `{"content":[["/etc/passwd"]]}`, `{"content":[{"path":"/etc/passwd"}]}`, `{"old":"/etc/passwd"}`, `{"search":"/etc/passwd"}`,
		`{"pattern":"/etc/passwd"}`, `{"glob":"/etc/pass*"}`,
	)
	move := w.tool(c, "", `{"name":"rename_file"}`)
	judgeAll(t, w, c, move, policy.Deny, `{"old":"/etc/passwd","new":"x"}`, `{"old":"a.txt","new":"{outside}/x"}`)

	remote, err := NewChecker(Config{Children: []ChildConfig{{Name: "child", Mode: declare.ModeDeclared, ModeSet: true}}, Home: w.home, Getenv: w.getenv})
	w.must(err)
	tool = w.tool(remote, "", anyTool)
	judgeAll(t, w, remote, tool, policy.Deny, `{"q":"file:///etc/passwd"}`, `{"query":"file:///etc/passwd"}`, `{"search":"file:///etc/passwd"}`, `{"text":"file:///etc/passwd"}`, `{"x":"file:///etc/passwd"}`, `{"body":"@/etc/passwd"}`)
	judgeAll(t, w, remote, tool, policy.Allow, `{"q":"/etc/passwd"}`, `{"text":"see file:///etc/passwd"}`, `{"q":"https://x/etc"}`, `{"x":"/etc/passwd"}`)
}

// TestPatchHeaders: the paths in the headers of a patch are findings, its body is not.
func TestPatchHeaders(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.checker()
	tool := w.tool(c, "", anyTool)
	attacks := []string{
		`--- a/a.txt\n+++ /etc/passwd\n@@ -1 +1 @@\n-a\n+b\n`, `--- /etc/passwd\n+++ b/a.txt\n`, `--- a/x\n+++ b/../../outside/secret.txt\n@@ -1 +1 @@\n-a\n+b\n`,
		`diff --git a/../../outside/secret.txt b/x\n`, `diff --git a/a.txt b/a.txt\nrename from a.txt\nrename to ../outside/new.txt\n`, `diff --git a/x b/x\ncopy to ../outside/new.txt\n`,
		`*** Begin Patch\n*** Update File: /etc/passwd\n@@\n-a\n+b\n*** End Patch`, `*** Begin Patch\n*** Add File: ../outside/x\n+b\n*** End Patch`, `*** Begin Patch\n*** Delete File: link/secret.txt\n*** End Patch`,
		`*** Begin Patch\n*** Update File: a.txt\n*** Move to: /etc/x\n*** End Patch`, `Index: ../outside/secret.txt\n===\n`, `*** /etc/passwd\tdate\n--- a.txt\tdate\n`,
		`--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-a\n+b\n--- a/b\n+++ /etc/passwd\n`, `--- a/a.txt\r\n+++ /etc/passwd\r\n`, `+++ \"/etc/pass\\167d\"\n`, `--- a/x\n+++ link/secret.txt\n`,
		`--- a\n+++ b\n@@ -0,0 +1 @@\n+x\n+++ /etc/passwd\n`, `--- a\n+++ b\n@@ -1,900 +1,900 @@\n x\ndiff --git a/x b/x\n--- a/x\n+++ /etc/passwd\n`,
	}
	for _, a := range attacks {
		for _, key := range []string{"patch", "diff", "content", "input"} {
			judgeAll(t, w, c, tool, policy.Deny, `{"`+key+`":"`+a+`"}`)
		}
		inside := strings.NewReplacer("../../outside/secret.txt", "src/main.go", "../outside/secret.txt", "src/main.go", `/etc/pass\\167d`, "src/x", "/etc/passwd", "src/main.go", "../outside/new.txt", "src/n", "../outside/x", "src/x", "link/secret.txt", "src/x", "/etc/x", "src/x").Replace(a)
		judgeAll(t, w, c, tool, policy.Allow, `{"patch":"`+inside+`"}`)
	}
	judgeAll(t, w, c, tool, policy.Allow,
		`{"patch":"--- a/README.md\n+++ b/README.md\n@@ -1,2 +1,2 @@\n--- /etc/hosts\n--- /etc/hosts\n+++ /etc/passwd\n+++ /etc/passwd\n"}`,
		`{"patch":"--- a/x\n+++ b/x\n@@ -1,3 +1,2 @@\n x\n--- /etc/old comment\n y\n"}`, `{"diff":"--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+/etc/passwd\n"}`,
		`{"content":"--- \ntitle: x\n---\n/etc/passwd"}`, `{"content":"text\n+++ /etc/passwd\n"}`, `{"patch":"[{\"op\":\"add\",\"path\":\"/home/x\",\"value\":1}]"}`,
	)
}

// TestSchemaPaths: a schema may tell that an argument holds a path.
func TestSchemaPaths(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.checker()
	define := func(schema string) *Tool {
		t.Helper()
		return w.tool(c, "", `{"name":"do_it","inputSchema":`+schema+`}`)
	}
	path := `{"type":"string","format":"path"}`
	for _, schema := range []string{
		`{"properties":{"zz":` + path + `}}`, `{"additionalProperties":` + path + `}`, `{"unevaluatedProperties":` + path + `}`, `{"patternProperties":{"^z":` + path + `}}`,
		`{"dependentSchemas":{"zz":{"properties":{"zz":` + path + `}}}}`, `{"if":{"properties":{"zz":` + path + `}},"then":{}}`, `{"if":{},"then":{"properties":{"zz":` + path + `}}}`,
		`{"not":{"required":["no"],"properties":{"zz":` + path + `}}}`, `{"allOf":[{"anyOf":[{"oneOf":[{"properties":{"zz":` + path + `}}]}]}]}`,
		`{"$defs":{"p":` + path + `},"properties":{"zz":{"$ref":"#/$defs/p"}}}`, `{"properties":{"zz":{"anyOf":[{"type":"null"},` + path + `]}}}`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","dependencies":{"zz":{"properties":{"zz":` + path + `}}}}`,
		`{"properties":{"zz":{"format":"PATH"}}}`, `{"properties":{"zz":{"format":"File-Path"}}}`, `{"properties":{"zz":{"format":"directory"}}}`, `{"properties":{"zz":{"format":"file-uri"}}}`,
		`{"properties":{"zz":{"format":"filename"}}}`, `{"properties":{"zz":{"description":"Absolute path to the file to read"}}}`, `{"properties":{"zz":{"title":"File path"}}}`,
		`{"properties":{"zz":{"description":"The path to the workspace directory. Must exist."}}}`, `{"properties":{"zz":{"description":"Optional directory path"}}}`,
	} {
		tool := define(schema)
		// passwd leads outside, and has no slash that would make it a path by itself.
		judgeAll(t, w, c, tool, policy.Deny, `{"zz":"passwd"}`)
		judgeAll(t, w, c, tool, policy.Allow, `{"zz":"a.txt"}`)
	}
	for _, schema := range []string{`{"items":` + path + `}`, `{"contains":` + path + `}`, `{"prefixItems":[` + path + `]}`, `{"unevaluatedItems":` + path + `}`} {
		tool := define(`{"properties":{"zz":` + schema + `}}`)
		judgeAll(t, w, c, tool, policy.Deny, `{"zz":["passwd"]}`)
		judgeAll(t, w, c, tool, policy.Allow, `{"zz":["a.txt"]}`)
	}
	for _, words := range []string{"The path of the URL", "Path to the API endpoint", "A name", "File path pattern to match", "JSON path of the field", "The title. Absolute path to nothing", "Path to the property in the document"} {
		judgeAll(t, w, c, define(`{"properties":{"zz":{"description":"`+words+`"}}}`), policy.Allow, `{"zz":"passwd"}`)
	}
	for args, want := range map[string]policy.Decision{`{}`: policy.Deny, `{"dir":"src"}`: policy.Allow, `{"other":1}`: policy.Deny} {
		judgeAll(t, w, c, define(`{"properties":{"dir":{"type":"string","default":"/etc"}}}`), want, args)
		judgeAll(t, w, c, define(`{"properties":{"dir":{"type":"string","default":"."}}}`), policy.Allow, args)
		judgeAll(t, w, c, define(`{"properties":{"name":{"type":"string","default":"/etc"}}}`), policy.Allow, args)
	}
	s, err := c.Scan(define(`{"properties":{"dir":{"default":"/etc"}}}`), []byte(`{}`))
	w.must(err)
	if v := c.Judge(s, w.where(), w.view()); v.Deciding.How != detect.HowDefault || v.Deciding.Pointer != "/dir" {
		t.Errorf("%+v", v.Deciding)
	}
}

// TestDevices: what the system gives to every program is no path outside, and the rest of its folder is one.
func TestDevices(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.checker()
	read, write := w.tool(c, "", `{"name":"read_file"}`), w.tool(c, "", `{"name":"write_file"}`)
	judgeAll(t, w, c, read, policy.Allow, `{"path":"/dev/null"}`, `{"path":"/dev/zero"}`, `{"path":"/dev/random"}`, `{"path":"/dev/urandom"}`, `{"command":"head -c 8 /dev/urandom"}`)
	judgeAll(t, w, c, read, policy.Deny, `{"path":"/dev/stderr"}`, `{"path":"/dev/stdin"}`, `{"path":"/dev/fd/0"}`, `{"path":"/dev/mem"}`)
	judgeAll(t, w, c, write, policy.Allow, `{"path":"/dev/null"}`, `{"path":"/dev/stderr"}`, `{"command":"echo x > /dev/stderr"}`)
	judgeAll(t, w, c, write, policy.Deny, `{"path":"/dev/stdout"}`, `{"path":"/dev/zero"}`, `{"path":"/dev/fd/1"}`, `{"path":"/dev/sda"}`)
}

// TestDevicesInText: of the words of a longer string those devices alone count for nothing that belong to no directory. Others
// are memory that programs share, terminals and disks. The control has all of /dev excepted.
func TestDevicesInText(t *testing.T) {
	w := newWorld(t)
	c, err := NewChecker(Config{Children: []ChildConfig{{Name: "child", Command: "some-server"}}, FS: everydayDisk{w.home}, Home: w.home, Getenv: w.getenv})
	w.must(err)
	tool := w.tool(c, "", anyTool)
	judgeAll(t, w, c, tool, policy.Allow, `{"query":"COPY t TO '/dev/null'"}`, `{"config":"entropy: /dev/urandom"}`, `{"config":"of=/dev/null"}`, `{"command":"ls 2>/dev/null"}`, `{"command":"dd if=/dev/zero of=/dev/null count=1"}`)
	attacks := []string{
		`{"query":"COPY t TO '/dev/shm/psm_4f2a'"}`, `{"query":"ATTACH '/dev/shm/psm_4f2a' AS x"}`, `{"config":"output: /dev/pts/3"}`, `{"template":"{{ include '/dev/pts/3' }}"}`,
		`{"query":"SELECT * FROM read_blob('/dev/sda1')"}`, `{"config":"disk = \"/dev/mem\""}`, `{"query":"FROM '/dev/shm/*'"}`,
	}
	judgeAll(t, w, c, tool, policy.Deny, attacks...)
	judgeAll(t, w, c, tool, policy.Deny, `{"query":"COPY t FROM '/dev/fd/7'"}`, `{"query":"COPY t FROM '/dev/stdin'"}`) // as ever: they mean something else in the server
	now := systemPlace
	defer func() { systemPlace = now }()
	systemPlace = lazyregexp.New(`^/(?:usr|bin|sbin|lib[^/]*|dev)(?:/|$)`)
	judgeAll(t, w, c, tool, policy.Allow, attacks...)
}

// TestProgramsAsSettings: a program of the system is no path under a key that says so.
func TestProgramsAsSettings(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.checker()
	tool := w.tool(c, "", anyTool)
	judgeAll(t, w, c, tool, policy.Allow, `{"shell":"/bin/sh"}`, `{"default_shell":"/bin/sh"}`, `{"interpreter":"/bin/sh"}`, `{"executable":"/bin/sh"}`, `{"program":"/bin/sh"}`)
	judgeAll(t, w, c, tool, policy.Deny, `{"interpreter":"{outside}/tool"}`, `{"program":"/etc/passwd"}`, `{"executable":"/bin/../etc/passwd"}`, `{"name":"/bin/sh"}`)
}

// TestLongPaths: a path longer than any that can be opened is one all the same where cleaning shortens it.
func TestLongPaths(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.checker()
	tool := w.tool(c, "", anyTool)
	dots := strings.Repeat("./", 4000)
	for _, key := range []string{"x", "path", "query", "files"} {
		judgeAll(t, w, c, tool, policy.Deny, `{"`+key+`":"/etc/`+dots+`passwd"}`, `{"`+key+`":"link/`+dots+`secret.txt"}`, `{"`+key+`":"a 'link/`+dots+`secret.txt'"}`, `{"`+key+`":"x=/etc/`+dots+`passwd"}`)
		if key == "x" || key == "query" {
			judgeAll(t, w, c, tool, policy.Allow, `{"`+key+`":"src/`+dots+`main.go"}`)
		}
	}
}

// TestWrappedURIs: the inside of a wrapper counts.
func TestWrappedURIs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.checker()
	tool := w.tool(c, "", anyTool)
	judgeAll(t, w, c, tool, policy.Deny, `{"x":"zip://a::file:///etc/passwd"}`, `{"x":"zip://a::/etc/passwd"}`, `{"url":"simplecache::zip://x::file:///etc/passwd"}`, `{"x":"filecache::file:///etc/passwd"}`,
		`{"x":"php://filter/read=x/resource=/etc/passwd"}`, `{"x":"php://filter/resource=file:///etc/passwd"}`, `{"x":"/vsizip//etc/passwd/y"}`, `{"x":"/vsigzip//etc/passwd"}`,
		`{"x":"/vsizip/{/etc/passwd}/y"}`, `{"x":"/vsicurl/file:///etc/passwd"}`, `{"path":"zip://a::/etc/passwd"}`, `{"x":"jdbc:sqlite:/etc/passwd"}`, `{"x":"tar://a::/etc/passwd"}`, `{"query":"select * from read_csv('zip://a::/etc/passwd')"}`,
		`{"x":"libarchive://x::{outside}/secret.txt"}`, `{"x":"dir::file:///etc"}`)
	judgeAll(t, w, c, tool, policy.Allow, `{"x":"zip://a::https://example.com/x.zip"}`, `{"x":"zip://a::{project}/a.zip"}`, `{"x":"php://memory"}`, `{"x":"php://filter/resource=https://x/y"}`, `{"x":"std::vector"}`, `{"x":"Foo::Bar::baz/x"}`,
		`{"x":"/vsizip/{project}/a.zip"}`, `{"x":"/vsimem/x.tif"}`, `{"x":"/vsicurl/https://x/y"}`)
}

// TestBlamedArgument: the denial names the argument that leads out, not one that is read from there.
func TestBlamedArgument(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.checker()
	tool := w.tool(c, "", `{"name":"search_files"}`)
	for args, want := range map[string]string{
		`{"path":".","pattern":"/etc"}`:                             "/pattern",
		`{"pattern":"/etc","path":"."}`:                             "/pattern",
		`{"path":"src","directory":"{outside}"}`:                    "/directory",
		`{"path":"../../x","directory":"src","file":"{outside}/y"}`: "/path",
		`{"file":"secret.txt","path":"a.txt","dir":"{outside}"}`:    "/dir",
	} {
		_, v := w.call(c, tool, args)
		if v.Decision != policy.Deny || v.Deciding.Pointer != want {
			t.Errorf("%s: %v at %+v, want %s", args, v.Decision, v.Deciding, want)
		}
		if !strings.HasPrefix(v.Deciding.Hint, `"mcpServers": { "child": { "paths": { "args": { "search_files": { "`+want+`"`) {
			t.Errorf("%s: hint %s", args, v.Deciding.Hint)
		}
	}
	if _, v := w.call(c, w.tool(c, "", `{"name":"run"}`), `{"command":"cat /etc/passwd"}`); v.Deciding == nil || v.Deciding.Does() != "read" ||
		v.Deciding.Hint != `"mcpServers": { "child": { "paths": { "args": { "run": { "/command": "none" } } } } }` {
		t.Errorf("a shell string: %+v", v.Deciding)
	}
	if _, v := w.call(c, w.tool(c, "", `{"name":"run"}`), `{"command":"echo x > {outside}/new"}`); v.Deciding == nil || v.Deciding.Does() != "write" {
		t.Errorf("a redirection: %+v", v.Deciding)
	}
}

// TestEmptyClass: a class of nothing is text to a shell.
func TestEmptyClass(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.checker()
	tool := w.tool(c, "", anyTool)
	judgeAll(t, w, c, tool, policy.Allow, `{"command":"ls []"}`, `{"command":"ls [!] a[]b*"}`, `{"command":"echo [] {} ()"}`, `{"args":["ls []*"]}`)
}

// TestOneReadingOfLenientJSON: an apostrophe in a comment hides nothing that comes after it, nor does a comment behind
// blanks.
func TestOneReadingOfLenientJSON(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.checker()
	tool := w.tool(c, "", anyTool)
	for _, text := range []string{`{// it's one\n 'path': '$'}`, `{/* don't */ path: '$'}`, `  // it is one\n{\"path\": \"$\"}`, `{'path': u'$'} # that's all`} {
		judgeAll(t, w, c, tool, policy.Deny, `{"config":"`+strings.ReplaceAll(text, "$", "passwd")+`"}`)
		judgeAll(t, w, c, tool, policy.Allow, `{"config":"`+strings.ReplaceAll(text, "$", "a.txt")+`"}`)
	}
}

// TestAdditionalPropertiesAreOthers: what the schema says about further arguments is not said of one that it names.
func TestAdditionalPropertiesAreOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.checker()
	tool := w.tool(c, "", `{"name":"do_it","inputSchema":{"type":"object","properties":{"q":{"type":"string"}},"additionalProperties":{"type":"string","format":"path"}}}`)
	judgeAll(t, w, c, tool, policy.Deny, `{"other":"passwd"}`)
	judgeAll(t, w, c, tool, policy.Allow, `{"q":"passwd"}`, `{"other":"a.txt"}`)
}

// TestRulesAboutWhatIsNotThere: a relative path that may be no path counts under a rule if something is there, or if a tool would make it.
func TestRulesAboutWhatIsNotThere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.rules("", policy.Rule{Then: policy.Deny, Paths: within("{project}/src")})
	read, write := w.tool(c, "", `{"name":"read_it"}`), w.tool(c, "", `{"name":"write_it"}`)
	judgeAll(t, w, c, read, policy.Deny, `{"x":"src/main.go"}`)
	judgeAll(t, w, c, write, policy.Deny, `{"x":"src/main.go"}`, `{"x":"src/new"}`, `{"command":"touch src/new"}`)
	judgeAll(t, w, c, read, policy.Allow, `{"x":"src/new"}`)
	judgeAll(t, w, c, write, policy.Allow, `{"x":"src/gone/new"}`, `{"command":"src/new"}`)
}

// TestPatternsWithVariables: a pattern is matched with each value that its variables may have.
func TestPatternsWithVariables(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.needsUnix()
	c, err := NewChecker(Config{Children: []ChildConfig{{Name: "child", Command: "x", Inherit: []string{"PART"}}}, Home: w.home, Getenv: func(name string) string {
		if name == "PART" {
			return "src/"
		}
		return w.getenv(name)
	}})
	w.must(err)
	tool := w.tool(c, "", anyTool)
	judgeAll(t, w, c, tool, policy.Deny, `{"command":"cat ${PART:-pass}*"}`)
	judgeAll(t, w, c, tool, policy.Allow, `{"command":"cat ${PART:-a}*"}`)
}

// TestANamedDirectoryMayBeTheHomeFolder: a tilde by itself may stand for a directory that the call names, as the beginning of a path may.
func TestANamedDirectoryMayBeTheHomeFolder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	config := w.config("", policy.Rule{Then: policy.Allow, Paths: within("{home}/config")})
	config.Home = w.project
	c, err := NewChecker(config)
	w.must(err)
	tool := w.tool(c, "", `{"name":"run"}`)
	for _, home := range []string{"~", "~/", "~/hub.json"} {
		judgeAll(t, w, c, tool, policy.Deny, `{"cwd":"{home}/config","command":"rm -r `+home+`"}`)
		judgeAll(t, w, c, tool, policy.Allow, `{"cwd":"{project}/src","command":"rm -r `+home+`"}`)
	}
	judgeAll(t, w, c, tool, policy.Allow, `{"cwd":"{home}/config","command":"ls ~"}`)
}

// TestWhichReadingsAsk: if a rule asks about a path, it asks about the ways to read it that the rule is about.
func TestWhichReadingsAsk(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.needsUnix()
	w.roots = []string{w.project + "/src", w.project + "/docs"}
	w.must(os.Symlink(w.outside, w.project+"/docs/sub"))
	c := w.rules("", policy.Rule{Then: policy.Escalate, Paths: within("{outside}")})
	s, err := c.Scan(w.tool(c, "", anyTool), []byte(`{"path":"sub/x"}`))
	w.must(err)
	v := c.Judge(s, CallContext{Cwd: w.roots[0], Served: w.roots}, w.view())
	if v.Decision != policy.Escalate || len(v.Findings) != 1 || len(v.Findings[0].Readings) < 2 {
		t.Fatalf("%v %+v", v.Decision, v.Findings)
	}
	for _, r := range v.Findings[0].Readings {
		if r.Asks != (r.Target == w.outside+"/x") {
			t.Errorf("%s, which leads to %s: it asks: %t", r.Path, r.Target, r.Asks)
		}
	}
}

// TestDirectoriesBesideTheRoots: a directory that a rule opens is beside the roots, unless the child works there or the call names it.
func TestDirectoriesBesideTheRoots(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j := w.judge(w.rules("", policy.Rule{Then: policy.Allow, Paths: within("{outside}")}))
	for dir, want := range map[string]bool{w.outside: true, w.project: false, w.home: false, "": false} {
		if got := j.isBeside(dir); got != want {
			t.Errorf("%s: %t", dir, got)
		}
	}
	j.namedDirs = []string{w.outside}
	if j.isBeside(w.outside) {
		t.Error("the call names it")
	}
	if j.namedDirs, j.callCtx.Cwd = nil, w.outside; j.isBeside(w.outside) {
		t.Error("the child works there")
	}
}

// TestNamesInNamedDirectories: a word may be a new name in a directory that an argument names; from a directory that is only hinted at,
// and in any other form, it counts if something is there.
func TestNamesInNamedDirectories(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, tc := range map[string]struct {
		form detect.Form
		own  []string
		weak bool
	}{
		"a word":             {detect.FormWord, []string{w.outside}, false},
		"a word from a hint": {detect.FormWord, nil, true},
		"another form":       {detect.FormLink, []string{w.outside}, true},
	} {
		j := w.judge(w.checker())
		j.secondPass, j.baseDirs, j.ownDirs = true, []string{w.outside}, tc.own
		j.yieldRelative(&detect.Finding{Form: tc.form}, "x", func(m meaning) {
			if m.weak != tc.weak {
				t.Errorf("%s: %+v", name, m)
			}
		})
	}
}
