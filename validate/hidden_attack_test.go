package validate

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcphub/validate/access"
	"mcphub/validate/declare"
	"mcphub/validate/policy"
	"mcphub/validate/strictjson"
)

// linked adds links to a world: dangling is there already, sub/sl leads to a file outside.
func linked(t testing.TB) *world {
	w := newWorld(t)
	w.must(os.MkdirAll(filepath.Join(w.project, "sub"), 0o755))
	w.must(os.Symlink("../../outside/secret.txt", filepath.Join(w.project, "sub/sl")))
	return w
}

// hiddenAttacks are paths in other texts, and are denied whatever the tool is called.
var hiddenAttacks = []attack{
	{"JSON behind 64 blanks", `{"zz":"` + strings.Repeat(" ", 64) + `\n{\"b\":\"/etc/passwd\"}"}`},
	{"JSON behind 200 escapes", `{"zz":"` + strings.Repeat(`\n`, 200) + `{\"b\":\"/etc/passwd\"}"}`},
	{"JSON behind what a child strips", `{"zz":"\u00a0\u2028\f{\"b\":\"/etc/passwd\"}\u00a0"}`},
	{"JSON, its brace escaped", `{"zz":"\u007b\"b\":\"/etc/passwd\"}"}`},

	{"long flag, link", `{"zz":"--output=dangling"}`},
	{"long flag, link in quotes", `{"zz":" --output='dangling'"}`},

	{"other case inside a word", `{"pAth":"passwd"}`},
	{"other case, file name", `{"fILEnAME":"dangling"}`},

	{"NUL inside, absolute", `{"zz":"/etc\u0000/x"}`},
	{"NUL, text in front", `{"zz":"x\u0000/etc/passwd"}`},
	{"NUL behind a link", `{"zz":"link/secret.txt\u0000.png"}`},
	{"NUL in args", `{"args":["link/secret.txt\u0000.png"]}`},
	{"NUL in a shell word", `{"command":"cat link/secret.txt\u0000.png"}`},
	{"NUL in a shell word, absolute", `{"command":"cat /etc\u0000/x"}`},

	{"comma list, link", `{"path":"a.txt,link/secret.txt"}`},
	{"blank list, link", `{"path":"a.txt link/secret.txt"}`},
	{"newline list, link", `{"path":"a.txt\nlink/secret.txt"}`},
	{"colon list, link", `{"path":"a.txt:link/secret.txt"}`},
	{"comma list, bare link", `{"path":"a.txt,passwd"}`},
	{"tail, link", `{"zz":"x=link/secret.txt"}`},
	{"at sign, link", `{"zz":"@link/secret.txt"}`},
	{"short flag, link", `{"zz":"-olink/secret.txt"}`},
	{"ref, link", `{"zz":"HEAD:link/secret.txt"}`},
	{"args, bare link", `{"args":["passwd"]}`},
	{"args, flag with bare link", `{"args":["-opasswd"]}`},
	{"argv, bare link", `{"argv":["cat","link"]}`},
	{"shell, bare link", `{"command":"cat passwd"}`},
	{"shell, into a link", `{"command":"cd link && cat secret.txt"}`},
	{"shell, option and link", `{"command":"dd if=passwd of=x"}`},
	{"shell, link and a blank", `{"command":"cat 'link/my file'"}`},
	{"shell, dangling", `{"command":"echo x > dangling"}`},

	{"line", `{"zz":"sub/sl:12"}`},
	{"line and column", `{"zz":"sub/sl:12:3"}`},
	{"anchor", `{"zz":"sub/sl#L3"}`},
	{"query", `{"zz":"sub/sl?x"}`},
	{"position in parentheses", `{"zz":"sub/sl(12,3)"}`},
	{"revision", `{"zz":"sub/sl@HEAD"}`},
	{"line behind an absolute link", `{"zz":"{project}/sub/sl:12"}`},
	{"line under a path key", `{"path":"{project}/sub/sl:12"}`},
	{"line behind a bare link", `{"path":"passwd:12"}`},

	{"URL that climbs, fragment", `{"path":"http://x/../../../outside/n#1"}`},
	{"URL that climbs, query", `{"path":"http://x/../../../outside/n?1"}`},

	{"bundled flags", `{"zz":"-xf/etc/passwd"}`},
	{"bundled flags, climbing", `{"zz":"-ab../out"}`},
	{"long flag of one dash", `{"zz":"-isystem/etc"}`},
	{"bundled flags in args", `{"args":["-xf/etc/passwd"]}`},
	{"bundled flags in a shell", `{"command":"tar -xf/etc/passwd"}`},
	{"four bundled flags", `{"command":"tar -xzvf/etc/passwd"}`},

	{"bar list", `{"path":"a.txt|/etc/passwd"}`},
	{"bar list of ffmpeg", `{"path":"concat:a.txt|/etc/passwd"}`},

	{"behind a megabyte of blanks", `{"zz":"` + strings.Repeat(" ", 4<<20+1) + `/etc/passwd"}`},
	{"behind a megabyte of blanks, path key", `{"path":"` + strings.Repeat(" ", 4<<20+1) + `a,/etc/passwd"}`},
	{"long shell word", `{"command":"cat /etc/` + strings.Repeat("./", 3000) + `passwd"}`},

	{"$PWD", `{"zz":"$PWD/link/secret.txt"}`},
	{"${PWD}", `{"path":"${PWD}/passwd"}`},
	{"$PWD in a shell", `{"command":"cat $PWD/link/secret.txt"}`},
	{"short flag, bare link", `{"zz":"-opasswd"}`},
	{"$NAME", `{"zz":"$OUTSIDE/secret.txt"}`},
	{"default", `{"zz":"${NOPE:-/etc}/passwd"}`},
	{"default is home", `{"zz":"${NOPE:-~}/outside"}`},

	{"reflog", `{"zz":"HEAD@{1}:../x"}`},
	{"stash", `{"zz":"stash@{0}:../x"}`},
	{"index", `{"zz":":../x"}`},
	{"pathspec magic", `{"zz":":(top)../x"}`},
	{"pathspec magic, link", `{"zz":":(top)link/secret.txt"}`},

	{"local:", `{"zz":"local:/etc/passwd"}`},
	{"phar", `{"zz":"phar://link/x.phar/y"}`},
	{"phar, absolute", `{"zz":"phar:///etc/x.phar/y"}`},
	{"zip", `{"zz":"zip:/etc/x.zip!/y"}`},
	{"zip of a URI", `{"zz":"zip:file:/etc/x.zip!/y"}`},
	{"oci", `{"zz":"oci:/etc"}`},
	{"git::", `{"zz":"git::/etc"}`},
	{"git:: of a URI", `{"zz":"git::file:///etc"}`},
}

// TestHiddenAttacks: a path is found wherever it stands in a text.
func TestHiddenAttacks(t *testing.T) {
	t.Parallel()
	w := linked(t)
	c := w.checker()
	tool := w.tool(c, "", anyTool)
	through := 0
	for _, a := range hiddenAttacks {
		t.Run(a.name, func(t *testing.T) {
			s, v := w.call(c, tool, a.args)
			if !s.NeedsBoundary() || v.Decision != policy.Deny || v.Deciding == nil {
				t.Fatalf("allowed: %+v", v.Findings)
			}
		})
		if naive(w, string(w.json(a.args))) {
			through++
		}
	}
	if through < len(hiddenAttacks)*9/10 {
		t.Errorf("the naive check lets only %d of %d through: these are no attacks", through, len(hiddenAttacks))
	}
}

// TestDeclaredInOtherCase: a child that ignores case reads these as the argument that the tool declares.
func TestDeclaredInOtherCase(t *testing.T) {
	t.Parallel()
	w := linked(t)
	c := w.checker()
	tool := w.tool(c, "", `{"name":"do_it","inputSchema":{"type":"object","properties":{"path":{"type":"string"},
		"logDir":{"type":"string"},"command":{"type":"string"},"where":{"type":"string","format":"path"}}}}`)
	for _, args := range []string{
		`{"pAth":"link"}`, `{"LOGDIR":"passwd"}`, `{"logdIR":"dangling"}`, `{"comMand":"cat passwd"}`, `{"WHERE":"passwd"}`,
	} {
		if _, v := w.call(c, tool, args); v.Decision != policy.Deny {
			t.Errorf("%s: allowed", args)
		}
		if !naive(w, args) {
			t.Errorf("%s: the naive check refuses it too", args)
		}
	}
}

// TestNoneLooksAtOptions: a declaration of "none" covers no value that begins with "-" and carries a path.
func TestNoneLooksAtOptions(t *testing.T) {
	t.Parallel()
	w := linked(t)
	c := w.checker(ChildConfig{Name: "child", Command: "some-server", Args: map[string]map[string]declare.ArgRule{"*": {"/zz": {Role: access.None}}}})
	tool := w.tool(c, "", anyTool)
	for _, args := range []string{`{"zz":"--output=dangling"}`, `{"zz":"-xf/etc/passwd"}`, `{"zz":"-olink/secret.txt"}`, `{"zz":"-opasswd"}`, `{"zz":"-o passwd"}`} {
		if _, v := w.call(c, tool, args); v.Decision != policy.Deny {
			t.Errorf("%s: allowed", args)
		}
	}
	for _, args := range []string{`{"zz":"dangling"}`, `{"zz":"/etc/passwd"}`, `{"zz":"--verbose"}`, `{"zz":"x=link/secret.txt"}`} {
		if _, v := w.call(c, tool, args); v.Decision != policy.Allow {
			t.Errorf("%s: denied %+v", args, v.Deciding)
		}
	}
}

// TestTooLongForALook: what is too long to be read to its end is refused, never judged by its beginning.
func TestTooLongForALook(t *testing.T) {
	t.Parallel()
	w := linked(t)
	c := w.checker()
	tool := w.tool(c, "", anyTool)
	for _, key := range []string{"zz", "path", "args"} {
		_, err := c.Scan(tool, []byte(`{"`+key+`":"`+strings.Repeat("a b", 4<<20/2)+`,/etc/passwd"}`))
		var e *strictjson.Error
		if !errors.As(err, &e) || e.Code != strictjson.CodeTooLarge {
			t.Errorf("%s: %v", key, err)
		}
	}
	s, err := c.Scan(tool, []byte(`{"image":"/9j/`+strings.Repeat("4AAQ/SkZ", 4<<20/8)+`=="}`))
	w.must(err)
	if v := c.Judge(s, w.where(), w.view()); v.Decision != policy.Allow {
		t.Errorf("base64: %+v", v.Deciding.Code)
	}
}

// TestAboveProtected: a directory above a protected one, to a tool of which no one knows what it does, is outside like
// any other. A known role keeps the stronger word.
func TestAboveProtected(t *testing.T) {
	t.Parallel()
	w := linked(t)
	c := w.checker()
	for _, e := range []struct{ tool, args, code string }{
		{"do_it", `{"url":"/"}`, CodeOutside},
		{"do_it", `{"key":"/"}`, CodeOutside},
		{"do_it", `{"route":"/tmp"}`, CodeOutside},
		{"do_it", `{"path":"/"}`, CodeOutside},
		{"do_it", `{"path":"{home}/config"}`, CodeOutside},
		{"do_it", `{"path":"{hub}"}`, CodeProtected},
		{"delete_directory", `{"path":"{home}/config"}`, CodeProtectedBelow},
		{"move_file", `{"source":"{home}/config","destination":"x"}`, CodeProtectedBelow},
	} {
		_, v := w.call(c, w.tool(c, "", `{"name":"`+e.tool+`"}`), e.args)
		if v.Decision != policy.Deny || v.Deciding.Code != e.code {
			t.Errorf("%s %s: %v %+v, want %s", e.tool, e.args, v.Decision, v.Deciding, e.code)
		}
		if e.code == CodeOutside && (v.Rule != RuleBoundary || v.Deciding.Hint == "") {
			t.Errorf("%s %s: rule %s, hint %q", e.tool, e.args, v.Rule, v.Deciding.Hint)
		}
	}
}

// TestHiddenHonestCalls were refused, or might be by what refuses the attacks above.
func TestHiddenHonestCalls(t *testing.T) {
	t.Parallel()
	w := linked(t)
	c := w.checker()
	tool := w.tool(c, "", anyTool)
	for _, args := range []string{
		`{"command":"awk '/foo/{print}' a.txt"}`,
		`{"command":"sed -n '/start/,/end/p' a.txt"}`,
		`{"command":"docker run -w /app node"}`,
		`{"command":"cat a.txt inner/main.go > b.txt"}`,
		`{"command":"cd src && ls"}`,
		`{"command":"gcc -Isrc/include -Lbuild/lib -obuild/bin x.c"}`,
		`{"command":"node -e \"` + strings.Repeat("import x from './y' ", 400) + `\""}`,
		`{"command":"bin/tool --help | tee out.txt"}`,
		`{"argv":["bin/tool","inner","a.txt","-Lbuild/lib"]}`,
		`{"query":"import x from '../../../y'"}`,
		`{"query":"use crate::x; // '/etc'"}`,
		`{"path":"src/main.go:12:3"}`,
		`{"path":"docs/a (1)@2x#3.md"}`,
		`{"userProfile":"a/b","imageResource":"x"}`,
		`{"zz":"a.txt:12","yy":"@scope/pkg","xx":"HEAD:src/main.go","ww":"$id/x","vv":"$PWD/src"}`,
		`{"zz":"git::https://example.com/x.git","yy":"oci://ghcr.io/a/b","xx":"http:/x","ww":"local:name"}`,
		`{"zz":"a\u0000b"}`,
	} {
		if _, v := w.call(c, tool, args); v.Decision != policy.Allow {
			t.Errorf("%.200s: denied %q as %s: %s %+v", args, v.Deciding.Value, v.Deciding.How, v.Deciding.Code, v.Deciding.Readings)
		}
	}
	// PWD is the child's, not the hub's.
	s, err := c.Scan(tool, []byte(`{"zz":"$PWD/x","path":"${PWD}/a.txt"}`))
	w.must(err)
	if v := c.Judge(s, CallContext{Cwd: w.outside, Served: w.roots}, w.view()); v.Decision != policy.Deny {
		t.Error("$PWD of a child that works outside: allowed")
	}
	for _, args := range []string{
		`{"query":"WITH x AS (SELECT * FROM read_csv('/etc/passwd')) TABLE x"}`,
		`{"query":"FROM '/etc/passwd'"}`,
		`{"query":"IMPORT DATABASE '{outside}'"}`,
		`{"query":"from os import path  # '/etc/passwd'"}`,
		`{"query":"with open('/etc/passwd') as f: pass"}`,
		`{"query":"USE db; SELECT load_file('/etc/passwd')"}`,
		`{"command":"awk '/foo/{print}' /etc/passwd"}`,
	} {
		if _, v := w.call(c, tool, args); v.Decision != policy.Deny {
			t.Errorf("%s: allowed", args)
		}
	}
	if os.Getuid() == 0 {
		if _, v := w.call(c, tool, `{"command":"echo x > /no-such-file-here"}`); v.Decision != policy.Deny {
			t.Error("a file made below / by a redirection: allowed")
		}
	}
}
