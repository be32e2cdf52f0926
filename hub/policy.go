package hub

import (
	"fmt"
	"path/filepath"
	"strings"

	"mcphub/validate"
)

// This file shows the policy of hub.json, and says what a rule of it did.

// A PolicyReport is the policy in force as get-roots and status show it. It is
// JSON; members are added, never changed.
type PolicyReport struct {
	Sandbox string       `json:"sandbox,omitempty"` // inside every boundary
	Rules   []RuleReport `json:"rules"`             // in order: the first that matches a path decides
}

// RuleReport is one rule of the policy.
type RuleReport struct {
	Name  string `json:"name"`
	Then  string `json:"then"` // allow, deny or escalate
	If    string `json:"if"`   // what it asks for, in words
	Dir   string `json:"directory,omitempty"`
	Serve bool   `json:"served,omitempty"` // to the servers it matches, from the start
	At    string `json:"at,omitempty"`     // where it stands: file and line
	Note  string `json:"note,omitempty"`
}

// reportPolicy reports a policy, nil for none.
func reportPolicy(by *validate.Checker) *PolicyReport {
	info, ok := by.Policy()
	if !ok {
		return nil
	}
	out := &PolicyReport{Sandbox: info.Sandbox, Rules: []RuleReport{}}
	for i := range info.Rules {
		out.Rules = append(out.Rules, NewRuleReport(&info.Rules[i]))
	}
	return out
}

// NewRuleReport puts a rule into words.
func NewRuleReport(r *validate.RuleInfo) RuleReport {
	out := RuleReport{Name: shown(r.Name, 100), Then: r.Then.String(), If: r.Condition(), Dir: r.Dir, At: r.At}
	out.Serve = r.Dir != "" && (r.Then == validate.Allow || r.Then == validate.Escalate && r.Serve)
	if r.Dir != "" && !r.Found {
		out.Note = "the directory is not there, or may not be looked at"
	}
	return out
}

// ruleText names a rule in a denial: by its name, and the line of hub.json
// without the folder, which is nobody's business there.
func ruleText(r *validate.Rule) string {
	name := fmt.Sprintf("the rule %q of the policy", shown(r.Name, 100))
	if r.At == "" {
		return name
	}
	return name + " (" + shown(filepath.Base(r.At), 100) + ")"
}

// ruleDenial is the first line of a denial that a rule made; path is "" where
// the call itself was denied.
func ruleDenial(v *validate.Verdict, path string) string {
	subject := fmt.Sprintf("Path '%s'", shown(path, 200))
	if v.First == nil {
		subject = "This call"
	}
	if v.Decision == validate.Escalate {
		return fmt.Sprintf("Access denied: %s needs the approval of a human by %s, and nobody has given it.", subject, ruleText(v.Fired))
	}
	return fmt.Sprintf("Access denied: %s is refused by %s.", subject, ruleText(v.Fired))
}

// ruleCure says what would change a decision that a rule made.
func ruleCure(v *validate.Verdict) string {
	r := v.Fired
	var b strings.Builder
	fmt.Fprintf(&b, "The rule matches %s.", (&validate.RuleInfo{Rule: *r}).Condition())
	if v.Decision == validate.Deny {
		b.WriteString(" No approval lifts it: it would have to be changed in hub.json, or a rule that allows be put before it.")
	}
	return b.String()
}
