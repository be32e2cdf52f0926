package policy

import (
	"slices"

	"mcphub/rootsmgr/guard"
	"mcphub/validate/access"
	"mcphub/validate/machine"
)

// An Evaluation asks the rules about one call. The boundary has judged every reading of a finding by then: what is
// protected, outside a token's ceiling or cannot be resolved is denied whatever a rule says. It belongs to one goroutine.
type Evaluation struct {
	*machine.Machine              // as the call sees it
	Ruling           *Ruling      // nil: no rule is about the tool, and nothing but HasAreaRule, Touches and their kin may be asked
	Guard            *guard.Guard // the boundary
	Unbounded        bool         // no boundary is known and none is asked for: nothing is outside
	Grants           []Grant
	Approved         string // the rule under which a human has allowed this very call

	sets  guard.AreaSets
	ask   []int                    // room for what rulesToAsk returns
	hits  []int                    // room for the ones of one candidate
	late  map[*compiledRule]string // memo of lateArea
	loose []int                    // see looseRules; nil before that
}

// A Candidate is one absolute path that a finding may stand for, with the three readings of that path: as written, as the
// kernel follows it, and cleaned before it is followed.
type Candidate struct {
	Place            guard.Place
	Known            bool     // the path could be resolved
	Hard             bool     // denied before any rule
	BoundaryDecision Decision // by the boundary
}

// Candidates are the candidates of one finding, as the rules see them.
type Candidates struct {
	Hard  bool // a candidate is denied before any rule
	many  bool // more kinds than are kept, which denies
	kinds []candidateKind
}

// candidateKind is all that the rules can tell candidates apart by.
type candidateKind struct {
	id      int   // its index
	hits    []int // the rules of the ruling that match, in order
	alone   Decision
	granted bool
	asks    bool   // a rule escalates it, and no grant covers it
	leads   string // the target of the first one
}

const maxKinds = 256

// Add adds a candidate to the candidates of its finding and returns the index of its kind, -1 for none. leads is the target of the candidate.
func (e *Evaluation) Add(t *Candidates, u *Candidate, role access.Role, leads string) int {
	if t.Hard = t.Hard || u.Hard; t.Hard {
		return -1
	}
	var facts pathFacts
	if u.Known {
		facts = e.factsOf(&u.Place)
	}
	e.hits = e.hits[:0]
	for _, i := range e.rulesToAsk(&u.Place, &facts, u.Known, role) {
		rule := e.Ruling.set.rules[i]
		if rule.roles.Has(role) && e.isAbout(i, &facts, u.Known) || u.Known && e.takesAlong(rule, role, &u.Place) {
			e.hits = append(e.hits, i)
		}
	}
	return t.keepKind(candidateKind{hits: e.hits, alone: u.BoundaryDecision, granted: e.isGranted(role, &u.Place), leads: leads})
}

// keepKind returns the index of a kind, which it adds if it is new; -1 if there are too many.
func (t *Candidates) keepKind(k candidateKind) int {
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

// Take keeps a kind of other candidates of the same finding, and returns its index here.
func (t *Candidates) Take(more *Candidates, kind int) int {
	if kind < 0 || kind >= len(more.kinds) {
		return kind
	}
	return t.keepKind(more.kinds[kind])
}

// Join takes in all other candidates of the same finding.
func (t *Candidates) Join(more *Candidates) {
	t.Hard, t.many = t.Hard || more.Hard, t.many || more.many
	for _, k := range more.kinds {
		t.keepKind(k)
	}
}

// Outcome is what the rules say about some candidates.
type Outcome struct {
	Decision Decision
	Rule     *Rule // nil: no rule; the boundary has the say
	Leads    string
	Granted  bool // Rule escalates, and grants cover all of it
	TooMany  bool // there are more kinds of candidates than are kept
}

// Asks reports a kind of candidates that a rule escalates and for which a grant is missing, once they are decided.
func (t *Candidates) Asks(kind int) bool {
	return kind >= 0 && kind < len(t.kinds) && t.kinds[kind].asks
}

// Decide decides the candidates of a finding, none of which is hard.
func (e *Evaluation) Decide(t *Candidates) Outcome {
	if t.many {
		return Outcome{Decision: Deny, TooMany: true}
	}
	return e.decideCandidates(t, t.kinds)
}

// decideCandidates takes the first rule that matches. One that denies or escalates matches where any candidate does, one that allows
// where all do. A rule that escalates asks about the candidates that it matches; the others are decided without it, and if they are
// denied, so is the whole: no one is asked in vain, and no grant lifts a denial. What was asked about is open where grants cover all
// of it; a rule about calls is open for the one call that was approved under it. asks is set for the kinds of candidates that a
// grant is missing for.
func (e *Evaluation) decideCandidates(of *Candidates, candidates []candidateKind) Outcome {
	for _, i := range matchingRules(candidates) {
		r := e.Ruling.set.rules[i].Rule
		leads := candidates[slices.IndexFunc(candidates, func(u candidateKind) bool { return u.isHit(i) })].leads
		switch r.Then {
		case Allow:
			if !slices.ContainsFunc(candidates, func(u candidateKind) bool { return !u.isHit(i) }) {
				return Outcome{Decision: Allow, Rule: r, Leads: leads}
			}
		case Escalate:
			var rest []candidateKind
			out := Outcome{Decision: Allow, Rule: r, Leads: leads, Granted: true}
			for _, u := range candidates {
				switch {
				case !u.isHit(i):
					rest = append(rest, u)
				case r.Paths == nil && e.Approved != r.Name, r.Paths != nil && !u.granted:
					out = Outcome{Decision: Escalate, Rule: r, Leads: u.leads}
					of.kinds[u.id].asks = r.Paths != nil
				}
			}
			if len(rest) == 0 {
				return out
			}
			others := e.decideCandidates(of, rest)
			if others.Decision == Deny || others.Decision == Escalate && out.Decision == Allow {
				return others
			}
			return out
		default:
			return Outcome{Decision: Deny, Rule: r, Leads: leads}
		}
	}
	return e.decideEach(candidates)
}

func (k *candidateKind) isHit(rule int) bool {
	_, ok := slices.BinarySearch(k.hits, rule)
	return ok
}

// matchingRules returns the rules that match any of the candidates, in order.
func matchingRules(candidates []candidateKind) []int {
	if len(candidates) == 1 {
		return candidates[0].hits
	}
	var list []int
	for i := range candidates {
		list = append(list, candidates[i].hits...)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// decideEach decides candidates of which no rule denies or escalates any, and no rule allows all: each has to be inside the
// boundary, or what a rule allows. Every one of them would be allowed if it had been sent as the absolute path that it is.
func (e *Evaluation) decideEach(candidates []candidateKind) Outcome {
	out := Outcome{Decision: Allow}
	for _, u := range candidates {
		if u.alone == Allow {
			continue
		}
		if len(u.hits) == 0 {
			return Outcome{Decision: Deny}
		}
		if out.Rule == nil {
			out = Outcome{Decision: Allow, Rule: e.Ruling.set.rules[u.hits[0]].Rule, Leads: u.leads}
		}
	}
	return out
}

// pathFacts is what rules ask of one path.
type pathFacts struct {
	readings *guard.Readings
	sets     *guard.AreaSets
	outside  [3]bool // as written, physical, cleaned; all false if there is no boundary to be outside of
}

// factsOf looks up in which directories of the policy a path lies. What it returns holds until the next call.
func (e *Evaluation) factsOf(p *guard.Place) pathFacts {
	e.Ruling.policy.areas.Compare(&p.Readings, &e.sets)
	f := pathFacts{readings: &p.Readings, sets: &e.sets}
	if e.Ruling.set.outside && !e.Unbounded && !machine.IsDevice(p.Path) {
		lexical, physical, cleaned := e.Guard.Inside(&p.Readings)
		f.outside = [3]bool{!lexical, !physical, !cleaned}
	}
	return f
}

// isAbout reports whether a rule is about a path. A path that could not be resolved lies in no directory. It was denied
// already, or it passed because there is no boundary; the caller has asked HasAreaRule before.
func (e *Evaluation) isAbout(i int, f *pathFacts, known bool) bool {
	r := e.Ruling.set.rules[i]
	if r.Paths == nil || r.area < 0 && !r.Paths.Outside {
		return true
	}
	if !known {
		return false
	}
	has := func(set guard.AreaSet) bool { return r.area < 0 || set.Has(r.area) }
	if r.Then == Allow {
		return r.dir.Closed == "" && has(f.sets.Every) && (!r.Paths.Outside || f.outside == [3]bool{true, true, true})
	}
	in := [3]bool{has(f.sets.Lexical), has(f.sets.Physical), has(f.sets.Cleaned)}
	if r.area >= 0 && (e.Machine.Windows || !r.dir.Exists && (hasBackslash(f.readings) || e.isLoose(i))) { // its volume may have other names; or it was not there when the rule was read
		for k, also := range e.lateArea(r, f.readings) {
			in[k] = in[k] || also
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
func (e *Evaluation) lateArea(r *compiledRule, readings *guard.Readings) [3]bool {
	now, ok := e.late[r]
	if !ok {
		now = r.dir.Path
		if place, err := guard.Resolve(e.FS, r.dir.Given); err == nil {
			now = place.Path
		}
		if e.late == nil {
			e.late = make(map[*compiledRule]string)
		}
		e.late[r] = now
	}
	return [3]bool{e.Holds(now, readings.Lexical), e.Holds(now, readings.Physical), e.Holds(now, readings.Cleaned)}
}

// takesAlong reports that a call removes or moves a directory which holds that of a rule that denies or escalates: what
// the rule is about would be gone, or in a place that no rule is about.
func (e *Evaluation) takesAlong(r *compiledRule, role access.Role, p *guard.Place) bool {
	return role == access.Delete && p.Dir && r.confinesPaths() && !r.Paths.Outside &&
		(e.Holds(p.Readings.Physical, r.dir.Path) || e.Holds(p.Readings.Cleaned, r.dir.Path))
}

// TakesAny is takesAlong for the rules about a tool.
func (e *Evaluation) TakesAny(role access.Role, p *guard.Place) bool {
	if role != access.Delete || !p.Dir || !e.HasAreaRule(role) {
		return false
	}
	return e.someBelow(role, p.Readings.Physical, func(r *compiledRule) bool { return e.takesAlong(r, role, p) }) ||
		e.someBelow(role, p.Readings.Cleaned, func(r *compiledRule) bool { return e.takesAlong(r, role, p) })
}

// someBelow asks the rules that deny or escalate, for a role, something in a directory which a path holds.
func (e *Evaluation) someBelow(role access.Role, path string, is func(r *compiledRule) bool) bool {
	s := e.Ruling.set
	if s.everyRule {
		e.ask = s.allRules(e.ask[:0])
	} else {
		e.ask = s.appendBelow(e.ask[:0], e.Fold(path))
	}
	return slices.ContainsFunc(e.ask, func(i int) bool { return s.rules[i].confinesPaths() && s.rules[i].roles.Has(role) && is(s.rules[i]) })
}

// MatchesArea reports a path that a pattern of a shell string has matched and that lies in the directory of a rule which
// denies or escalates, or would take it along. It is compared as text: what goes through a link is looked at anyway.
func (e *Evaluation) MatchesArea(role access.Role, p string) bool {
	return e.HasAreaRule(role) && (e.holdsPath(Roles(role), p) ||
		role == access.Delete && e.someBelow(role, p, func(r *compiledRule) bool { return e.Holds(p, r.dir.Path) }))
}

// Confines reports a path that lies in the directory of a rule that denies or escalates, whatever the role. It is compared as text.
func (e *Evaluation) Confines(p string) bool {
	return e.Ruling != nil && e.Ruling.set.roles != 0 && e.holdsPath(AnyRole, p)
}

// isGranted reports whether what a human has allowed covers the target of a path, exactly and for its role.
func (e *Evaluation) isGranted(role access.Role, p *guard.Place) bool {
	return slices.ContainsFunc(e.Grants, func(g Grant) bool {
		return g.Roles.Has(role) && g.Path != "" && !(g.File && p.Dir) && coversPath(&g, p.Readings.Physical) && coversPath(&g, p.Readings.Cleaned)
	})
}

func coversPath(g *Grant, p string) bool {
	if g.File {
		return p == g.Path
	}
	_, ok := machine.Below(g.Path, p)
	return ok
}

// HasAreaRule reports that a rule that denies or escalates asks of such a path in which directory it lies.
func (e *Evaluation) HasAreaRule(role access.Role) bool {
	return e.Ruling != nil && e.Ruling.set.roles.Has(role)
}

// Touches reports that a place lies in the directory of a rule that denies or escalates: then a name counts that would
// not count inside the boundary, where everything else is allowed.
func (e *Evaluation) Touches(role access.Role, p *guard.Place) bool {
	if !e.HasAreaRule(role) || p.Path == "" {
		return false
	}
	facts := e.factsOf(p)
	return slices.ContainsFunc(e.rulesToAsk(p, &facts, true, role), func(i int) bool {
		r := e.Ruling.set.rules[i]
		return r.confinesPaths() && r.roles.Has(role) && e.isAbout(i, &facts, true)
	})
}

// KeepsGrant reports whether a grant that was given under another policy may stay: the first rule about the place does not
// deny. Rules about what lies outside are taken to be about it: it did when the grant was given.
func (e *Evaluation) KeepsGrant(role access.Role, place *guard.Place) bool {
	facts := e.factsOf(place)
	facts.outside = [3]bool{true, true, true}
	for _, i := range e.rulesToAsk(place, &facts, true, role) {
		if r := e.Ruling.set.rules[i]; r.roles.Has(role) && e.isAbout(i, &facts, true) {
			return r.Then != Deny
		}
	}
	return false
}
