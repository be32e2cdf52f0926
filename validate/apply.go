package validate

import (
	"slices"

	"mcphub/rootsmgr"
	"mcphub/validate/access"
	"mcphub/validate/machine"
)

// This file asks the rules of the policy (P1). The boundary has judged every reading of a finding by then: what is
// protected, outside a token's ceiling or cannot be resolved is denied whatever a rule says.

// A candidate is one absolute path that a finding may stand for, with the three readings of that path: as written, as the
// kernel follows it, and cleaned before it is followed.
type candidate struct {
	place rootsmgr.Place
	known bool     // place is: the path could be resolved
	hard  bool     // denied before any rule
	alone Decision // by the boundary
}

// candidates are what those of one finding mean to the rules.
type candidates struct {
	hard  bool // a candidate is denied before any rule
	many  bool // more kinds than are kept, which denies
	kinds []candidateKind
}

// candidateKind is all that the rules can tell candidates apart by.
type candidateKind struct {
	id      int    // its index
	hits    []bool // by rule of the ruling
	alone   Decision
	granted bool
	leads   string // where the first one leads
}

const maxKinds = 256

// addCandidate takes a candidate into those of its finding.
func (j *judge) addCandidate(out *Judged, u *candidate, r *Reading) {
	t := out.candidates
	if t == nil {
		t = &candidates{}
		out.candidates = t
	}
	if t.hard = t.hard || u.hard; t.hard {
		return
	}
	var facts pathFacts
	if u.known {
		facts = j.facts(&u.place)
	}
	j.hits = j.hits[:0]
	for _, at := range j.ruling.rules {
		rule := &j.c.policy.rules[at]
		j.hits = append(j.hits, rule.roles.Has(out.Role) && j.isAbout(rule, &facts, u.known) || u.known && j.takesAlong(rule, out.Role, &u.place))
	}
	r.kind = t.keep(candidateKind{hits: j.hits, alone: u.alone, granted: j.granted(out.Role, &u.place), leads: r.Leads})
}

// keep returns the index of a kind, which it adds where it is new; -1 where there are too many.
func (t *candidates) keep(k candidateKind) int {
	for i := range t.kinds {
		if had := &t.kinds[i]; had.alone == k.alone && had.granted == k.granted && slices.Equal(had.hits, k.hits) {
			return i
		}
	}
	if len(t.kinds) == maxKinds {
		t.many = true
		return -1
	}
	k.id, k.hits = len(t.kinds), slices.Clone(k.hits)
	t.kinds = append(t.kinds, k)
	return k.id
}

// join takes in what was found when the same finding was read from other directories: more, which is of no use then.
func (out *Judged) join(more *Judged) {
	if out.candidates == nil || more.candidates == nil {
		return
	}
	out.candidates.hard, out.candidates.many = out.candidates.hard || more.candidates.hard, out.candidates.many || more.candidates.many
	for i := range more.Readings {
		if r := &more.Readings[i]; r.kind >= 0 && r.kind < len(more.candidates.kinds) {
			r.kind = out.candidates.keep(more.candidates.kinds[r.kind])
		}
	}
	for _, k := range more.candidates.kinds { // of readings that were not kept
		out.candidates.keep(k)
	}
}

// ruled is what the rules say of some candidates.
type ruled struct {
	decision Decision
	code     string
	by       *Rule // nil: the boundary
	leads    string
}

// rule decides a finding by its rules; where none is about it, it stays as the boundary has it.
func (j *judge) rule(out *Judged) {
	t := out.candidates
	switch {
	case t == nil || t.hard:
	case t.many:
		out.Decision, out.Code = Deny, CodeBudget
	default:
		asks := make([]bool, len(t.kinds))
		d := j.decide(t.kinds, asks)
		if d.by == nil {
			return
		}
		for i := range out.Readings {
			r := &out.Readings[i]
			r.Asks = d.decision == Escalate && r.kind >= 0 && r.kind < len(asks) && asks[r.kind]
		}
		out.Decision, out.Code, out.fired, out.Rule = d.decision, d.code, d.by, d.by.Name
		if d.leads != "" {
			out.Leads = d.leads
		}
	}
}

// decide is P1: the first rule that matches. One that denies or escalates matches where any candidate does, one that allows
// where all do. A rule that escalates asks about the candidates that it matches; the others are decided without it, and where
// they are denied, so is the whole: nobody is asked in vain, and no grant lifts a denial. What was asked about is open
// where grants cover all of it; a rule about calls is open for the one call that was approved under it. asks is set for the
// kinds of candidates that a grant is missing for.
func (j *judge) decide(candidates []candidateKind, asks []bool) ruled {
	for i, at := range j.ruling.rules {
		r := j.c.policy.rules[at].Rule
		first := slices.IndexFunc(candidates, func(u candidateKind) bool { return u.hits[i] })
		if first < 0 {
			continue
		}
		leads := candidates[first].leads
		switch r.Then {
		case Allow:
			if !slices.ContainsFunc(candidates, func(u candidateKind) bool { return !u.hits[i] }) {
				return ruled{Allow, CodeRuleAllow, r, leads}
			}
		case Escalate:
			var rest []candidateKind
			out := ruled{Allow, CodeGranted, r, leads}
			for _, u := range candidates {
				switch {
				case !u.hits[i]:
					rest = append(rest, u)
				case r.Paths == nil && j.w.Approved != r.Name:
					out = ruled{Escalate, CodeRuleEscalate, r, u.leads}
				case r.Paths != nil && !u.granted:
					out = ruled{Escalate, CodeRuleEscalate, r, u.leads}
					asks[u.id] = true
				}
			}
			if len(rest) == 0 {
				return out
			}
			others := j.decide(rest, asks)
			if others.decision == Deny || others.decision == Escalate && out.decision == Allow {
				return others
			}
			return out
		default:
			return ruled{Deny, CodeRuleDeny, r, leads}
		}
	}
	return j.decideEach(candidates)
}

// decideEach decides candidates of which no rule denies or escalates any, and no rule allows all: each has to be inside the
// boundary, or what a rule allows. Every one of them would be allowed if it had been sent as the absolute path that it is.
func (j *judge) decideEach(candidates []candidateKind) ruled {
	out := ruled{decision: Allow}
	for _, u := range candidates {
		if u.alone == Allow {
			continue
		}
		i := slices.Index(u.hits, true)
		if i < 0 {
			return ruled{decision: Deny}
		}
		if out.by == nil {
			out = ruled{Allow, CodeRuleAllow, j.c.policy.rules[j.ruling.rules[i]].Rule, u.leads}
		}
	}
	return out
}

// pathFacts is what rules ask of one path.
type pathFacts struct {
	readings *rootsmgr.Readings
	sets     *rootsmgr.AreaSets
	outside  [3]bool // as written, physical, cleaned; all false where there is no boundary to be outside of
}

// facts looks up in which directories of the policy a path lies. What it returns holds until the next call.
func (j *judge) facts(p *rootsmgr.Place) pathFacts {
	if j.sets == nil {
		j.sets = j.c.policy.areas.NewSets()
	}
	j.c.policy.areas.Compare(&p.Readings, j.sets)
	f := pathFacts{readings: &p.Readings, sets: j.sets}
	if j.ruling.outside && !(j.v.Open && j.boundless()) && !machine.IsDevice(p.Path) {
		lexical, physical, cleaned := j.guard.Inside(&p.Readings)
		f.outside = [3]bool{!lexical, !physical, !cleaned}
	}
	return f
}

// boundless reports that no boundary is known: a sandbox alone makes none.
func (j *judge) boundless() bool { return j.v.Snapshot == nil || j.v.Snapshot.Guard().Empty() }

// isAbout reports whether a rule is about a path. One that could not be resolved is in no directory: it is denied, or was
// let pass for want of a boundary, and confined has been asked about that.
func (j *judge) isAbout(r *compiled, f *pathFacts, known bool) bool {
	if r.Paths == nil || r.area < 0 && !r.Paths.Outside {
		return true
	}
	if !known {
		return false
	}
	has := func(set []uint64) bool { return r.area < 0 || set[r.area/64]&(1<<(r.area%64)) != 0 }
	if r.Then == Allow {
		return has(f.sets.Every) && (!r.Paths.Outside || f.outside == [3]bool{true, true, true})
	}
	in := [3]bool{has(f.sets.Lexical), has(f.sets.Physical), has(f.sets.Cleaned)}
	if r.late() {
		for i, also := range j.lateArea(r, f.readings) {
			in[i] = in[i] || also
		}
	}
	for i := range in {
		if in[i] && (!r.Paths.Outside || f.outside[i]) {
			return true
		}
	}
	return false
}

// lateArea compares with a rule's directory that was not there when the rule was read: it may be a link by now.
func (j *judge) lateArea(r *compiled, readings *rootsmgr.Readings) [3]bool {
	now, ok := j.late[r]
	if !ok {
		now = r.dir.Path
		if place, err := rootsmgr.Resolve(j.m.FS, r.dir.Given); err == nil {
			now = place.Path
		}
		if j.late == nil {
			j.late = make(map[*compiled]string)
		}
		j.late[r] = now
	}
	return [3]bool{j.m.Holds(now, readings.Lexical), j.m.Holds(now, readings.Physical), j.m.Holds(now, readings.Cleaned)}
}

// takesAlong reports that a call removes or moves a directory which holds that of a rule that denies or escalates: what
// the rule is about would be gone, or somewhere else, where no rule is about it.
func (j *judge) takesAlong(r *compiled, role access.Role, p *rootsmgr.Place) bool {
	return role == access.Delete && p.Dir && r.area >= 0 && r.Then != Allow && !r.Paths.Outside &&
		(j.m.Holds(p.Readings.Physical, r.dir.Path) || j.m.Holds(p.Readings.Cleaned, r.dir.Path))
}

// takesAny is takesAlong for the rules about a tool.
func (j *judge) takesAny(role access.Role, p *rootsmgr.Place) bool {
	return role == access.Delete && j.confined(role) && slices.ContainsFunc(j.ruling.rules, func(at int32) bool {
		r := &j.c.policy.rules[at]
		return r.roles.Has(role) && j.takesAlong(r, role, p)
	})
}

// matchesArea reports a path that a pattern of a shell string has matched and that lies in the directory of a rule which
// denies or escalates, or would take it along. It is compared as text: what goes through a link is looked at anyway.
func (j *judge) matchesArea(role access.Role, p string) bool {
	return j.confined(role) && slices.ContainsFunc(j.ruling.rules, func(at int32) bool {
		r := &j.c.policy.rules[at]
		if r.area < 0 || r.Then == Allow || !r.roles.Has(role) {
			return false
		}
		return j.m.Holds(r.dir.Path, p) || j.m.Holds(r.dir.Given, p) || role == access.Delete && j.m.Holds(p, r.dir.Path)
	})
}

// granted reports whether what a human has allowed covers where a path leads, exactly and for its role.
func (j *judge) granted(role access.Role, p *rootsmgr.Place) bool {
	return slices.ContainsFunc(j.w.Grants, func(g Grant) bool {
		return g.Roles.Has(role) && g.Path != "" && !(g.File && p.Dir) && j.covers(&g, p.Readings.Physical) && j.covers(&g, p.Readings.Cleaned)
	})
}

func (j *judge) covers(g *Grant, p string) bool {
	if g.File {
		return p == g.Path
	}
	_, ok := machine.Below(g.Path, p)
	return ok
}

// sandbox adds the sandbox to the boundary, as long as it is what it was when the policy was read.
func (j *judge) sandbox() {
	if j.c.policy == nil || j.c.policy.sandbox == nil {
		return
	}
	if s := j.c.policy.sandbox; j.m.OwnDir(s.path) == nil {
		j.guard = rootsmgr.Union(j.guard, s.guard)
	}
}

// capped reports a path outside the ceiling of the session, which neither a rule nor a grant nor the sandbox opens.
func (j *judge) capped(p *rootsmgr.Place) bool {
	if j.v.Ceiling == nil || j.c.policy == nil || machine.IsDevice(p.Path) {
		return false // the roots are below it already
	}
	lexical, physical, cleaned := j.v.Ceiling.Inside(&p.Readings)
	return !lexical || !physical || !cleaned
}

// confined reports that a rule that denies or escalates asks of such a path in which directory it lies.
func (j *judge) confined(role access.Role) bool {
	return j.ruling != nil && j.ruling.confines && slices.ContainsFunc(j.ruling.rules, func(at int32) bool {
		r := &j.c.policy.rules[at]
		return r.area >= 0 && r.Then != Allow && r.roles.Has(role)
	})
}

// touches reports that a place lies in the directory of a rule that denies or escalates: then a name counts that would
// not count inside the boundary, where everything else is allowed.
func (j *judge) touches(role access.Role, p *rootsmgr.Place) bool {
	if !j.confined(role) || p.Path == "" {
		return false
	}
	facts := j.facts(p)
	return slices.ContainsFunc(j.ruling.rules, func(at int32) bool {
		r := &j.c.policy.rules[at]
		return r.area >= 0 && r.Then != Allow && r.roles.Has(role) && j.isAbout(r, &facts, true)
	})
}

// touchesName is touches for a name without a slash in a directory.
func (j *judge) touchesName(f *Finding, s spelled) bool {
	if !f.Operand || !j.confined(f.Role) {
		return false
	}
	place, err := rootsmgr.Resolve(j.m.FS, s.path)
	return err == nil && j.touches(f.Role, &place)
}

// beside reports a directory that is served beside the roots: outside the boundary, not where the child works, and not
// named by the call. A
// relative path is read from there only where something is there to be opened, or the directory to make it in is: a
// child that tries its directories one after the other finds nothing else, and otherwise every relative path would be
// asked about.
func (j *judge) beside(base string) bool {
	if base == "" || base == j.w.Cwd || j.named[base] {
		return false
	}
	served := j.c.policy != nil && j.c.policy.dirs[base] || slices.ContainsFunc(j.w.Grants, func(g Grant) bool { return !g.File && g.Path == base })
	if !served {
		return false
	}
	_, inside, _ := j.guard.Inside(&rootsmgr.Readings{Lexical: base, Physical: base, Cleaned: base})
	return !inside
}

// passesBy reports a directory that the server does not come to, for it is known to take a relative path from the first one
// that it is served. One that climbs out of that is looked for in the others.
func (j *judge) passesBy(s spelled) bool {
	if !j.first || len(j.w.Served) == 0 || s.base == j.w.Served[0] {
		return false
	}
	_, stays := machine.Below(j.m.Platform.Clean(s.base), j.m.Platform.Clean(s.path))
	return stays
}

// idle reports a reading of a relative path from a directory beside the roots at which there is nothing, or which the
// server never comes to.
func (j *judge) idle(f *Finding, s spelled, p *rootsmgr.Place) bool {
	if s.glob != "" || s.led || !j.beside(s.base) || j.hasOwnBase(f) || !slices.ContainsFunc(j.bases(), func(b string) bool { return !j.beside(b) }) {
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
	parent := j.m.Parent(p.Path)
	if j.m.Holds(parent, s.base) {
		return true
	}
	info, err := j.m.FS.Lstat(parent)
	return err != nil || !info.IsDir() // where the path leads could be told, so this is no lack of rights
}
