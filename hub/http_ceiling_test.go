package hub

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcphub/children/spec"
	"mcphub/e2e/childtest"
	"mcphub/internal/jsonrpc"
	"mcphub/rootsmgr"
	"mcphub/rootsmgr/platform"
)

// directories returns the roots of a token.
func directories(paths ...string) (list []rootsmgr.RootEntry) {
	for _, p := range paths {
		list = append(list, rootsmgr.RootEntry{URI: p})
	}
	return list
}

// TestHTTPCeilingOfAToken (H5): a client stays below the directories of its
// token, whatever it claims and no matter who runs the call; one whose token has
// none is the control.
func TestHTTPCeilingOfAToken(t *testing.T) {
	mine, theirs := t.TempDir(), t.TempDir()
	cfg := testConfig(t,
		played("own", spec.ShareSession, childtest.Script{AskRoots: true}),
		played("common", spec.ShareAll, childtest.Script{AskRoots: true}),
		played("same", spec.ShareRoots, childtest.Script{AskRoots: true}))
	cfg.Launcher = childtest.Pipes{}
	cfg.Fallback = rootsmgr.Fallback{Origin: rootsmgr.OriginConfig, Entries: []rootsmgr.RootEntry{{URI: theirs}}}
	h := runHub(t, cfg)
	w := serveWeb(t, h, HTTPOptions{Tokens: []Token{
		{Name: "alice", Secret: "a", Roots: directories(mine)}, {Name: "bob", Secret: "b"}, {Name: "carol", Secret: "c", Roots: directories(filepath.Join(mine, "gone"))},
	}})
	as := func(who, caps string) *webClient {
		return w.initialize(caps, "Authorization", "Bearer "+who).initialized()
	}
	allowed := func(c *webClient, child, path string, roots ...string) bool {
		t.Helper()
		m := c.frames(c.request("tools/call", toolCall(child+"__echo", fmt.Sprintf(`{"path":%q}`, path))), c.answering(roots...))
		msg, bad := text(string(m.Result))
		if bad && !strings.HasPrefix(msg, "Access denied") {
			t.Fatalf("%s: %s", child, m.Result)
		}
		return !bad
	}
	for _, child := range []string{"own", "common", "same"} {
		for _, tc := range []struct {
			who, caps string
			claims    []string
			open      []string
		}{
			{"a", `{"roots":{}}`, []string{"/"}, []string{mine}},
			{"a", `{"roots":{}}`, []string{theirs, mine}, []string{mine}},
			{"a", `{"roots":{}}`, []string{theirs}, nil}, // the fallback lies beyond the ceiling too
			{"a", `{"roots":{}}`, nil, nil},
			{"a", `{}`, nil, nil}, // as the fallback is configured, and lies outside
			{"b", `{"roots":{}}`, []string{"/"}, []string{mine, theirs}},
			{"b", `{}`, nil, []string{theirs}},
			{"c", `{"roots":{}}`, []string{"/"}, nil},
		} {
			c := as(tc.who, tc.caps)
			for _, path := range []string{mine, theirs} {
				if got := allowed(c, child, filepath.Join(path, "x"), tc.claims...); got != slices.Contains(tc.open, path) {
					t.Errorf("%s, %s claims %v %s: %s passes: %t", child, tc.who, tc.claims, tc.caps, path, got)
				}
			}
		}
	}
	// What children are served: their own ones what is open, the common one what is configured.
	c := as("a", `{"roots":{}}`)
	allowed(c, "own", mine, "/")
	for child, want := range map[string]string{"own": platform.Host().FormatURI(mine), "same": platform.Host().FormatURI(mine), "common": platform.Host().FormatURI(theirs)} {
		m := c.frames(c.request("tools/call", toolCall(child+"__roots", `{}`)), c.answering("/"))
		if got, _ := text(string(m.Result)); !strings.Contains(got, `"`+want+`"`) || strings.Count(got, "uri") != 1 {
			t.Errorf("%s is served %s, want %s", child, got, want)
		}
	}
	report := jsonrpc.Get(c.frames(c.request("tools/call", toolCall("get-roots", `{}`)), nil).Result, "structuredContent")
	if got := string(jsonrpc.Get(report, "filePaths")); got != fmt.Sprintf("[%q]", mine) || !strings.Contains(string(report), "was narrowed") {
		t.Errorf("get-roots: %s", report)
	}
}
