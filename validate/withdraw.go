package validate

import (
	"slices"

	"mcphub/rootsmgr"
	"mcphub/validate/access"
	"mcphub/validate/budget"
)

// Upholds reports whether a grant, given under another policy to a tool of a child (or to another request, by its method),
// would still be asked about, or needs no asking any more: nothing protects what it opens, and of the rules that are about
// it the first does not deny. Where no rule is about it there was nothing to ask, and the boundary has the say. Rules that
// ask for what lies outside are taken to be about it: it did when it was given.
func (c *Checker) Upholds(child, tool string, g Grant) bool {
	if c == nil || c.policy == nil || g.Roles == 0 {
		return false
	}
	place, err := rootsmgr.Resolve(c.m.FS, g.Path)
	if err != nil || place.Path != g.Path {
		return false
	}
	j := &judge{c: c, m: &c.m, work: budget.New(0), ruling: c.policy.ruling(child, tool)}
	if j.ruling == nil || !g.File && c.TooWide(g.Path, nil) {
		return false
	}
	j.watch()
	facts := j.facts(&place)
	facts.outside = [3]bool{true, true, true}
	return !slices.ContainsFunc(g.Roles.List(), func(role access.Role) bool {
		if j.protected(&Finding{Role: role}, &place) != "" {
			return true
		}
		first := slices.IndexFunc(j.ruling.rules, func(at int32) bool {
			r := &c.policy.rules[at]
			return r.roles.Has(role) && j.isAbout(r, &facts, true)
		})
		return first < 0 || c.policy.rules[j.ruling.rules[first]].Then == Deny
	})
}
