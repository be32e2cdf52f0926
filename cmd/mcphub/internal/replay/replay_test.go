package replay

import (
	"encoding/json"
	"strings"
	"testing"

	"mcphub/hub/audit/trail"
	"mcphub/validate/access"
	"mcphub/validate/policy"
)

func TestWhatAnotherPolicyTurns(t *testing.T) {
	t.Parallel()
	rule := func(name string, then policy.Decision, servers, tools string, paths *policy.PathRule, dir string) policy.RuleInfo {
		r := policy.RuleInfo{Rule: policy.Rule{Name: name, Then: then, Paths: paths}, Dir: dir, Found: true}
		if servers != "" {
			r.Servers = strings.Fields(servers)
		}
		if tools != "" {
			r.Tools = strings.Fields(tools)
		}
		return r
	}
	docs := rule("docs", policy.Allow, "files", "read_*", &policy.PathRule{Roles: []access.Role{access.Read}, Within: "/docs"}, "/docs")
	ask := rule("ask", policy.Escalate, "", "", &policy.PathRule{Outside: true}, "")
	never := rule("never", policy.Deny, "", "delete_*", nil, "")
	keep := rule("keep", policy.Deny, "", "", &policy.PathRule{Within: "/project/keep"}, "/project/keep")
	for _, tc := range []struct {
		name, record, want, by, open string
		rules                        []policy.RuleInfo
		sandbox                      string
	}{
		{name: "no policy changes nothing", record: `{"decision":"allow","rule":"no path"}`, want: "allow", by: "no path"},
		{name: "inside", record: `{"decision":"allow","findings":[{"at":"/p","role":"read","path":"/project/a","inside":true}]}`, want: "allow", by: "inside"},
		{name: "outside", record: `{"decision":"deny","findings":[{"at":"/p","role":"read","path":"/docs/a"}]}`, want: "deny", by: "boundary"},
		{name: "a URI outside stays", record: `{"decision":"deny","code":"outside-resources","child":"files","tool":"fetch","findings":[{"at":"/url","role":"read","path":"https://evil.example/"}]}`,
			rules: []policy.RuleInfo{docs}, want: "deny", by: "outside-resources"},
		{name: "a URI inside stays", record: `{"decision":"allow","rule":"inside","child":"files","tool":"fetch","findings":[{"at":"/url","role":"read","path":"https://api.example.com/v1/","inside":true}]}`,
			rules: []policy.RuleInfo{docs}, want: "allow", by: "inside"},
		{name: "a rule opens", record: `{"decision":"deny","child":"files","tool":"read_file","findings":[{"at":"/p","role":"read","path":"/docs/a"}]}`,
			rules: []policy.RuleInfo{docs}, want: "allow", by: "docs"},
		{name: "not for another role", record: `{"decision":"deny","child":"files","tool":"read_file","findings":[{"at":"/p","role":"write","path":"/docs/a"}]}`,
			rules: []policy.RuleInfo{docs}, want: "deny", by: "boundary"},
		{name: "not for another server", record: `{"decision":"deny","child":"other","tool":"read_file","findings":[{"at":"/p","role":"read","path":"/docs/a"}]}`,
			rules: []policy.RuleInfo{docs}, want: "deny", by: "boundary"},
		{name: "not for a neighbour", record: `{"decision":"deny","child":"files","tool":"read_file","findings":[{"at":"/p","role":"read","path":"/docs-secret/a"}]}`,
			rules: []policy.RuleInfo{docs}, want: "deny", by: "boundary"},
		{name: "the strictest counts", record: `{"decision":"deny","child":"files","tool":"read_file","findings":[{"at":"/p","role":"read","path":"/docs/a"},{"at":"/q","role":"read","path":"/etc/x"}]}`,
			rules: []policy.RuleInfo{docs}, want: "deny", by: "boundary"},
		{name: "escalates", record: `{"decision":"deny","findings":[{"at":"/p","role":"read","path":"/etc/x"}]}`, rules: []policy.RuleInfo{docs, ask}, want: "escalate", by: "ask", open: "what a human would answer"},
		{name: "was allowed by a human", record: `{"decision":"allow","by":"client","findings":[{"at":"/p","role":"read","path":"/etc/x"}]}`, rules: []policy.RuleInfo{ask}, want: "allow", by: "ask", open: "again"},
		{name: "closes what was inside", record: `{"decision":"allow","findings":[{"at":"/p","role":"write","path":"/project/keep/a","inside":true}]}`, rules: []policy.RuleInfo{keep}, want: "deny", by: "keep"},
		{name: "first match wins", record: `{"decision":"deny","child":"files","tool":"read_file","findings":[{"at":"/p","role":"read","path":"/docs/a"}]}`,
			rules: []policy.RuleInfo{ask, docs}, want: "escalate", by: "ask", open: "human"},
		{name: "a call without a path", record: `{"decision":"allow","tool":"delete_all"}`, rules: []policy.RuleInfo{keep, never}, want: "deny", by: "never"},
		{name: "a request that is no call", record: `{"decision":"allow","method":"prompts/get","tool":"delete_x"}`, rules: []policy.RuleInfo{never}, want: "allow", by: "no path"},
		{name: "protected stays", record: `{"decision":"deny","code":"protected","child":"files","tool":"read_file","findings":[{"at":"/p","role":"read","path":"/docs/a"}]}`,
			rules: []policy.RuleInfo{docs}, want: "deny", by: "protected", open: "was protected"},
		{name: "protected now", record: `{"decision":"allow","findings":[{"at":"/p","role":"read","path":"/keys/a","inside":true}]}`, want: "deny", by: "protected"},
		{name: "above what is protected", record: `{"decision":"allow","findings":[{"at":"/p","role":"delete","path":"/","inside":true}]}`, want: "deny", by: "protected-below"},
		{name: "reading above it", record: `{"decision":"allow","findings":[{"at":"/p","role":"read","path":"/","inside":true}]}`, want: "allow", by: "inside"},
		{name: "a directory above a rule's is removed", record: `{"decision":"allow","findings":[{"at":"/p","role":"delete","path":"/project","inside":true}]}`, rules: []policy.RuleInfo{keep}, want: "deny", by: "keep"},
		{name: "written above a rule's", record: `{"decision":"allow","findings":[{"at":"/p","role":"write","path":"/project","inside":true}]}`, rules: []policy.RuleInfo{keep}, want: "allow", by: "inside"},
		{name: "more than one place", record: `{"decision":"allow","findings":[{"at":"/p","role":"read","path":"/project/a","inside":true,"ways":2}]}`, rules: []policy.RuleInfo{keep}, want: "allow", by: "inside", open: "2 places"},
		{name: "more than one place, and no rule asks", record: `{"decision":"allow","findings":[{"at":"/p","role":"read","path":"/project/a","inside":true,"ways":2}]}`, want: "allow", by: "inside"},
		{name: "unresolvable stays", record: `{"decision":"deny","rule":"unresolvable","code":"loop","child":"files","tool":"read_file","findings":[{"at":"/p","role":"read","path":"/docs/a"}]}`,
			rules: []policy.RuleInfo{docs}, want: "deny", by: "unresolvable"},
		{name: "a path that was left out", record: `{"decision":"allow","findings":[{"at":"/p","role":"read","path":"/a/[redacted]","inside":true}]}`, want: "allow", by: "inside", open: "not recorded"},
		{name: "more paths", record: `{"decision":"allow","findings":[{"at":"/p","role":"read","path":"/project/a","inside":true}],"more":3}`, want: "allow", by: "inside", open: "3 more"},
		{name: "sandbox", record: `{"decision":"deny","findings":[{"at":"/p","role":"write","path":"/sandbox/a"}]}`, sandbox: "/sandbox", want: "allow", by: "inside"},
	} {
		var d trail.Decision
		if err := json.Unmarshal([]byte(tc.record), &d.Event); err != nil {
			t.Fatal(err)
		}
		got := Judge(&policy.Info{Rules: tc.rules, Sandbox: tc.sandbox, Protected: []string{"/keys"}}, &d)
		open := strings.Join(got.Unknowns, "; ")
		if got.Decision.String() != tc.want || got.By != tc.by || !strings.Contains(open, tc.open) || tc.open == "" && open != "" {
			t.Errorf("%s: %s by %s, unsure %q; want %s by %s, unsure %q", tc.name, got.Decision, got.By, open, tc.want, tc.by, tc.open)
		}
	}
}
