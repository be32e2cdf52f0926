package hub

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcphub/children/spec"
	"mcphub/e2e/childtest"
	"mcphub/internal/jsonrpc"
	"mcphub/rootsmgr"
	"mcphub/rootsmgr/guard"
	"mcphub/rootsmgr/platform"
	"mcphub/validate"
	"mcphub/validate/access"
	"mcphub/validate/policy"
)

// under puts a policy into a test's Config.
func under(t testing.TB, cfg Config, p policy.Policy) Config {
	t.Helper()
	judged := validate.Config{FS: guard.OS{}, Home: cfg.Home, Policy: p}
	for _, c := range cfg.Children {
		judged.Children = append(judged.Children, validate.ChildConfig{Name: c.Spec.Name, Command: c.Spec.Command, CommandArgs: c.Spec.Args})
	}
	checker, err := validate.NewChecker(judged)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Checker = checker
	return cfg
}

// places makes directories, and a sandbox, by name.
func places(t testing.TB, names ...string) map[string]string {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, n := range names {
		out[n] = filepath.Join(top, n)
		if err := os.Mkdir(out[n], 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func (c *testClient) callText(tool, args string) (string, bool) {
	c.t.Helper()
	return text(c.raw("tools/call", toolCall(tool, args)))
}

// TestPolicyDirectoriesAreServed tests P2: which directories, in which order, to which children, however they learn of them.
func TestPolicyDirectoriesAreServed(t *testing.T) {
	d := places(t, "project", "box", "docs", "asked", "served", "private", "configured")
	policy := policy.Policy{Sandbox: d["box"], Rules: []policy.Rule{
		{Name: "docs", Then: policy.Allow, Servers: []string{"own", "all", "same"}, Paths: &policy.PathRule{Within: d["docs"], Roles: []access.Role{access.Read}}},
		{Name: "again", Then: policy.Allow, Paths: &policy.PathRule{Within: d["project"]}},
		{Name: "private", Then: policy.Deny, Paths: &policy.PathRule{Within: d["private"]}},
		{Name: "asked", Then: policy.Escalate, Paths: &policy.PathRule{Within: d["asked"]}},
		{Name: "served", Then: policy.Escalate, Serve: true, Servers: []string{"own"}, Paths: &policy.PathRule{Within: d["served"]}},
		{Name: "anywhere", Then: policy.Allow, Paths: &policy.PathRule{Outside: true, Roles: []access.Role{access.Read}}},
	}}
	specs := []spec.Spec{
		played("own", spec.ShareSession, childtest.Script{AskRoots: true}), played("same", spec.ShareRoots, childtest.Script{AskRoots: true}),
		played("all", spec.ShareAll, childtest.Script{AskRoots: true}), played("other", spec.ShareSession, childtest.Script{AskRoots: true}),
	}
	cfg := under(t, testConfig(t, specs...), policy)
	cfg.Fallback = rootsmgr.Fallback{Origin: rootsmgr.OriginConfig, Entries: []rootsmgr.RootEntry{{URI: d["configured"]}}}
	h := runHub(t, cfg)
	c := connect(t, h, d["project"])
	c.handshake(declared)
	for child, want := range map[string][]string{
		"own":   {"project project", "box sandbox", "docs docs", "served served"},
		"same":  {"project project", "box sandbox", "docs docs"},
		"all":   {"configured configured", "box sandbox", "docs docs", "project again"},
		"other": {"project project", "box sandbox"},
	} {
		msg, bad := c.callText(child+"__roots", `{}`)
		var got []string
		_ = jsonrpc.Elements(jsonrpc.Get([]byte(msg), "roots"), func(v []byte) bool {
			uri, _ := jsonrpc.String(jsonrpc.Get(v, "uri"))
			name, _ := jsonrpc.String(jsonrpc.Get(v, "name"))
			got = append(got, strings.TrimSpace(filepath.Base(uri)+" "+name))
			return true
		})
		// The first root keeps its name, here its directory's, since the client gave none; a rule's name is no business of it.
		if bad || len(got) == 0 || !slices.Equal(got, want) || strings.Contains(msg, "null") {
			t.Errorf("%s is served %q, want %q: %s", child, got, want, msg)
		}
	}
	env := c.raw("tools/call", toolCall("own__env", `{}`))
	if want := strings.Join([]string{d["project"], d["box"], d["docs"], d["served"]}, `\n`); !strings.Contains(env, want) {
		t.Errorf("MCP_ROOTS_PATHS of own: want %s in %s", want, env)
	}
	report := c.raw("tools/call", toolCall("get-roots", `{}`))
	got := jsonrpc.Get([]byte(report), "structuredContent")
	if string(jsonrpc.Get(got, "filePaths")) != fmt.Sprintf("[%q]", d["project"]) {
		t.Errorf("the boundary took in what is only served: %s", jsonrpc.Get(got, "filePaths"))
	}
	if shown := string(jsonrpc.Get(got, "policy")); strings.Count(shown, `"then":`) != 6 || !strings.Contains(shown, d["box"]) {
		t.Errorf("get-roots shows the policy as %s", shown)
	}
	// What is served is not open: the same directories to a tool that writes.
	for path, want := range map[string]bool{"project": true, "box": true, "docs": false, "served": false, "asked": false, "private": false} {
		if msg, bad := c.callText("own__echo", fmt.Sprintf(`{"path":%q}`, d[path]+"/x")); bad == want {
			t.Errorf("writing to %s passes: %t, want %t: %s", path, !bad, want, msg)
		}
	}
}

// TestPolicyDirectoriesUnderACeiling: a token's ceiling holds for what is served too (H5).
func TestPolicyDirectoriesUnderACeiling(t *testing.T) {
	d := places(t, "mine", "docs", "box")
	inner := filepath.Join(d["docs"], "public")
	if err := os.Mkdir(inner, 0o700); err != nil {
		t.Fatal(err)
	}
	policy := policy.Policy{Sandbox: d["box"], Rules: []policy.Rule{{Name: "docs", Then: policy.Allow, Paths: &policy.PathRule{Within: d["docs"]}}}}
	h := runHub(t, under(t, testConfig(t, played("own", spec.ShareSession, childtest.Script{AskRoots: true})), policy))
	w := serveWeb(t, h, HTTPOptions{Tokens: []Token{{Name: "alice", Secret: "a", Roots: directories(d["mine"], inner)}, {Name: "bob", Secret: "b"}}})
	for who, want := range map[string][]string{"a": {d["mine"], inner}, "b": {d["mine"], d["box"], d["docs"]}} {
		c := w.initialize(`{"roots":{}}`, "Authorization", "Bearer "+who).initialized()
		m := c.frames(c.request("tools/call", toolCall("own__roots", `{}`)), c.answering(d["mine"]))
		msg, _ := text(string(m.Result))
		if strings.Count(msg, "uri") != len(want) || slices.ContainsFunc(want, func(p string) bool { return !strings.Contains(msg, `"`+platform.Host().FormatURI(p)+`"`) }) {
			t.Errorf("%s: served %s, want %v", who, msg, want)
		}
		for _, path := range []string{d["mine"], inner, d["docs"], d["box"]} {
			m := c.frames(c.request("tools/call", toolCall("own__echo", fmt.Sprintf(`{"path":%q}`, path+"/x"))), c.answering(d["mine"]))
			_, bad := text(string(m.Result))
			if want := who == "b" || path == d["mine"] || path == inner; bad == want {
				t.Errorf("%s: %s passes: %t: %s", who, path, !bad, m.Result)
			}
		}
	}
}

// TestInsideWhatThePolicyOpens: a hub.json in a directory that a tool may be let write to is not read by itself (H6).
func TestInsideWhatThePolicyOpens(t *testing.T) {
	t.Parallel()
	d := places(t, "box", "docs", "private", "elsewhere")
	policy := policy.Policy{Sandbox: d["box"], Rules: []policy.Rule{
		{Name: "docs", Then: policy.Allow, Paths: &policy.PathRule{Within: d["docs"]}}, {Name: "private", Then: policy.Deny, Paths: &policy.PathRule{Within: d["private"]}},
	}}
	h := runHub(t, under(t, testConfig(t, scripted("kid", childtest.Script{})), policy))
	for name, want := range map[string]bool{"box": true, "docs": true, "private": false, "elsewhere": false} {
		if _, got := h.FindRootOf(filepath.Join(d[name], "hub.json")); got != want {
			t.Errorf("%s: inside %t, want %t", name, got, want)
		}
	}
}
