package validate

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"mcphub/e2e/bounds"
	"mcphub/validate/policy"
)

// servers are resource templates, and the URIs that such a server must not be sent.
var uriAttacks = map[string][]string{
	"files://{path}": {
		"FILES://%2Fetc%2Fpasswd", "Files://..%2Foutside%2Fsecret.txt", "FILES://flink", " files://%2Fetc%2Fpasswd", "\u0001files://%2Fetc%2Fpasswd", "files:\t//%2Fetc%2Fpasswd",
		"fi\nles://%2Fetc%2Fpasswd", "files://fl\tink", "files://.\t.%2Foutside%2Fsecret.txt", "files://flink?x", "files://flink#x", "files://flink/", "files:flink", "files:/flink",
	},
	"repo://{owner}/{+path}": {
		"REPO://o//etc/passwd", "REPO://o/link/secret.txt", "repo://o/li\tnk/secret.txt", "repo://o/x/..//etc/passwd", "repo://o/x/%2e%2E//etc/passwd", "repo://o/x/../flink",
	},
	"repo://{owner}/{path}": {"repo://o//etc/passwd", "repo://o/../outside/secret.txt", "repo://o/link/secret.txt", "repo:/o/flink", "repo://link/secret.txt"},
	"proj://x/{path}":       {"proj://x/y/../%2Fetc%2Fpasswd", "proj://X/%2Fetc%2Fpasswd", "%70roj://x/%2Fetc%2Fpasswd", "proj://x/flink/more"},
	"https://api/{path}": {
		"https://API/%2Fetc%2Fpasswd", "https://api:443/%2Fetc%2Fpasswd", "https://api:0443/%2Fetc%2Fpasswd", "https://u:p@api/%2Fetc%2Fpasswd", `https:\\api\%2Fetc%2Fpasswd`, "https:api/%2Fetc%2Fpasswd",
		"https:///api/%2Fetc%2Fpasswd", "https://%61pi/%2Fetc%2Fpasswd", "https://other/link/secret.txt",
	},
	"data://{path}/meta": {"data://flink/meta/", "data://flink/meta?x", "data://link%2Fsecret.txt/meta#x", "DATA://flink/meta"},
	"{+any}":             {"https://x/link/secret.txt"},
	"": {
		"unknown:///etc/passwd", "unknown://%2Fetc%2Fpasswd", "unknown://../../outside/secret.txt", "unknown://..%2F..%2Foutside", "unknown://x/../../../outside", "unknown://x/link/secret.txt", "unknown:/etc/passwd",
		"flink", "link/secret.txt", "unknown://flink", "https:/projects/sibling.txt", "unknown:///%252Fetc%252Fpasswd", "x-y://~/.ssh/id_rsa",
	},
}

// uriHonest are URIs that such servers are sent every day.
var uriHonest = map[string][]string{
	"files://{path}":         {"files://src%2Fmain.go", "files://a.txt", "FILES://a.txt"},
	"repo://{owner}/{+path}": {"repo://golang/src/main.go", "repo://golang/docs/x/../y.md"},
	"https://api/{path}":     {"https://api/users", "https://API:443/users?next=b/x"},
	"":                       {"note://x", "memo:///settings", "docs://section/page/1", "postgres://localhost/db/table/schema", "ui://widget/home.html", "https://example.com/link/x", "config:///v1/users", "demo://resource/static/document/features.md", "a.txt"},
}

func TestURISpellings(t *testing.T) {
	t.Parallel()
	w := wild(t)
	c := w.checker()
	judge := func(template, uri string) *Verdict {
		var templates []string
		if template != "" {
			templates = []string{"other://{x}", template}
		}
		s, err := c.ScanURI("child", w.fill(uri), templates...)
		w.must(err)
		return c.Judge(s, w.where(), w.view())
	}
	for template, list := range uriAttacks {
		for _, uri := range list {
			if v := judge(template, uri); v.Decision != policy.Deny {
				t.Errorf("%q of %s: allowed", uri, template)
			}
		}
	}
	w.must(os.Remove(filepath.Join(w.project, "https:")))
	for template, list := range uriHonest {
		for _, uri := range list {
			if v := judge(template, uri); v.Decision != policy.Allow {
				t.Errorf("%q of %s: denied %q: %s", uri, template, v.Deciding.Value, v.Deciding.Code)
			}
		}
	}
}

// A scheme of one letter is a scheme if the server itself lists such a URI, or a template of such. Anything else with one letter and a colon is a
// drive, and so is the very same URI on Windows.
func TestSchemesOfOneLetter(t *testing.T) {
	t.Parallel()
	w := wild(t)
	c := w.checker()
	for _, tc := range []struct {
		uri     string
		own     []string
		allowed bool
	}{
		{"x://r/1", []string{"x://r/1"}, true},
		{"x://r/1", []string{"x://r/{id}"}, true},
		{"X://r/1", []string{"x://{+p}"}, true},
		{"x://r/a%20b?q#f", []string{"x://{+p}"}, true},
		{"x://r/1", nil, false},
		{"x://r/1", []string{"y://r/{id}", "{+any}", "xx://{a}", "x:{+p}", "x:/{+p}", "x://"}, false},
		{"x:/r/1", []string{"x://{+p}", "x:/r/1"}, false},
		{`x:\r\1`, []string{"x://{+p}", `x:\r\1`}, false},
		{`x:\/r/1`, []string{"x://{+p}"}, false},
		{" x://r/1", []string{"x://{+p}"}, false},
		{"x://{etc}", []string{"x://{+p}"}, true},
		{"x:///etc/passwd", []string{"x://{+p}"}, false},
		{"x://r//etc/passwd", []string{"x://r/{+p}"}, false},
		{"x://r/%2Fetc%2Fpasswd", []string{"x://r/{p}"}, false},
		{"x://r/y/../%2Fetc%2Fpasswd", []string{"x://r/{p}"}, false},
		{"x://../../outside/secret.txt", []string{"x://../../outside/secret.txt"}, false},
		{"x://link/secret.txt", []string{"x://link/secret.txt"}, false},
		{"x://r/c:%2Fwindows", []string{"x://r/{p}"}, false},
		{"x://c://windows", []string{"x://{+p}"}, false},
	} {
		s, err := c.ScanURI("child", w.fill(tc.uri), tc.own...)
		w.must(err)
		if v := c.Judge(s, w.where(), w.view()); (v.Decision == policy.Allow) != (tc.allowed && runtime.GOOS != "windows") {
			t.Errorf("%q of %q: %s %+v", tc.uri, tc.own, v.Decision, v.Findings)
		}
	}
	if _, v := w.call(c, w.tool(c, "server", `{"name":"x","inputSchema":{"type":"object","properties":{"uri":{"type":"string"}}}}`), `{"uri":"x://r/1"}`); v.Decision != policy.Deny {
		t.Error("as an argument of a tool it is allowed")
	}
}

// TestURICost: a URI of half a megabyte costs no more than its length deserves.
func TestURICost(t *testing.T) {
	if testing.Short() || raceEnabled {
		t.Skip("measured")
	}
	runtime.LockOSThread() // spent is of the thread
	defer runtime.UnlockOSThread()
	w := wild(t)
	c := w.checker()
	for _, piece := range []string{"a/", "../", "%2e%2e/", "%25", "//", "{", "?", "\t", "/link", "%2F..", `\`} {
		uri := "x://" + strings.Repeat(piece, (1<<19)/len(piece))
		begin := spent()
		s, err := c.ScanURI("child", uri, "x://{a}/{+b}", "{+c}")
		if err == nil {
			c.Judge(s, w.where(), w.view())
		}
		took := spent() - begin
		t.Logf("%q: %v", piece, took)
		if took > bounds.Of(3*time.Second) {
			t.Errorf("%q: %v", piece, took)
		}
		if s, err = c.ScanURI("child", uri[:1<<15], "x://{a}/{+b}", "{+c}"); err == nil {
			c.Judge(s, w.where(), w.view())
		}
		if took := spent() - begin; took > bounds.Of(4*time.Second) {
			t.Errorf("%q, short: %v", piece, took)
		}
	}
}
