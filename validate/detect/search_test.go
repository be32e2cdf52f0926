package detect

import (
	"encoding/json"
	"strings"
	"testing"

	"mcphub/rootsmgr/platform"
	"mcphub/validate/budget"
	"mcphub/validate/machine"
	"mcphub/validate/strictjson"
)

// TestCompletions: an argument that is to be completed, those beside it, and the URI that a template makes of them.
func TestCompletions(t *testing.T) {
	t.Parallel()
	s := on(platform.Linux)
	for _, r := range []struct{ template, name, value, given, want string }{
		{`file://local/{path}`, `path`, `sr`, ``, `/path key w? sr`},
		{`file:///{+path}`, `path`, `etc/pass`, `{"x":"y"}`, `/path key w? etc/pass; uri/uri w? file:///etc/pass`},
		{`db:///{p}`, `p`, `../x`, `{"x":1}`, `/p climbs w? ../x; literal/literal w?! /../x; link/link w? db:///../x`},
		{``, `path`, `../o`, `{"x":"/etc/passwd"}`, `/x absolute w? /etc/passwd; /path key w? ../o`},
		{``, `p`, `x`, `{"x":}`, `refused /x arguments-syntax`},
		{``, `p`, "\xff", ``, `refused  arguments-bad-text`},
		{``, `command`, `«200 $(»«200 )»`, ``, `refused /command arguments-too-deep`},
		{`x://{p}`, `p`, `a`, ``, `/p link/link w? x://a`}, // the server's own scheme
		{`x://{p}`, `p`, `a`, `{"command":"«200 $(»«200 )»"}`, `refused /command arguments-too-deep`},
	} {
		if got := outcome(s.Completion(&frob, r.template, r.name, long(r.value), []byte(long(r.given)))); got != r.want {
			t.Errorf("%s of %q\n got %s\nwant %s", r.value, r.template, got, r.want)
		}
	}
	windows := on(platform.Windows) // if that is a path all the same
	if got, want := outcome(windows.Completion(&frob, `x://{p}`, `p`, `a`, nil)), `/p drive w? x://a`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := outcome(windows.URI(&frob, `x://a`, `x://{p}`, `x://a`)), `/uri drive w? x://a`; !strings.HasPrefix(got, want) {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestRefusedArguments holds that arguments are refused of which two parsers may read different calls, and the ones that cost too much to read.
func TestRefusedArguments(t *testing.T) {
	t.Parallel()
	read := reads.with(`{"type":"object","properties":{"path":{"type":"string"}}}`)
	search(t, on(platform.Linux), []row{
		{read, `{"path":"/etc/passwd","path":"a.txt"}`, `refused /path arguments-duplicate-name`}, {read, `{"path":"/etc/passwd","\u0070ath":"a.txt"}`, `refused /path arguments-duplicate-name`}, {read, `{"a":[{"b":{"x":1,"x":2}}]}`, `refused /a/0/b/x arguments-duplicate-name`},
		{read, `{"path":"a.txt","\u0050ath":"/etc/passwd"}`, `refused /Path arguments-folded-name`}, {read, `{"path":"a",` + members(100) + `"Path":"b"}`, `refused /Path arguments-folded-name`}, {read, `{"PATH":"a",` + members(100) + `"paTh":"a","path":"b"}`, `refused /path arguments-folded-name`},
		{read, `{"env":{` + members(100) + `"x_y":"1","X_Y":"2"}}`, ``},
		{read, `{"path\u0000":"a.txt"}`, `refused  arguments-bad-name`}, {read, "{\"path\":\"a\xff\"}", `refused /path arguments-bad-text`}, {read, `{"path":"\ud800"}`, `refused /path arguments-bad-text`}, {read, `{"path":"\udc00x"}`, `refused /path arguments-bad-text`}, {read, `{"\ud800":1}`, `refused  arguments-bad-text`},
		{read, `{"path":"a.txt"/**/}`, `refused  arguments-syntax`}, {read, `{"path":"a.txt",}`, `refused  arguments-syntax`}, {read, `{"path":"a.txt"}{"path":"/etc/passwd"}`, `refused  arguments-syntax`}, {read, `{"path":"a.txt"} x`, `refused  arguments-syntax`}, {read, "\ufeff{}", `refused  arguments-syntax`},
		{read, `"path"`, `refused  arguments-not-object`}, {read, `["/etc/passwd"]`, `refused  arguments-not-object`}, {read, `{"path":"a.txt"`, `refused  arguments-syntax`}, {read, "{\"path\":\"a\x01\"}", `refused /path arguments-syntax`},
		{read, `«200 {"a":»1«200 }»`, `refused «127 /a» arguments-too-deep`}, {read, `{"a":"«200 [»\"x\"«200 ]»"}`, `refused /a«125 /0» arguments-too-deep`}, {read, `{"n":1e999999999}`, `refused  arguments-bad-number`}, {read, `{"n":«5000 9»}`, `refused  arguments-bad-number`},
		{read, `{"a":[` + strings.Repeat("1,", strictjson.MaxNodes) + `1]}`, `refused /a arguments-too-large`},
		{frob, `{"list":[` + strings.Repeat(`"{\"a\":\"b\"}",`, 5_000) + `"{\"a\":\"/etc/passwd\"}"]}`, `/list/5000/a absolute w? /etc/passwd`},
		{frob, `{"list":[` + strings.Repeat(`"{\"a\":\"b\"}",`, 70_000) + `1]}`, `refused  arguments-too-large`},
	})
	// The control: encoding/json takes most of them, and quietly picks one of two.
	var m struct{ Path string }
	if err := json.Unmarshal([]byte(`{"path":"a.txt","Path":"/etc/passwd"}`), &m); err != nil || m.Path != "/etc/passwd" {
		t.Errorf("the control does not show the attack: %v %q", err, m.Path)
	}
}

// TestDeepShellStrings: commands that stand too deep in each other are refused, and so are too many of them.
func TestDeepShellStrings(t *testing.T) {
	t.Parallel()
	search(t, on(platform.Linux), []row{
		{frob, `{"command":"«200 $(»ls«200 )»"}`, `refused /command arguments-too-deep`}, {frob, `{"command":"«150 ( »ls«150 )»"}`, `refused /command arguments-too-deep`}, {frob, `{"command":"«100 cd src; »ls"}`, `refused /command arguments-too-deep`},
		{frob, `{"command":"«200 time; »«150 ( »ls«150 )»"}`, `refused /command arguments-too-deep`}, {frob, `{"command":"«40 env »bash -c 'cat x'; «524288 x »"}`, `refused /command arguments-too-deep`}, {frob, `{"command":"«30 $(»ls«30 )»"}`, ``},
	})
}

// TestReplacedTexts: the new text of a string is searched like the old one and stands in its place, and a schema may not allow it.
func TestReplacedTexts(t *testing.T) {
	t.Parallel()
	s := on(platform.Linux)
	const schema = `{"type":"object","properties":{"path":{"type":"string","maxLength":9},"list":{"type":"array","items":{"type":"string","maxLength":9}}}}`
	tool := reads.rewriting().declared("/list/* write /path").with(schema)
	r, err := s.Arguments(&tool, []byte(`{"path":"/etc/x","list":["a","b"]}`))
	if got, want := outcome(r, err), `/path key r /etc/x rewritable=8-16 single; /list/0 declared w a base=/path at=/etc/x rewritable=25-28 single; /list/1 declared w b base=/path at=/etc/x rewritable=29-32 single`; got != want {
		t.Fatalf(" got %s\nwant %s", got, want)
	}
	for _, e := range []struct {
		of       int
		to, want string
	}{
		{0, `x`, `/path key r x`}, {0, `u'x/y'`, `/path key r u'x/y or u'x/y'; link/name r? u; link/link r? x/y`}, {0, "\xff", `refused  arguments-bad-text`},
		{1, `u'x/y'`, `/list/0 declared w? u'x/y or u'x/y' base=/path at=/etc/x; link/name w? u base=/path at=/etc/x`}, {1, `a,../b`, `/list/0 declared w? a,../b base=/path at=/etc/x; list w? ../b base=/path at=/etc/x; link/name w? a base=/path at=/etc/x`},
	} {
		var diskView machine.DiskView
		found, err := s.SearchReplaced(&r, diskView.Open(s.Machine, &r.Work, false), &r.Work, &r.Findings[e.of], e.to)
		if got := outcome(Result{Findings: found}, err); got != e.want {
			t.Errorf("%s\n got %s\nwant %s", e.to, got, e.want)
		}
	}
	var diskView machine.DiskView
	if _, err := s.SearchReplaced(&r, diskView.Open(s.Machine, nil, false), new(budget.Budget), &r.Findings[0], "x"); err == nil {
		t.Error("a text is searched at no cost")
	}
	for pointer, fits := range map[string]bool{"/path": false, "/list/1": false, "/list/2": true, "/list/x": true} {
		if err := r.Misfit(map[string]string{pointer: "1234567890"}, &r.Work); (err == nil) != fits {
			t.Errorf("%s: %v", pointer, err)
		}
	}
	if err := r.Misfit(map[string]string{"/path": "123456789"}, &r.Work); err != nil {
		t.Error(err)
	}
	for _, other := range []struct {
		tool Tool
		args string
	}{{reads.rewriting(), `{"path":"/etc/x"}`}, {reads.with(schema), `{"path":"/etc/x"}`}, {tool, `{"list":[]}`}} {
		r, err := s.Arguments(&other.tool, []byte(other.args))
		if err != nil || r.value != nil {
			t.Errorf("%s: nothing has to be rewritten, and %v is kept, %v", other.args, r.value, err)
		}
	}
}

// TestLongerArgumentsAreRefused: longer arguments than may be are refused, also if nothing is in them.
func TestLongerArgumentsAreRefused(t *testing.T) {
	t.Parallel()
	s, plain := on(platform.Linux), frob.with(`{"type":"object","properties":{"text":{"type":"string"}}}`)
	for _, e := range []struct {
		size int
		want string
	}{{14, ``}, {13, `refused  arguments-too-large`}} {
		s.Size = e.size
		if got := outcome(s.Arguments(&plain, []byte(`{"text":"abc"}`))); got != e.want {
			t.Errorf("%d bytes may be sent: %q, want %q", e.size, got, e.want)
		}
	}
}
