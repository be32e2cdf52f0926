package validate

import (
	"fmt"
	"testing"

	"mcphub/validate/access"
	"mcphub/validate/policy"
)

// What a shell writes out of a pattern, and what a command takes away, is held against rules and against what is protected.
// The control of each command is the same one without a rule.
func TestRulesAndShellStrings(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	deny := []policy.Rule{{Then: policy.Deny, Paths: within("{project}/src")}}
	ask := []policy.Rule{{Then: policy.Escalate, Paths: within("{project}/src")}}
	shell := func(command string) string { return fmt.Sprintf(`{"command":%q}`, command) }
	for _, command := range []string{
		"cat s*/main.go", "cat */main.go", "cat [s]rc/m*", "cat s?c/*", "ls s*", "ls ?rc", "cat {src,x}/main.go", "cat **/main.go", "cd s* && cat main.go", "for f in s*; do cat $f; done",
		"cat ./s*/main.go", "cat {project}/s*/main.go", "cat docs/../s*/main.go",
		"rm -rf .", "rm -rf ./", "rm -rf s*", "rm -rf ./s*", "rm -rf {project}", `rm -rf \"$PWD\"`, "rm -rf docs/..", "mv . elsewhere", "find . -delete", "find -name x -delete", "rmdir src", "rm -r s*",
	} {
		for _, rules := range [][]policy.Rule{deny, ask} {
			(&policyCase{command, rules, shellTool, `{"command":"` + command + `"}`, rules[0].Then, "rule 1", policy.Allow}).run(t, w)
		}
	}
	for _, command := range []string{
		"cat d*/main.go", "cat *.txt", "ls docs/*", "cat src*/x", "rm -rf docs", "rm -rf docs/*", "find docs -delete", "find . -name x", "ls", "ls .", "tar czf docs/x.tgz .", "echo no*ne",
	} {
		(&policyCase{"nothing of it: " + command, deny, shellTool, shell(command), policy.Allow, "", policy.Allow}).run(t, w)
	}
	(&policyCase{"a vector", deny, shellTool, `{"args":["rm","-rf","."]}`, policy.Deny, "rule 1", policy.Allow}).run(t, w)
	(&policyCase{"reading is another role", []policy.Rule{{Then: policy.Deny, Paths: within("{project}/src", access.Delete)}}, shellTool, shell("cat s*/main.go"), policy.Allow, "", policy.Allow}).run(t, w)
	(&policyCase{"deleting is the role", []policy.Rule{{Then: policy.Deny, Paths: within("{project}/src", access.Delete)}}, shellTool, shell("rm s*/main.go"), policy.Deny, "rule 1", policy.Allow}).run(t, w)

	// A word that is read first and changed later is changed.
	for command, then := range map[string]policy.Decision{
		"cat src/main.go; cp a.txt src/main.go": policy.Deny, "cat src/main.go && rm src/main.go": policy.Deny, "ls src; rm -rf src": policy.Deny, "cat src/main.go; ls src": policy.Allow,
	} {
		rules := []policy.Rule{{Then: policy.Deny, Paths: within("{project}/src", access.Write, access.Delete)}}
		(&policyCase{command, rules, shellTool, shell(command), then, map[policy.Decision]string{policy.Deny: "rule 1"}[then], policy.Allow}).run(t, w)
	}

	cfg := w.config("")
	cfg.Protected = []string{w.project + "/src"}
	kept, err := NewChecker(cfg)
	w.must(err)
	bare := w.checker()
	for _, command := range []string{"rm -rf .", "mv . x", "find . -delete", "find -delete", "cat s*/main.go", "rm -rf s*"} {
		if _, v := w.call(kept, w.tool(kept, "", shellTool), shell(command)); v.Rule != RuleProtected {
			t.Errorf("%s: %v by %q", command, v.Decision, v.Rule)
		}
		if _, v := w.call(bare, w.tool(bare, "", shellTool), shell(command)); v.Decision != policy.Allow {
			t.Errorf("control: %s: %v", command, v.Deciding)
		}
	}
}
