//go:build unix

package validate

import (
	"os"
	"strings"
	"testing"

	"mcphub/validate/policy"
)

// speaker is a tool that sends text to a program, as its schema describes it.
const speaker = `{"name":"forward","inputSchema":{"type":"object","properties":{"payload":{"type":"string","description":"The line to send to the running process."}}}}`

// TestTypedText: text for a running program is judged word by word, whatever tells the hub that it is such text. The control is the same
// text for a tool that keeps it.
func TestTypedText(t *testing.T) {
	t.Parallel()
	w, _ := namedWorld(t)
	cfg := w.config("")
	cfg.Children[0].Command, cfg.Children[0].CommandArgs = "npx", []string{"-y", "@wonderwhy-er/desktop-commander"}
	known, err := NewChecker(cfg)
	w.must(err)
	const line = "one two three four five six cd ../outside seven"
	for _, e := range []struct {
		c          *Checker
		tool, args string
		want       policy.Decision
	}{
		{known, `{"name":"interact_with_process"}`, `{"pid":1,"input":"` + line + `"}`, policy.Deny},
		{known, `{"name":"interact_with_process","inputSchema":{"type":"object","properties":{"input":{"type":"string"},"pid":{"type":"number"}}}}`, `{"pid":1,"input":"cd .."}`, policy.Deny},
		{w.checker(), speaker, `{"payload":"` + line + `"}`, policy.Deny},
		{w.checker(), `{"name":"x","inputSchema":{"type":"object","properties":{"keys":{"type":"string"}}}}`, `{"keys":"cd .."}`, policy.Deny},
		{w.checker(), `{"name":"forward","inputSchema":{"type":"object","properties":{"payload":{"type":"string","description":"What to keep."}}}}`, `{"payload":"see . and .. there"}`, policy.Allow},
		{w.checker(), speaker, `{"payload":"print('a/b')"}`, policy.Allow},
		{w.checker(), speaker, `{"payload":"less flink"}`, policy.Deny},
		{w.checker(), speaker, `{"payload":"open('\\x2e\\x2e/outside/secret.txt')"}`, policy.Deny},
		{known, `{"name":"interact_with_process"}`, `{"pid":1,"input":{"/etc/passwd":1}}`, policy.Deny},
		{w.checker(), `{"name":"x","inputSchema":{"type":"object","properties":{"content":{"type":"string","description":"The text; it is sent to the process on stdin."}}}}`, `{"content":"see /etc/hosts"}`, policy.Allow},
		{w.checker(), `{"name":"x","inputSchema":{"type":"object","properties":{"types":{"type":"string","description":"The file types to process"}}}}`, `{"types":"see .. there"}`, policy.Allow},
	} {
		if _, v := w.call(e.c, w.tool(e.c, "", e.tool), e.args); v.Decision != e.want {
			t.Errorf("%s %s: %v by %q, want %v", e.tool, e.args, v.Decision, v.Rule, e.want)
		}
	}
}

// TestTypedMoves: if only the running program can tell the target of a typed text, the call is refused unless the kernel holds the server.
func TestTypedMoves(t *testing.T) {
	t.Parallel()
	w, _ := namedWorld(t)
	c := w.checker()
	tool := w.tool(c, "", speaker)
	for text, unheld := range map[string]policy.Decision{
		"cd \"$(cat where)\"": policy.Deny, "cd `cat where`": policy.Deny, `pushd ${nowhere}/x`: policy.Deny, `cd sr*`: policy.Allow, `os.chdir(f\"${d}\")`: policy.Deny,
		`x && cd $nowhere/a`: policy.Deny, `Set-Location $env:nowhere`: policy.Deny,
		`cd ${x:-src}`: policy.Deny, `cd $PWD/$nowhere`: policy.Deny, `x; \"cd\" $nowhere/a`: policy.Deny, `os.chdir(x)`: policy.Deny, `Set-Location -Path $env:nowhere`: policy.Deny,
		strings.Repeat("a b; ", 1001) + "Set-Location $env:nowhere": policy.Deny,
		`grep -rn 'cd $x' src`: policy.Allow, `CD $5 off`: policy.Deny, `SELECT cd % 2 FROM t`: policy.Allow, `echo done # cd $x`: policy.Allow,
		`cd src`: policy.Allow, `cd -`: policy.Allow, `popd`: policy.Allow, `cd $PWD`: policy.Allow, `echo $nowhere`: policy.Allow, `os.chdir('src')`: policy.Allow, `abcd $x`: policy.Allow,
	} {
		for _, held := range []bool{false, true} {
			s, err := c.Scan(tool, []byte(`{"payload":"`+text+`"}`))
			if err != nil {
				s, err = c.Scan(tool, []byte(`{"payload":`+string(quoteJSON(text))+`}`))
			}
			w.must(err)
			where := w.where()
			where.Held = held
			want := unheld
			if held {
				want = policy.Allow
			}
			if v := c.Judge(s, where, w.view()); v.Decision != want {
				t.Errorf("%s, held %v: %v by %q, want %v", text, held, v.Decision, v.Rule, want)
			}
		}
	}
}

// TestNamesFromUnknownDirectories: what is protected or denied is so by every path that ends in its name, if a text may be read from a
// directory that an earlier call has entered.
func TestNamesFromUnknownDirectories(t *testing.T) {
	t.Parallel()
	w, _ := namedWorld(t)
	w.must(os.MkdirAll(w.project+"/a/b/secrets", 0o755))
	w.must(os.WriteFile(w.project+"/a/b/.env", []byte("what nobody should see\n"), 0o600))
	w.must(os.WriteFile(w.project+"/a/b/secrets/f", nil, 0o600))
	if !w.prints("a/b", "cat .env") {
		t.Error("control: a shell that was moved opens it")
	}
	cfg := w.config("", policy.Rule{Then: policy.Deny, Paths: within("{project}/a/b/secrets")})
	cfg.Policy.Protected = []string{w.project + "/a/b/.env"}
	c, err := NewChecker(cfg)
	w.must(err)
	for args, want := range map[string]policy.Decision{
		`{"payload":"cat .env"}`:         policy.Deny,
		`{"payload":"cat b/.env"}`:       policy.Deny,
		`{"payload":"cat secrets/f"}`:    policy.Deny,
		`{"payload":"rm -r b/secrets"}`:  policy.Deny,
		`{"payload":"cat .env.example"}`: policy.Allow,
		`{"payload":"npm run secrets"}`:  policy.Allow,
		`{"payload":"cat x/secrets/f"}`:  policy.Allow,
		`{"payload":"cat y/b/.env"}`:     policy.Allow,
	} {
		if _, v := w.call(c, w.tool(c, "", speaker), args); v.Decision != want {
			t.Errorf("%s: %v by %q, want %v", args, v.Decision, v.Rule, want)
		}
	}
	shell := `{"command":"cd \"$x\" && cat .env"}`
	if _, v := w.call(c, w.tool(c, "", shellTool), shell); v.Decision != policy.Deny {
		t.Errorf("%s: %v", shell, v.Decision)
	}
}
