package policy

import (
	"slices"
	"strings"

	"mcphub/internal/principal"
)

// This file is about rules that are for some people.

// People are the principals that a rule is for. Each condition has to hold; the zero value has none.
type People struct {
	Principals []string // patterns of their names, as principal.Principal.String gives them; empty: any
	Groups     []string // patterns of groups, of which they have one; empty: any
}

// Named reports whether the rule is for some people only.
func (p *People) Named() bool { return len(p.Principals) > 0 || len(p.Groups) > 0 }

// Names reports whether the rule is for a principal that is called so, if it is in one of the groups.
func (p *People) Names(name string) bool { return matchesName(p.Principals, name) }

// includesPrincipal reports whether a known principal is among them.
func (p *People) includesPrincipal(who principal.Principal) bool {
	return (len(p.Principals) == 0 || isNamed(p.Principals, who.String())) &&
		(len(p.Groups) == 0 || slices.ContainsFunc(who.Groups, func(group string) bool { return isNamed(p.Groups, group) }))
}

// isNamed reports whether a name is one of a list, or matches one that is a pattern.
func isNamed(list []string, name string) bool {
	return slices.ContainsFunc(list, func(g string) bool {
		if !strings.ContainsAny(g, `*?[]{}\`) {
			return g == name
		}
		return matchesName([]string{g}, name)
	})
}

// For returns the policy as it is for a principal: without the rules that are for others. Principals about whom the same
// rules are get the same value. If no rule is for some people only, that is p itself.
//
// Of no one it cannot be told who it is: it may be anyone whom a rule is for. So no rule for some people allows anything to
// no one, and one that denies or escalates denies.
func (c *Compiled) For(who principal.Principal) *Compiled {
	if c == nil || c.views == nil {
		return c
	}
	chosen := c.selectionFor(who)
	return c.views.Get(chosen, func() *Compiled { return c.chooseRules(chosen) })
}

// chooseRules makes the policy for the principals that have this selection.
func (c *Compiled) chooseRules(chosen string) *Compiled {
	out := &Compiled{m: c.m, areas: c.areas, sandbox: c.sandbox}
	at := 0
	for _, r := range c.rules {
		if r.Named() {
			at++
			switch chosen[at-1] {
			case notChosen:
				continue
			case denied:
				rule := *r.Rule
				rule.Then = Deny
				closed := *r
				closed.Rule = &rule
				r = &closed
			}
		}
		out.rules = append(out.rules, r)
	}
	out.noteOpened()
	return out
}

// ForSome reports whether a rule is for some people only.
func (c *Compiled) ForSome() bool { return c != nil && c.views != nil }

// LetsPass reports whether a call without any path is allowed to everybody.
func (r *Ruling) LetsPass() bool {
	return r == nil || !r.set.people && (r.set.call == nil || r.set.call.Then == Allow)
}

// What becomes of a rule for some people.
const (
	notChosen = 'n'
	isChosen  = 'y'
	denied    = 'd' // it counts as one that denies
)

// selectionFor reports for each rule for some people, in order, what becomes of it for a principal.
func (c *Compiled) selectionFor(who principal.Principal) string {
	b := make([]byte, 0, len(c.rules))
	for _, r := range c.rules {
		switch {
		case !r.Named():
		case !who.Known() && r.Then != Allow:
			b = append(b, denied)
		case who.Known() && r.includesPrincipal(who):
			b = append(b, isChosen)
		default:
			b = append(b, notChosen)
		}
	}
	return string(b)
}

// ForPolicy returns the Ruling as it is under a policy that For has returned. The Ruling of a policy with rules for some people
// counts for no one before that.
func (r *Ruling) ForPolicy(p *Compiled) *Ruling {
	if r == nil || !r.set.people || r.policy == p && p.views == nil {
		return r
	}
	p = p.For(principal.Principal{})
	return r.views.Get(p, func() *Ruling { return p.Ruling(r.child, r.tool) })
}

// DeniesChild reports whether all that a child has is denied, be it known or not. What is about all of it is a rule without a
// condition on tools or paths. Of a policy with rules for some people it is told for no one before For.
func (c *Compiled) DeniesChild(child string) bool {
	return denyAll(c.For(principal.Principal{}).rulesAbout(child), func(r *compiledRule) bool {
		return r.Paths == nil && (len(r.Tools) == 0 || slices.Contains(r.Tools, "*"))
	})
}

// Refuses reports whether every call of a tool is denied, whatever its paths. What is about all of them is a rule without a
// condition on paths. A request that is no call of a tool has its method for a name.
func (c *Compiled) Refuses(child, tool string) bool {
	r := c.Ruling(child, tool).ForPolicy(c)
	return r != nil && denyAll(r.set.rules, func(r *compiledRule) bool { return r.Paths == nil })
}

// denyAll reports whether rules leave nothing open: one that is about all denies, and no rule before it does otherwise.
func denyAll(rules []*compiledRule, aboutAll func(*compiledRule) bool) bool {
	for _, r := range rules {
		if r.Then != Deny {
			return false
		}
		if aboutAll(r) {
			return true
		}
	}
	return false
}
