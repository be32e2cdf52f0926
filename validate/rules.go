package validate

import (
	"slices"

	"mcphub/rootsmgr/guard"
	"mcphub/validate/access"
	"mcphub/validate/detect"
	"mcphub/validate/machine"
	"mcphub/validate/policy"
)

// applyRules decides a finding by the rules of the policy. Without a rule about it, what the boundary decided stays.
func (j *judge) applyRules(out *FindingVerdict) {
	if out.candidates == nil || out.candidates.Hard {
		return
	}
	d := j.rules.Decide(out.candidates)
	switch {
	case d.TooMany:
		out.Decision, out.Code = d.Decision, CodeBudget
		return
	case d.Rule == nil:
		return
	case d.Decision == policy.Deny:
		out.Code = CodeRuleDeny
	case d.Decision == policy.Escalate:
		out.Code = CodeRuleEscalate
	case d.Granted:
		out.Code = CodeGranted
	default:
		out.Code = CodeRuleAllow
	}
	out.Decision = d.Decision
	for i := range out.Readings {
		out.Readings[i].Asks = d.Decision == policy.Escalate && out.candidates.Asks(out.Readings[i].kind)
	}
	out.fired, out.Rule = d.Rule, d.Rule.Name
	if d.Leads != "" {
		out.Target = d.Leads
	}
}

// joinReading takes in what was found when the same finding was read from other directories.
func (out *FindingVerdict) joinReading(more *FindingVerdict) {
	if out.candidates == nil { // then more has none either: no rule is about the tool
		return
	}
	for i := range more.Readings {
		more.Readings[i].kind = out.candidates.Take(more.candidates, more.Readings[i].kind)
	}
	out.candidates.Join(more.candidates) // of readings that were not kept
}

// isBoundless reports that no boundary is known. A sandbox alone is no boundary.
func (j *judge) isBoundless() bool {
	return j.roots.Snapshot == nil || j.roots.Snapshot.Guard().IsEmpty()
}

// isCapped reports a path outside the ceiling of the session, which neither a rule nor a grant nor the sandbox opens.
func (j *judge) isCapped(p *guard.Place) bool {
	if j.roots.Ceiling == nil || j.checker.policy == nil || machine.IsDevice(p.Path) {
		return false // the roots are below it already
	}
	lexical, physical, cleaned := j.roots.Ceiling.Inside(&p.Readings)
	return !lexical || !physical || !cleaned
}

// isBeside reports a directory that is served in addition to the roots: outside the boundary, not where the child works, and not
// named by the call. A child may try its directories one after the other. So a relative path is read from there only if
// something exists there, or the directory to create it in does. Otherwise a person would be asked about every relative path.
func (j *judge) isBeside(base string) bool {
	if base == "" || base == j.callCtx.Cwd || !j.checker.policy.Serves(base, j.callCtx.Grants) || slices.Contains(j.namedDirs, base) {
		return false
	}
	_, isInside, _ := j.guard.Inside(&guard.Readings{Lexical: base, Physical: base, Cleaned: base})
	return !isInside
}

// passesBy reports a directory that the server does not try: it is known to start relative paths in the first directory that it
// is served. Only a path that climbs out of one base is tried in the others.
func (j *judge) passesBy(s meaning) bool {
	if !j.startsAtFirst || len(j.callCtx.Served) == 0 || s.base == j.callCtx.Served[0] {
		return false
	}
	_, staysInBase := machine.Below(j.Platform.Clean(s.base), j.Platform.Clean(s.path))
	return staysInBase
}

// isIrrelevant reports a reading of a relative path from a directory beside the roots that does not count: nothing exists there, or the
// server does not try that directory.
func (j *judge) isIrrelevant(f *detect.Finding, s meaning, p *guard.Place) bool {
	if s.glob != "" || s.led || !j.isBeside(s.base) || !slices.ContainsFunc(j.baseDirectories(), func(b string) bool { return !j.isBeside(b) }) {
		return false
	}
	if _, hasOwnBase := j.declaredBase(f); hasOwnBase {
		return false
	}
	if j.passesBy(s) {
		return true
	}
	if p.Exists {
		return false
	}
	if f.Role == access.Read {
		return true
	}
	parent := j.Platform.Parent(p.Path)
	if j.Holds(parent, s.base) {
		return true
	}
	return !j.isDir(parent) // the target of the path could be told, so this is no lack of rights
}
