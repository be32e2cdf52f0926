package validate

import (
	"fmt"
	"slices"

	"mcphub/rootsmgr"
	"mcphub/validate/detect"
)

// settle takes the strictest of the findings (V9, P1): what is denied before what is escalated, what is protected first.
// A call without any is decided by the policy's first rule about calls.
func (v *Verdict) settle(t *Tool, w Where, view rootsmgr.View) {
	v.Decision, v.Rule, v.Fired, v.First = Allow, RuleInside, nil, nil
	if !slices.ContainsFunc(v.Findings, func(f Judged) bool { return f.How != detect.HowResource }) {
		v.settleCall(t.CallRule(), w)
		if len(v.Findings) > 0 && v.Fired == nil {
			v.Rule = RuleInside
		}
	}
	for i := range v.Findings {
		f := &v.Findings[i]
		if f.How != detect.HowResource {
			f.Hint = hintFor(t, f)
		}
		if f.Decision == Allow {
			if v.Decision == Allow && v.Fired == nil {
				if f.Code == CodeOpen {
					v.Rule = RuleNoBoundary
				}
				if f.fired != nil {
					v.Rule, v.Fired = f.fired.Name, f.fired
				}
			}
			continue
		}
		shielded := f.Code == CodeProtected || f.Code == CodeProtectedAbove
		if v.First == nil || f.Decision < v.Decision || shielded && v.Rule != RuleProtected || v.First.borrowed && !f.borrowed && f.Decision == v.Decision {
			v.First, v.Fired = f, f.fired
			v.Decision, v.Rule = f.Decision, ruleOf(f.Code)
			if f.fired != nil {
				v.Rule = f.fired.Name
			}
		}
	}
	if v.First != nil && (v.Fired == nil || v.Fired.Paths != nil) && v.Decision == Escalate {
		// A person is asked about the call as a whole where a rule about calls is among those that ask.
		for i := range v.Findings {
			if f := &v.Findings[i]; f.Decision == Escalate && f.fired.Paths == nil {
				v.Rule, v.Fired = f.fired.Name, f.fired
			}
		}
	}
	if v.Fired != nil && v.Fired.Paths == nil {
		v.First = nil
	}
	v.Why, v.Roots = "", nil
	if v.First != nil && v.Rule != RuleProtected && v.Fired == nil {
		v.Why = v.First.whyNot(view)
	}
	switch {
	case v.First != nil && v.First.How == detect.HowResource:
		v.Why, v.Roots = whyResource, v.First.bounds
	case v.Decision != Allow && view.Snapshot != nil:
		v.Roots = view.Snapshot.URIs()
	}
}

// settleCall decides a call in which no path was found.
func (v *Verdict) settleCall(r *Rule, w Where) {
	v.Rule = RuleNoPath
	if r == nil {
		return
	}
	v.Decision, v.Rule, v.Fired = r.Then, r.Name, r
	if r.Then == Escalate && w.Approved == r.Name {
		v.Decision = Allow
	}
}

func ruleOf(code string) string {
	switch code {
	case CodeProtected, CodeProtectedAbove:
		return RuleProtected
	case CodeOutside, CodeOutsideLink, CodeUnmapped, CodeOutsideResource:
		return RuleBoundary
	case CodeCeiling:
		return RuleCeiling
	case CodeRootsEmpty, CodeRootsFailed, CodeRootsUnsupported:
		return RuleNoBoundary
	}
	return RuleUnresolvable
}

// hintFor writes what an operator would add to hub.json to declare that the argument is no path.
func hintFor(t *Tool, f *Judged) string {
	if f.Decision == Allow || f.Code == CodeProtected || f.Code == CodeProtectedAbove || !f.Plausible() || t.args.URI || f.Member {
		return ""
	}
	return fmt.Sprintf(`"mcpServers": { %s: { "paths": { "args": { %s: { %s: "none" } } } } }`, quoteJSON(t.child.Name), quoteJSON(t.name), quoteJSON(f.Declare))
}

// RootsMatter reports whether other roots of the client could turn a verdict that is not Allow.
func (v *Verdict) RootsMatter() bool {
	switch {
	case v.Decision == Allow:
		return false
	case v.Fired != nil:
		return v.Fired.Paths != nil && v.Fired.Paths.Outside
	}
	return v.First != nil && (v.First.How != detect.HowResource || v.First.byClient)
}
