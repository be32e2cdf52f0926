package status

import (
	"slices"

	"mcphub/internal/printable"
	"mcphub/validate"
	"mcphub/validate/policy"
)

// A Policy is the policy in force as get-roots and status show it. It is
// JSON; members are added, never changed.
type Policy struct {
	Sandbox string `json:"sandbox,omitempty"` // inside every boundary
	Rules   []Rule `json:"rules"`             // in order: the first that matches a path decides
}

// Rule is one rule of the policy.
type Rule struct {
	Name  string `json:"name"`
	Then  string `json:"then"` // allow, deny or escalate
	If    string `json:"if"`   // what it asks for, in words
	Dir   string `json:"directory,omitempty"`
	Serve bool   `json:"served,omitempty"` // to the servers it matches, from the start
	At    string `json:"at,omitempty"`     // where it stands: file and line
	Note  string `json:"note,omitempty"`

	servers []string // patterns; none: it is about every server
}

// isAbout reports whether a pattern of the rule is for a server.
func (r *Rule) isAbout(server string) bool {
	return slices.ContainsFunc(r.servers, func(pattern string) bool {
		is, _ := policy.MatchName(pattern, server) // one that is none was refused when the rule was read
		return is
	})
}

// PolicyOf reports a policy, nil for none.
func PolicyOf(by *validate.Checker) *Policy {
	info, ok := by.Policy()
	if !ok {
		return nil
	}
	out := &Policy{Sandbox: info.Sandbox, Rules: []Rule{}}
	for i := range info.Rules {
		out.Rules = append(out.Rules, RuleOf(&info.Rules[i]))
	}
	return out
}

// RuleOf puts a rule into words.
func RuleOf(r *policy.RuleInfo) Rule {
	out := Rule{Name: printable.Escape(r.Name, 100), Then: r.Then.String(), If: r.Condition(), Dir: r.Dir, At: r.At, servers: r.Servers}
	out.Serve = r.Dir != "" && r.Closed == "" && (r.Then == policy.Allow || r.Then == policy.Escalate && r.Serve)
	if r.Dir != "" && !r.Found {
		out.Note = "the directory is not there, or may not be looked at"
	}
	if r.Closed != "" && r.Then != policy.Deny {
		out.Note = "it opens nothing: " + r.Closed
	}
	return out
}
