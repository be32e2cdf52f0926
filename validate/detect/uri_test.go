package detect

import (
	"testing"

	"mcphub/rootsmgr/platform"
	"mcphub/validate/declare"
	"mcphub/validate/resource"
)

// TestURIsInStrings: URIs inside arguments.
func TestURIsInStrings(t *testing.T) {
	t.Parallel()
	search(t, on(platform.Linux), []row{
		{frob, `{"command":"cat http://x/../../y"}`, `/command link/link rs http://x/../../y`},
		{frob, `{"q":"FILE:///etc/passwd"}`, `/q file-uri/text w?o file:///etc/passwd`},
		{frob, `{"x":"file%3A///etc/x file:///y"}`, `/x file-uri/text w? file:///y; link/link w? file%3A///etc/x file; link/link w? file%3A///etc/x`},
		{frob, `{"x":"s3://../../outside/secret.txt"}`, `/x climbs w? s3://../../outside/secret.txt`},
	})
}

// TestURIsOfResources: what a server may open for the URI of a resource, with a template of its own.
func TestURIsOfResources(t *testing.T) {
	t.Parallel()
	s := on(platform.Linux)
	for _, r := range []struct{ uri, template, want string }{
		{`%66ile:///etc/x`, `db://{x}`, `/uri file-uri/uri w? file:///etc/x; tail/word w?! ///etc/x; link/link w? %66ile:///etc/x`},
		{`FILES://flink`, `files://{path}`, `/uri link/link w? FILES://flink; link/name w? flink; /variables/path/0 key w? flink`},
		{`config:///v1/users`, ``, `/uri literal/literal w?! /v1/users; link/link w? config:///v1/users; link/link w? v1/users; link/name w? v1; link/name w? users`},
		{"fi\nles://%2Fetc%2Fpasswd", `files://{path}`, `/uri uri/word w? %2Fetc%2Fpasswd; uri/word w? /etc/passwd; uri/word w? /etc; link/link w? etc/passwd; link/name w? etc; link/name w? passwd; /variables/path/0 key w? /etc/passwd`},
		{`file://local/a.txt`, ``, `/uri uri/uri w? file://local/a.txt`},
		{`memo:///settings`, ``, `/uri link/link w? memo:///settings; link/name w? settings`},
		{`notes://x/a/b/../../../etc`, `notes://x/{+path}`, `/uri link/link w? notes://x/a/b/../../../etc; uri/word w? x/a/b/../../../etc; uri/word w? x/a/b/../../..; uri/word w? x/a/b/../..; uri/word w? x/a/b/..; uri/word w? a/b/../../../etc; uri/word w? a/b/../../..; uri/word w? a/b/../..; uri/word w? a/b/..; uri/word w? b/../../../etc; uri/word w? b/../../..; uri/word w? b/../..; uri/word w? b/..; link/name w? etc; link/link w? x/etc; link/name w? x; uri/word w? /etc; /variables/path/0 key w? a/b/../../../etc; /variables/path/1 key w? etc`},
		{`notes://x?file=/etc/passwd`, `notes://x{?file}`, `/uri link/link w? notes://x?file=/etc/passwd; link/link w? notes://x; link/link w? x?file=/etc/passwd; link/link w? x?file=/etc; link/name w? x?file=; uri/word w? /etc/passwd; uri/word w? /etc; link/link w? etc/passwd; link/name w? etc; link/name w? passwd; link/name w? x; /variables/file/0 key w? /etc/passwd`},
		{`unknown://..%2F..%2Foutside`, ``, `/uri link/link w? unknown://..%2F..%2Foutside; uri/word w? ..%2F..%2Foutside; uri/word w? ../../outside; uri/word w? ../..; uri/word w? ..; uri/word w? ../outside; link/name w? outside`},
		{`unknown:///%252Fetc%252Fpasswd`, ``, `/uri link/link w? unknown:///%252Fetc%252Fpasswd; uri/word w? /%252Fetc%252Fpasswd; uri/word w? /%2Fetc%2Fpasswd; uri/word w? //etc; uri/word w? /; uri/word w? %252Fetc%252Fpasswd; uri/word w? %2Fetc%2Fpasswd; uri/word w? /etc; uri/word w? //etc/passwd; uri/word w? /etc/passwd`},
		{`unknown://x/../../../outside`, ``, `/uri link/link w? unknown://x/../../../outside; uri/word w? x/../../../outside; uri/word w? x/../../..; uri/word w? x/../..; uri/word w? x/..; uri/word w? ../../../outside; uri/word w? ../../..; uri/word w? ../..; uri/word w? ..; link/name w? outside; link/link w? x/outside; link/name w? x`},
		{`x://a?../b`, ``, `/uri drive w? x://a?../b; link/link w? x://a`},
	} {
		var templates []string
		if r.template != "" {
			templates = []string{r.template}
		}
		if got := outcome(s.URI(&frob, long(r.uri), templates...)); got != long(r.want) {
			t.Errorf("%s of %q\n got %s\nwant %s", r.uri, r.template, got, r.want)
		}
	}
}

// TestBoundResources: which strings may be URIs of a scheme that is bound to prefixes.
func TestBoundResources(t *testing.T) {
	t.Parallel()
	bound, some := on(platform.Linux), on(platform.Linux)
	set, bad := resource.New([]string{"note://n/"})
	if bad != nil {
		t.Fatal(bad)
	}
	bound.Resources, some.Resources, some.ClientResources = set, set, true
	tool := reads.with(`{"type":"object","properties":{"target":{"type":"string","format":"uri"},"n":{"type":"integer"}}}`)
	search(t, bound, []row{
		{tool, `{"url":"note:x"}`, ` | /url resource r note:x`}, {tool, `{"url":"note:x","n":5}`, ` | /url resource r note:x`},
		{tool, `{"q":"note:x"}`, ``}, {tool, `{"target":"note:x"}`, ` | /target resource w note:x`}, {tool, `{"url":"other:x"}`, ``}, {frob, `{"target":"note:x"}`, ``},
		{frob, `{"outputs_url":["a",["note:x"]]}`, ` | /outputs_url/1/0 resource w note:x`}, {frob, `{"q":"x","n":[5],"url":"note:x"}`, ` | /url resource w note:x`}, {frob, `{"a":"{\"url\":\"note:x\"}","url":"{\"b\":\"note:x\"}"}`, ` | /a/url resource w note:x`},
		{frob.in(declare.ModeOff), `{"url":"note:x"}`, ``}, {frob, `{"url":"https://h/n/"}`, ``}, {moves, `{"source_url":"note:x"}`, ` | /source_url resource d note:x`},
		{reads.with(`{"type":"object","additionalProperties":{"type":"string","format":"uri"}}`), `{"5":"note:x"}`, ` | /5 resource r note:x`},
	})
	search(t, some, []row{{frob, `{"url":"other:x","x":"y:z"}`, ` | /url resource w other:x`}})
	search(t, on(platform.Linux), []row{{frob, `{"url":"note:x"}`, ``}})
}
