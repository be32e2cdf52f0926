package policy

import (
	"slices"
	"strings"

	"mcphub/rootsmgr/guard"
	"mcphub/validate/access"
	"mcphub/validate/chars"
)

// A ruleSet is the rules of a policy that may be about the paths of some tools, in order. It is indexed, so that what is asked about a path
// costs its depth and not the number of rules. It is immutable, but for what late remembers.
//
// The index names the rules that have to be asked. The rules themselves decide: each is asked as if all were.
type ruleSet struct {
	rules   []*compiledRule
	call    *Rule   // decides a call without a path; nil: such a call is allowed
	outside bool    // some rule asks whether paths are outside the boundary
	people  bool    // some rule is for some people only
	roles   RoleSet // of the rules that deny or escalate in a directory

	everyRule bool               // all are asked about each path: on Windows a volume has several names
	anywhere  []int              // rules that name no directory
	inArea    map[int][]int      // rules by the number of their area
	confining map[string]RoleSet // roles of the rules that deny or escalate, by their directories in every spelling, folded
	above     []belowDir         // their directories, by path: for what holds them
	late      lateRules
}

// A belowDir is the directory of a rule that denies or escalates.
type belowDir struct {
	folded string
	rule   int
}

// A question is all that makes a rule match a path. Of two rules that ask the same question the second one never decides.
type question struct {
	area                 int
	roles                RoleSet
	call, outside, allow bool
	exists               bool
	given, closed        string
}

func (compiled *compiledRule) question() question {
	q := question{area: compiled.area, roles: compiled.roles, call: compiled.Paths == nil, allow: compiled.Then == Allow, given: compiled.dir.Given, closed: compiled.dir.Closed, exists: compiled.dir.Exists}
	q.outside = compiled.Paths != nil && compiled.Paths.Outside
	return q
}

// setOf returns the set of the rules that are chosen, one value for each choice.
func (c *Compiled) setOf(chosen []int) *ruleSet {
	key := make([]byte, (len(c.rules)+7)/8)
	for _, i := range chosen {
		key[i/8] |= 1 << (i % 8)
	}
	return c.sets.Get(string(key), func() *ruleSet { return c.makeSet(chosen) })
}

func (c *Compiled) makeSet(chosen []int) *ruleSet {
	s := &ruleSet{everyRule: c.m.Windows, confining: map[string]RoleSet{}, inArea: map[int][]int{}}
	asked := map[question]bool{}
	for n, of := range chosen {
		r := c.rules[of]
		s.rules = append(s.rules, r)
		s.people = s.people || c.views != nil && r.Named()
		if r.Paths == nil && s.call == nil {
			s.call = r.Rule
		}
		s.outside = s.outside || r.Paths != nil && r.Paths.Outside
		if q := r.question(); asked[q] {
			continue
		} else {
			asked[q] = true
		}
		if r.area < 0 {
			s.anywhere = append(s.anywhere, n)
			continue
		}
		s.inArea[r.area] = append(s.inArea[r.area], n)
		if !r.confinesPaths() {
			continue
		}
		s.roles |= r.roles
		for _, dir := range []string{r.dir.Path, r.dir.Given} {
			s.confining[c.m.Fold(dir)] |= r.roles
		}
		s.above = append(s.above, belowDir{c.m.Fold(r.dir.Path), n})
		if !r.dir.Exists {
			s.late.add(n, r.dir.Path)
		}
	}
	slices.SortFunc(s.above, func(a, b belowDir) int { return strings.Compare(a.folded, b.folded) })
	return s
}

// allRules returns the rules as rulesToAsk does, without the index.
func (rules *ruleSet) allRules(list []int) []int {
	for i := range rules.rules {
		list = append(list, i)
	}
	return list
}

// rulesToAsk returns the rules that may be about a path, in order. The others are not: they name another directory.
func (e *Evaluation) rulesToAsk(p *guard.Place, f *pathFacts, known bool, role access.Role) []int {
	s := e.Ruling.set
	if s.everyRule {
		e.ask = s.allRules(e.ask[:0])
		return e.ask
	}
	list := append(e.ask[:0], s.anywhere...)
	if known {
		for _, set := range []guard.AreaSet{f.sets.Lexical, f.sets.Physical, f.sets.Cleaned} {
			for _, area := range set {
				list = append(list, s.inArea[area]...)
			}
		}
		list = append(list, e.looseRules()...)
		if hasBackslash(f.readings) {
			list = s.late.appendAbove(list, f.readings)
		}
		if role == access.Delete && p.Dir {
			list = s.appendBelow(list, e.Fold(p.Readings.Physical))
			list = s.appendBelow(list, e.Fold(p.Readings.Cleaned))
		}
	}
	slices.Sort(list)
	e.ask = slices.Compact(list)
	return e.ask
}

// appendBelow adds the rules that deny or escalate something in a directory which a path holds.
func (rules *ruleSet) appendBelow(list []int, path string) []int {
	if path == "" {
		return list
	}
	at := func(begin string, is func(dir string) bool) {
		i, _ := slices.BinarySearchFunc(rules.above, begin, func(d belowDir, begin string) int { return strings.Compare(d.folded, begin) })
		for ; i < len(rules.above) && is(rules.above[i].folded); i++ {
			list = append(list, rules.above[i].rule)
		}
	}
	at(path, func(dir string) bool { return dir == path })
	for _, slash := range []string{"/", `\`} {
		below := path + slash
		if path == "/" {
			below = path
		}
		at(below, func(dir string) bool { return strings.HasPrefix(dir, below) })
	}
	return list
}

// holdsPath reports whether a path lies in the directory of a rule that denies or escalates paths of one of these roles. It is compared as
// text.
func (e *Evaluation) holdsPath(roles RoleSet, p string) bool {
	s := e.Ruling.set
	if p == "" {
		return false
	}
	if s.everyRule {
		return slices.ContainsFunc(s.rules, func(r *compiledRule) bool {
			return r.confinesPaths() && r.roles&roles != 0 && (e.Holds(r.dir.Path, p) || e.Holds(r.dir.Given, p))
		})
	}
	p = e.Fold(p)
	if s.confining[p]&roles != 0 || p[0] == '/' && s.confining["/"]&roles != 0 {
		return true
	}
	for i := range len(p) {
		if chars.IsSlash(p[i]) && s.confining[p[:i]]&roles != 0 {
			return true
		}
	}
	return false
}
