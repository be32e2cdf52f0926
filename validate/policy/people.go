package policy

import (
	"encoding/binary"
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

func isPattern(name string) bool { return strings.ContainsAny(name, `*?[]{}\`) }

// isNamed reports whether a name is one of a list, or matches one that is a pattern.
func isNamed(list []string, name string) bool {
	return slices.ContainsFunc(list, func(g string) bool {
		if !isPattern(g) {
			return g == name
		}
		return matchesName([]string{g}, name)
	})
}

// For returns the policy as it is for a principal: without the rules that are for others. Principals about whom the same
// rules are get the same value. If no rule is for some people only, that is c itself.
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
	for i, r := range c.rules {
		if r.Named() {
			switch is := len(chosen) >= 4 && binary.BigEndian.Uint32([]byte(chosen)) == uint32(i); {
			case is:
				chosen = chosen[4:]
			case chosen != unknown || r.Then == Allow:
				continue
			default:
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
func (ruling *Ruling) LetsPass() bool {
	return ruling == nil || !ruling.set.people && (ruling.set.call == nil || ruling.set.call.Then == Allow)
}

// unknown is the selection of no one: each rule for some people counts as one that denies, unless it allows.
const unknown = "?"

// namedRules has the numbers of the rules for some people, so that the rules for others are not looked at for a principal.
type namedRules struct {
	byName map[string][]int // of rules whose principals are all written in full
	others []int
}

// add adds a rule. Numbers come in order.
func (n *namedRules) add(number int, p *People) {
	if len(p.Principals) == 0 || slices.ContainsFunc(p.Principals, isPattern) {
		n.others = append(n.others, number)
		return
	}
	for _, name := range p.Principals {
		if of := n.byName[name]; len(of) == 0 || of[len(of)-1] != number { // a name may be written twice
			n.byName[name] = append(of, number)
		}
	}
}

// selectionFor returns the numbers of the rules for some people that are for a principal, in order, each in four bytes.
func (c *Compiled) selectionFor(who principal.Principal) string {
	if !who.Known() {
		return unknown
	}
	numbers := slices.Concat(c.named.byName[who.String()], c.named.others)
	slices.Sort(numbers)
	var b []byte
	for _, number := range numbers {
		if c.rules[number].includesPrincipal(who) {
			b = binary.BigEndian.AppendUint32(b, uint32(number))
		}
	}
	return string(b)
}

// ForPolicy returns the Ruling as it is under a policy that For has returned. The Ruling of a policy with rules for some people
// counts for no one before that.
func (ruling *Ruling) ForPolicy(p *Compiled) *Ruling {
	if ruling == nil || !ruling.set.people || ruling.policy == p && p.views == nil {
		return ruling
	}
	p = p.For(principal.Principal{})
	return ruling.views.Get(p, func() *Ruling { return p.Ruling(ruling.child, ruling.tool) })
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
