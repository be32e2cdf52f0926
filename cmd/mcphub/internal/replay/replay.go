package replay

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"mcphub/children/sandbox"
	"mcphub/hub/audit/trail"
	"mcphub/internal/principal"
	"mcphub/internal/redact"
	"mcphub/validate"
	"mcphub/validate/access"
	"mcphub/validate/policy"
)

// A Verdict is what another policy makes of a recorded decision.
type Verdict struct {
	Decision policy.Decision
	By       string   // the rule that decides, or inside, boundary, no path
	Unknowns []string // what the record does not tell
}

// hard are the codes of findings that no rule is asked about.
var hard = map[string]bool{validate.CodeProtected: true, validate.CodeProtectedBelow: true, validate.CodeCeiling: true, validate.CodeOutsideResource: true}

// Judge asks the rules about a record: the strictest of its findings
// counts, and without any the first rule about calls.
func Judge(p *policy.Info, d *trail.Decision) Verdict {
	p, open := forWhom(p, d)
	out := judgeRecord(p, d)
	out.Unknowns = append(out.Unknowns, open...)
	return out
}

// forWhom leaves out the rules that are for others than the principal of a record, and reports what it does not tell about those.
func forWhom(p *policy.Info, d *trail.Decision) (*policy.Info, []string) {
	if !slices.ContainsFunc(p.Rules, func(r policy.RuleInfo) bool { return r.Named() }) {
		return p, nil
	}
	out, open := *p, []string(nil)
	out.Rules = nil
	for _, r := range p.Rules {
		closes := r.Then != policy.Allow
		switch {
		case !r.Named():
		case d.Principal == principal.Nobody: // see policy.Compiled.For
			if !closes {
				continue
			}
			r.Then = policy.Deny
		case d.Principal != "" && !r.Names(d.Principal):
			continue
		case d.Principal == "" || len(r.Groups) > 0:
			if r.About(d.Child, cmp.Or(d.Method, d.Tool)) {
				open = append(open, "whether the rule "+r.Name+" is for whose call it was: "+map[bool]string{true: "that", false: "its groups"}[d.Principal == ""]+" the record does not tell")
			}
			if !closes {
				continue
			}
		}
		out.Rules = append(out.Rules, r)
	}
	return &out, open
}

func judgeRecord(p *policy.Info, d *trail.Decision) Verdict {
	tool := d.Tool
	if d.Method != "" {
		tool = d.Method // a rule names a request that is no call of a tool by its method
	}
	switch {
	case hard[d.Code]:
		out := Verdict{Decision: policy.Deny, By: d.Code}
		if d.Code != validate.CodeCeiling && d.Code != validate.CodeOutsideResource && (len(d.Findings) == 0 || protectedCode(p, access.Write, d.Findings[0].Path) == "") {
			out.Unknowns = []string{"it was protected when it was recorded"}
		}
		return out
	case d.Rule == validate.RuleUnresolvable, d.Rule == validate.RuleUnjudged, d.Code == validate.CodeBudget:
		return Verdict{Decision: policy.Deny, By: d.Rule}
	}
	if len(d.Findings) == 0 {
		for i := range p.Rules {
			if r := &p.Rules[i]; r.Paths == nil && r.About(d.Child, tool) {
				return Verdict{Decision: r.Then, By: r.Name}.noteAsked(d)
			}
		}
		return Verdict{Decision: policy.Allow, By: validate.RuleNoPath}
	}
	out := Verdict{Decision: policy.Allow, By: validate.RuleInside}
	for i, f := range d.Findings {
		role, err := access.Parse(f.Role)
		now := Verdict{Decision: policy.Deny, By: validate.RuleUnresolvable}
		switch {
		case f.Path == "" || strings.Contains(f.Path, redact.Mark) || err != nil:
			now.Unknowns = []string{"where " + f.At + " led is not recorded"}
			if d.Decision == "allow" {
				now.Decision, now.By = policy.Allow, validate.RuleInside
			}
		default:
			now = judgePath(p, d, tool, role, f.Path, f.Inside)
			if f.Ways > 1 && asksWhere(p, d.Child, tool) {
				now.Unknowns = append(now.Unknowns, fmt.Sprintf("%s may stand for %d places, links followed and not, of which one is recorded", f.At, f.Ways))
			}
		}
		if i == 0 || now.Decision < out.Decision {
			now.Unknowns = append(out.Unknowns, now.Unknowns...)
			out = now
		} else {
			out.Unknowns = append(out.Unknowns, now.Unknowns...)
		}
	}
	if d.More > 0 {
		out.Unknowns = append(out.Unknowns, fmt.Sprintf("%d more paths were not recorded", d.More))
	}
	return out.noteAsked(d)
}

// noteAsked remembers that the answer of a human is not known, if the one that
// was given once does not stand for it.
func (r Verdict) noteAsked(d *trail.Decision) Verdict {
	if r.Decision == policy.Escalate && d.Decision != policy.Escalate.String() {
		r.Unknowns = append(r.Unknowns, "what a human would answer")
		if d.By != "" { // they have answered
			r.Decision, r.Unknowns = policy.Allow, []string{"whether the human who allowed it would again"}
		}
	}
	return r
}

// judgePath asks the rules about one path.
func judgePath(p *policy.Info, d *trail.Decision, tool string, role access.Role, path string, inside bool) Verdict {
	if code := protectedCode(p, role, path); code != "" {
		return Verdict{Decision: policy.Deny, By: code}
	}
	inside = inside || p.Sandbox != "" && sandbox.Contains(p.Sandbox, path)
	for i := range p.Rules {
		r := &p.Rules[i]
		if !r.About(d.Child, tool) {
			continue
		}
		along := takesAlong(r, role, path)
		if r.Paths == nil || (len(r.Paths.Roles) == 0 || slices.Contains(r.Paths.Roles, role)) && (r.Dir == "" || along || sandbox.Contains(r.Dir, path)) && (!r.Paths.Outside || !inside) {
			out := Verdict{Decision: r.Then, By: r.Name}
			if r.Dir != "" && !r.Found {
				out.Unknowns = []string{r.Dir + " is not there now, so links in it are not followed"}
			}
			return out
		}
	}
	switch {
	case inside:
		return Verdict{Decision: policy.Allow, By: validate.RuleInside}
	case d.Decision == "allow" && d.Rule == validate.RuleNoBoundary:
		return Verdict{Decision: policy.Allow, By: d.Rule}
	}
	return Verdict{Decision: policy.Deny, By: validate.RuleBoundary}
}

// takesAlong reports that a directory is removed or moved which holds that of a
// rule that denies or escalates.
func takesAlong(r *policy.RuleInfo, role access.Role, path string) bool {
	return role == access.Delete && r.Dir != "" && r.Then != policy.Allow && !r.Paths.Outside && sandbox.Contains(path, r.Dir)
}

// protectedCode returns by which code a path is denied before any rule, or "".
func protectedCode(p *policy.Info, role access.Role, path string) string {
	for _, own := range p.Protected {
		switch {
		case sandbox.Contains(own, path):
			return validate.CodeProtected
		case role != access.Read && sandbox.Contains(path, own):
			return validate.CodeProtectedBelow
		}
	}
	return ""
}

// asksWhere reports whether some rule about a tool depends on where paths lead.
func asksWhere(p *policy.Info, child, tool string) bool {
	for i := range p.Rules {
		if r := &p.Rules[i]; r.Paths != nil && (r.Dir != "" || r.Paths.Outside) && r.About(child, tool) {
			return true
		}
	}
	return false
}
