package validate

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"mcphub/rootsmgr"
	"mcphub/validate/policy"
)

// naive is the control: what a gateway does that looks at arguments called path, joins them to the working directory
// and compares prefixes. It reports whether it would let the call through.
func naive(w *world, args string) bool {
	var m map[string]any
	if json.Unmarshal([]byte(args), &m) != nil {
		return true
	}
	p, ok := m["path"].(string)
	if !ok {
		return true
	}
	if !filepath.IsAbs(p) {
		p = filepath.Join(w.project, p)
	}
	return strings.HasPrefix(p, w.project)
}

// judgeAttacks holds calls against the guard, by class: each is denied. The control is that the naive check lets so many of ten pass.
func judgeAttacks(t *testing.T, w *world, c *Checker, tool *Tool, classes map[string][]string, least int) {
	t.Helper()
	through, all := 0, 0
	for _, list := range classes {
		judgeAll(t, w, c, tool, policy.Deny, list...)
		all += len(list)
		for _, args := range list {
			if naive(w, string(w.json(args))) {
				through++
			}
		}
	}
	if through*10 < all*least {
		t.Errorf("the naive check lets only %d of %d through: these are no attacks", through, all)
	}
}

type attack struct {
	name string
	args string
}

// attacks are denied whatever the tool is called; every one passes the naive check.
var attacks = []attack{
	// Where the path hides.
	{"any key", `{"whatever":"/etc/passwd"}`},
	{"a key that is a number", `{"1":"/etc/passwd"}`},
	{"an empty key", `{"":"/etc/passwd"}`},
	{"nested", `{"a":{"b":{"c":["x",{"d":"/etc/passwd"}]}}}`},
	{"array element", `{"list":["a","b","/etc/passwd"]}`},
	{"mixed array", `{"list":[1,null,true,{"x":1},"/etc/passwd"]}`},
	{"object key", `{"edits":{"/etc/passwd":"x"}}`},
	{"object key as URI", `{"changes":{"file:///etc/passwd":[{"newText":"x"}]}}`},
	{"object key below a path-like key", `{"files":{"../outside/secret.txt":"x"}}`},
	{"object below a content key", `{"content":{"x":"/etc/passwd"}}`},
	{"wrong type: array for a path", `{"paths":[["../outside/secret.txt"]]}`},
	{"wrong type: object for a path", `{"file":{"path":"../outside/secret.txt"}}`},
	{"split directory and file", `{"directory":"{outside}","name":"secret.txt"}`},
	{"split, climbing file", `{"directory":"{project}/src","file":"../../outside/secret.txt"}`},
	{"split, link below the directory", `{"directory":"{project}","file":"link/secret.txt"}`},
	{"path-like key, link without slash", `{"file":"passwd"}`},
	{"long flag", `{"options":["--config=/etc/shadow"]}`},
	{"long flag, quoted", `{"options":["--config='/etc/shadow'"]}`},
	{"long flag, home", `{"option":"--config=~/outside/secret.txt"}`},
	{"long flag, $HOME", `{"option":"--config=$HOME/outside/secret.txt"}`},
	{"long flag, climbing", `{"option":"--config=../outside/secret.txt"}`},
	{"long flag, file URI", `{"option":"--config=file:///etc/shadow"}`},
	{"short flag", `{"option":"-o/etc/x"}`},
	{"short flag, climbing", `{"option":"-I../outside"}`},
	{"at sign", `{"value":"@/etc/passwd"}`},
	{"curl form", `{"form":"upload=@/etc/passwd;type=text/plain"}`},
	{"git pathspec", `{"rev":"HEAD:../../x"}`},
	{"ref with an absolute path", `{"rev":"HEAD:/etc/passwd"}`},
	{"docker volume", `{"volume":"/etc:/mnt"}`},
	{"docker mount", `{"mount":"type=bind,source=/etc,target=/x"}`},
	{"comma list", `{"paths":"a.txt,/etc/passwd"}`},
	{"comma list with blank", `{"paths":"a.txt, /etc/passwd"}`},
	{"colon list", `{"paths":"a.txt:/etc/passwd"}`},
	{"semicolon list", `{"paths":"a.txt;/etc/passwd"}`},
	{"newline list", `{"paths":"a.txt\n/etc/passwd"}`},
	{"CR list", `{"paths":"a.txt\r/etc/passwd"}`},
	{"blank list", `{"files":"a.txt /etc/passwd"}`},
	{"list, climbing part", `{"files":"a.txt,../outside/secret.txt"}`},
	{"list, home part", `{"files":"a.txt,~/outside/secret.txt"}`},
	{"list whose whole exists inside", `{"files":"{project}/a.txt,/etc/passwd"}`},
	{"list under another key", `{"targets":"{project}/a.txt,/etc/passwd"}`},
	{"list under another key, relative first", `{"targets":"a.txt,/etc/passwd"}`},
	{"newline list under another key", `{"targets":"a.txt\n/etc/passwd"}`},
	{"words under another key", `{"targets":"./a.txt /etc/passwd"}`},
	{"args array", `{"args":["-r","/etc/passwd"]}`},
	{"args array, joined flag", `{"args":["--file=/etc/passwd"]}`},
	{"args array, shell inside", `{"args":["-c","cat /etc/passwd"]}`},
	{"args array, climbing", `{"flags":["-C","../outside"]}`},
	{"argv as string", `{"argv":"cat /etc/passwd"}`},
	{"shell", `{"command":"cat /etc/passwd"}`},
	{"shell, quoted", `{"command":"cat '/etc/passwd'"}`},
	{"shell, split quotes", `{"command":"cat /e'tc'/pass\"wd\""}`},
	{"shell, escapes", `{"command":"cat /e\\tc/passwd"}`},
	{"shell, ANSI quoting", `{"command":"cat $'\\x2fetc\\x2fpasswd'"}`},
	{"shell, redirect", `{"command":"cat</etc/passwd"}`},
	{"shell, write", `{"command":"echo x>{outside}/created.txt"}`},
	{"shell, home", `{"command":"cat ~/outside/secret.txt"}`},
	{"shell, $HOME", `{"command":"cat $HOME/outside/secret.txt"}`},
	{"shell, ${HOME}", `{"command":"cat \"${HOME}/outside/secret.txt\""}`},
	{"shell, climbing", `{"command":"cat ../outside/secret.txt"}`},
	{"shell, glob", `{"command":"cat /e*/passwd"}`},
	{"shell, braces", `{"command":"cat /{etc,x}/passwd"}`},
	{"shell, python", `{"command":"python3 -c \"open('/etc/passwd').read()\""}`},
	{"shell, dd", `{"cmd":"dd if=/etc/passwd of=x"}`},
	{"shell, substitution", `{"cmd":"echo $(cat /etc/passwd)"}`},
	{"shell, through a link", `{"cmd":"cat link/secret.txt"}`},
	{"shell, later command", `{"cmd":"true; /etc/passwd"}`},
	{"shell as array", `{"command":["cat","/etc/passwd"]}`},
	{"shell as array in a string", `{"command":"[\"cat\",\"/etc/passwd\"]"}`},
	{"script", `{"script":"with open('/etc/passwd') as f: pass"}`},
	{"sql literal", `{"sql":"SELECT * FROM read_csv('/etc/passwd')"}`},
	{"sql copy", `{"sql":"COPY t FROM '/etc/passwd'"}`},
	{"sql in query", `{"query":"select load_file('/etc/passwd')"}`},
	{"sql behind a comment", `{"query":"/* x */ -- y\n (SELECT pg_read_file('/etc/passwd'))"}`},
	{"sql dollar quotes", `{"sql":"SELECT pg_read_file($x$/etc/passwd$x$)"}`},
	{"sql attach", `{"sql":"ATTACH '{outside}/new.db' AS x"}`},
	{"sql file URI", `{"sql":"ATTACH 'file:/etc/passwd?mode=ro' AS x"}`},
	{"sql program", `{"sql":"COPY t TO PROGRAM 'cat /etc/passwd'"}`},
	{"sqlite shell", `{"sql":".read /etc/passwd"}`},
	{"JSON in a string", `{"payload":"{\"path\":\"/etc/passwd\"}"}`},
	{"JSON array in a string", `{"payload":" [\"/etc/passwd\"]"}`},
	{"JSON in JSON in a string", `{"payload":"{\"a\":\"{\\\"path\\\":\\\"/etc/passwd\\\"}\"}"}`},
	{"JSON in a string, relative under a path key", `{"payload":"{\"path\":\"../outside/secret.txt\"}"}`},
	{"JSON in a JSON string with half a character", `{"payload":"\"[\\\"\\\\u002e\\\\u002e\\\\u002foutside\\\",\\\"\\ud800\\\"]\""}`},
	{"JSON in a string, duplicate names", `{"payload":"{\"path\":\"/etc/passwd\",\"path\":\"a.txt\"}"}`},
	{"ffmpeg", `{"input":"concat:a.mp4|/etc/passwd"}`},
	{"relative link under another key", `{"target":"link/secret.txt"}`},
	{"dangling link under another key", `{"target":"./dangling"}`},

	// Spelling.
	{"file URI", `{"x":"file:///etc/passwd"}`},
	{"FILE URI", `{"x":"FILE:///etc/passwd"}`},
	{"one slash", `{"x":"file:/etc/passwd"}`},
	{"no slash", `{"x":"file:etc/passwd"}`},
	{"localhost", `{"x":"file://localhost/etc/passwd"}`},
	{"loopback host", `{"x":"file://127.0.0.1/etc/passwd"}`},
	{"foreign host", `{"x":"file://evil/share"}`},
	{"user information", `{"x":"file://a@localhost/etc/passwd"}`},
	{"port", `{"x":"file://localhost:1/etc/passwd"}`},
	{"four slashes", `{"x":"file:////etc/passwd"}`},
	{"encoded dots", `{"x":"file://{project}/%2e%2e/outside/secret.txt"}`},
	{"encoded slash", `{"x":"file://{project}/..%2foutside/secret.txt"}`},
	{"encoded letters", `{"x":"file:///%65tc/passwd"}`},
	{"encoded host", `{"x":"file://%2Fetc/passwd"}`},
	{"double encoding", `{"x":"file://{project}/%252e%252e/outside/secret.txt"}`},
	{"triple encoding", `{"x":"file://{project}/%25252e%25252e/outside/secret.txt"}`},
	{"overlong", `{"x":"file://{project}/%c0%ae%c0%ae/outside/secret.txt"}`},
	{"bad escape", `{"x":"file://{project}/%zz"}`},
	{"encoded NUL", `{"x":"file://{project}/a%00"}`},
	{"tail after ?", `{"x":"file:///etc/passwd?{project}"}`},
	{"tail after #", `{"x":"file:///etc/passwd#{project}"}`},
	{"tab inside the scheme", `{"x":"fi\tle:///etc/passwd"}`},
	{"newline inside the URI", `{"x":"file:\n///etc/passwd"}`},
	{"control at the edge", `{"x":"\u0001file:///etc/passwd"}`},
	{"backslashes in the URI", `{"x":"file:\\\\\\etc\\passwd"}`},
	{"angle brackets", `{"x":"<file:///etc/passwd>"}`},
	{"quotes", `{"x":"\"/etc/passwd\""}`},
	{"blanks", `{"path":" /etc/passwd"}`},
	{"no-break space", `{"path":"\u00a0/etc/passwd"}`},
	{"zero-width space", `{"path":"\u200b/etc/passwd"}`},
	{"BOM", `{"path":"\ufeff/etc/passwd"}`},
	{"line separator", `{"path":"\u2028/etc/passwd"}`},
	{"bidi override", `{"path":"\u202e/etc/passwd"}`},
	{"jar", `{"x":"jar:file:///etc/x.jar!/y"}`},
	{"git+file", `{"x":"git+file:///etc/x"}`},
	{"view-source", `{"x":"view-source:file:///etc/passwd"}`},
	{"view-source twice", `{"x":"view-source:view-source:file:/etc/passwd"}`},
	{"sqlite", `{"x":"sqlite:////etc/x.db"}`},
	{"sqlite, three slashes", `{"x":"sqlite:///etc/x.db"}`},
	{"sqlite with driver", `{"x":"sqlite+aiosqlite:////etc/x.db"}`},
	{"jdbc", `{"x":"jdbc:sqlite:/etc/x.db"}`},
	{"duckdb", `{"x":"duckdb:///etc/x.db"}`},
	{"unix", `{"x":"unix:///run/docker.sock"}`},
	{"http+unix", `{"x":"http+unix://%2Frun%2Fdocker.sock/v1"}`},
	{"vscode", `{"x":"vscode://file/etc/passwd"}`},
	{"inside text", `{"x":"please open file:///etc/passwd now"}`},
	{"list of URIs", `{"uris":"https://example.com/a\nfile:///etc/passwd"}`},
	{"URL first in a list of files", `{"files":"https://example.com/a,/etc/passwd"}`},
	{"URL that climbs under a path key", `{"path":"https:/../../../../../../../../etc/passwd"}`},
	{"NUL", `{"path":"a.txt\u0000"}`},
	{"NUL in front of the rest", `{"file":"a.txt\u0000/../../outside"}`},
	{"full-width dots", `{"path":"\uff0e\uff0e/outside/secret.txt"}`},
	{"full-width slash", `{"path":"..\uff0foutside\uff0fsecret.txt"}`},
	{"two-dot leader", `{"path":"\u2025/outside/secret.txt"}`},
	{"backslash climbing", `{"path":"..\\outside\\secret.txt"}`},
	{"backslash absolute", `{"path":"\\etc\\passwd"}`},
	{"mixed slashes", `{"x":"src\\../..\\outside"}`},
	{"drive", `{"x":"C:\\Windows\\system32"}`},
	{"drive with slash", `{"path":"c:/Windows"}`},
	{"UNC", `{"x":"\\\\host\\share\\x"}`},
	{"device path", `{"x":"\\\\?\\C:\\x"}`},
	{"home", `{"x":"~/outside/secret.txt"}`},
	{"home alone", `{"x":"~"}`},
	{"user", `{"x":"~root/x"}`},
	{"previous directory of the shell", `{"path":"~-/x"}`},
	{"$HOME", `{"x":"$HOME/outside/secret.txt"}`},
	{"${HOME}", `{"x":"${HOME}/outside/secret.txt"}`},
	{"variable with default", `{"path":"${NOPE:-/etc}/passwd"}`},
	{"other variable", `{"path":"$OUTSIDE/secret.txt"}`},
	{"%HOME%", `{"x":"%HOME%\\outside"}`},
	{"command substitution", `{"path":"$(echo /etc)/passwd"}`},
	{"encoded plain path", `{"path":"%2e%2e/outside/secret.txt"}`},
	{"doubly encoded plain path", `{"path":"%252e%252e/outside/secret.txt"}`},
	{"encoded absolute under another key", `{"x":"%2Fetc%2Fpasswd"}`},
	{"overlong plain path", `{"path":"%c0%ae%c0%ae/outside"}`},
	{"glob", `{"pattern":"/etc/*"}`},
	{"glob that climbs", `{"glob":"src/*/../../../outside/*"}`},
	{"glob with braces", `{"path":"{/etc/passwd,a.txt}"}`},
	{"braces that build dots", `{"path":"src/{..,x}/{..,y}/../outside"}`},
	{"class that builds dots", `{"path":"src/*/.[.]/.[.]/outside"}`},
	{"class with a slash", `{"path":"[/]etc/passwd"}`},
	{"long name", `{"path":"` + strings.Repeat("a", 300) + `"}`},
	{"long path", `{"path":"` + strings.Repeat("a/", 3000) + `"}`},
	{"2000 times up", `{"x":"` + strings.Repeat("../", 2000) + `etc/passwd"}`},
	{"proc root", `{"x":"/proc/self/root/etc/passwd"}`},
	{"proc cwd", `{"x":"/proc/self/cwd/../outside"}`},
	{"stdin", `{"x":"/dev/stdin"}`},
	{"descriptor", `{"x":"/dev/fd/0"}`},
	{"loop", `{"path":"loop/x"}`},
	{"dangling link", `{"path":"dangling"}`},
	{"link", `{"path":"link/secret.txt"}`},
	{"missing tail below a link", `{"path":"link/new/deep/file.txt"}`},
	{"link and up", `{"path":"link/../outside/secret.txt"}`},
	{"look-alike sibling", `{"x":"{home}/projects/sibling.txt"}`},
	{"missing look-alike sibling", `{"path":"{home}/project-x"}`},

	// Parser differentials that are judged, not refused.
	{"other case", `{"Path":"/etc/passwd"}`},
	{"other case, relative", `{"PATH":"../outside/secret.txt"}`},
	{"long s", `{"ſource":"../outside/secret.txt"}`},
	{"Kelvin", `{"\u212a":"/etc/passwd"}`},
	{"escaped key and value", `{"\u0070ath2":"\u002f\u0065tc\u002fpasswd"}`},
	{"many members", `{` + manyMembers(200) + `"last":"/etc/passwd"}`},
}

func manyMembers(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"k%d":"v",`, i)
	}
	return b.String()
}

func TestAttacks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.checker()
	tool := w.tool(c, "", anyTool)
	through := 0
	for _, a := range attacks {
		t.Run(a.name, func(t *testing.T) {
			s, v := w.call(c, tool, a.args)
			if !s.NeedsBoundary() {
				t.Fatal("nothing found")
			}
			if v.Decision != policy.Deny || v.Deciding == nil {
				t.Fatalf("allowed: %+v", v.Findings)
			}
			if _, ok := explain(v.Deciding.Code); !ok {
				t.Errorf("code %q is not explained", v.Deciding.Code)
			}
		})
		if naive(w, string(w.json(a.args))) {
			through++
		}
	}
	if through < len(attacks)*3/4 {
		t.Errorf("the naive check lets only %d of %d through: these are no attacks", through, len(attacks))
	}
	t.Logf("%d attacks, %d of them pass a naive check", len(attacks), through)
}

// TestZeroValuesDeny: nothing that decides allows by default.
func TestZeroValuesDeny(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.checker()
	s, err := c.Scan(w.tool(c, "", anyTool), []byte(`{"path":"a.txt"}`))
	w.must(err)
	for name, v := range map[string]*Verdict{
		"zero verdict": {},
		"nil checker":  (*Checker)(nil).Judge(s, w.where(), w.view()),
		"nil scan":     c.Judge(nil, w.where(), w.view()),
		"zero scan":    c.Judge(&Scan{}, w.where(), w.view()),
		"zero view":    c.Judge(s, w.where(), rootsmgr.RootsView{}),
	} {
		if v.Decision != policy.Deny {
			t.Errorf("%s: %v", name, v.Decision)
		}
	}
	var none *Scan
	if !none.NeedsBoundary() || !none.IsCertain() {
		t.Error("a nil scan needs no boundary")
	}
	if _, err := (*Checker)(nil).Scan(nil, nil); err == nil {
		t.Error("a nil checker scans")
	}
	if _, err := (*Checker)(nil).PrepareTool("child", "", []byte(anyTool)); err == nil {
		t.Error("a nil checker prepares tools")
	}
}
