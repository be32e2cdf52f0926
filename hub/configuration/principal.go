package configuration

import (
	"slices"

	"mcphub/internal/principal"
)

// This file is about what a Configuration amounts to for one principal, where rules of its policy are for some people only.

// For returns what c is for a principal: the same, but for the rules of the policy that are for others. Principals about whom the
// same rules are get the same Configuration. It is in force as long as c is, and shares what is read of offers. If no rule is for
// some people only, it is c.
func (c *Configuration) For(who principal.Principal) *Configuration {
	if c.views == nil {
		return c
	}
	checker := c.Checker.For(who)
	return c.views.Get(checker, func() *Configuration {
		out := &Configuration{
			Number: c.Number, Settings: c.Settings, Offers: c.Offers, CommonRoots: c.CommonRoots, ownRoots: c.ownRoots,
			children: c.children, cuts: c.cuts, followed: c.followed, replaced: c.replaced,
			base: c.base, given: c.given, anew: c.anew, variants: c.variants, common: c,
		}
		out.Checker = checker
		out.Broken = slices.DeleteFunc(slices.Clone(c.Broken), func(b Broken) bool { return checker.DeniesChild(b.Name) })
		out.noteDenied()
		return out
	})
}

// Common returns what is the same for all principals: c itself, unless it is For someone.
func (c *Configuration) Common() *Configuration {
	if c.common != nil {
		return c.common
	}
	return c
}

// ofAll is c as it counts for what serves everybody: no rule for some people opens anything there.
func (c *Configuration) ofAll() *Configuration { return c.Common().For(principal.Principal{}) }
