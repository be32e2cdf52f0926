package hub

import (
	"mcphub/internal/printable"
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
	out := RuleReport{Name: printable.Escape(r.Name, 100), Then: r.Then.String(), If: r.Condition(), Dir: r.Dir, At: r.At}
	out.Serve = r.Dir != "" && (r.Then == validate.Allow || r.Then == validate.Escalate && r.Serve)
	if r.Dir != "" && !r.Found {
		out.Note = "the directory is not there, or may not be looked at"
	}
	return out
}
