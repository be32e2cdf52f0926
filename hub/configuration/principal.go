package configuration

import (
	"slices"

	"mcphub/hub/toolset"
	"mcphub/internal/principal"
	"mcphub/validate"
)

// This file is about what a Configuration amounts to for one session: by the rules of the policy for its principal, and by its toolsets.

// An Audience is for whom a Configuration counts.
type Audience struct {
	Principal principal.Principal
	Toolsets  toolset.Claim // what its toolsets are told by
}

// audienceKey tells apart what a Configuration amounts to.
type audienceKey struct {
	checker  *validate.Checker
	toolsets string // as toolset.View.Key tells
}

// For returns what c is for a session: the same, but for the rules of the policy that are for others, and for what no toolset of the session
// shows. That is not there: c has no such child. Sessions about which the same rules are and that have the same toolsets get the same
// Configuration. It is in force as long as c is, and shares what is read of offers. If nothing differs, it is c.
func (c *Configuration) For(who Audience) *Configuration {
	if c.views == nil {
		return c
	}
	checker, toolsetView := c.Checker.For(who.Principal), c.Toolsets.ViewOf(&who.Toolsets)
	if checker == c.Checker && toolsetView == nil {
		return c
	}
	return c.views.Get(audienceKey{checker, toolsetView.Key()}, func() *Configuration { return c.makeView(checker, toolsetView) })
}

// makeView makes the Configuration of For.
func (c *Configuration) makeView(checker *validate.Checker, toolsetView *toolset.View) *Configuration {
	out := &Configuration{
		Number: c.Number, Settings: c.Settings, CatalogBuilder: c.CatalogBuilder.For(toolsetView), CommonRoots: c.CommonRoots, ownRoots: c.ownRoots,
		children: c.children, cuts: c.cuts, followed: c.followed, replaced: c.replaced,
		base: c.base, given: c.given, restartedAt: c.restartedAt, variants: c.variants, common: c, toolsetView: toolsetView,
	}
	out.Checker = checker
	hidden := func(name string) bool { return !toolsetView.ShowsServer(name) }
	out.Broken = slices.DeleteFunc(slices.Clone(c.Broken), func(b Broken) bool { return checker.DeniesChild(b.Name) || hidden(b.Name) })
	if toolsetView != nil {
		out.Children = slices.DeleteFunc(slices.Clone(c.Children), func(child Child) bool { return hidden(child.Spec.Name) })
		out.Disabled = slices.DeleteFunc(slices.Clone(c.Disabled), hidden)
		out.children = make(map[string]*Child, len(out.Children))
		for i := range out.Children {
			out.children[out.Children[i].Spec.Name] = &out.Children[i]
		}
	}
	out.noteDenied()
	return out
}

// Common returns what is the same for all sessions: c itself, unless it is For someone.
func (c *Configuration) Common() *Configuration {
	if c.common != nil {
		return c.common
	}
	return c
}

// ofAll is c as it counts for what serves everybody: no rule for some people opens anything there.
func (c *Configuration) ofAll() *Configuration { return c.Common().For(Audience{}) }
