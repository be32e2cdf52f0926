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

// For returns the Configuration as a session sees it: without the rules of the policy that are for others, and without what no toolset of the
// session shows. Sessions with the same rules and the same toolsets get the same Configuration. It is in force as long as conf is, and shares
// what is read of offers. If nothing differs, it is conf.
func (conf *Configuration) For(who Audience) *Configuration {
	if conf.views == nil {
		return conf
	}
	checker, toolsetView := conf.Checker.ForPrincipal(who.Principal), conf.Toolsets.ViewOf(&who.Toolsets)
	if checker == conf.Checker && toolsetView == nil {
		return conf
	}
	return conf.views.Get(audienceKey{checker, toolsetView.Key()}, func() *Configuration { return conf.makeView(checker, toolsetView) })
}

// makeView makes the Configuration of For.
func (conf *Configuration) makeView(checker *validate.Checker, toolsetView *toolset.View) *Configuration {
	out := &Configuration{
		Number: conf.Number, Settings: conf.Settings, CatalogBuilder: conf.CatalogBuilder.For(toolsetView), CommonRoots: conf.CommonRoots, ownRoots: conf.ownRoots,
		children: conf.children, cuts: conf.cuts, followed: conf.followed, replaced: conf.replaced,
		base: conf.base, given: conf.given, restartedAt: conf.restartedAt, variants: conf.variants, common: conf, toolsetView: toolsetView,
	}
	out.Checker = checker
	hidden := func(name string) bool { return !toolsetView.ShowsServer(name) }
	out.Broken = slices.DeleteFunc(slices.Clone(conf.Broken), func(b Broken) bool { return checker.DeniesChild(b.Name) || hidden(b.Name) })
	if toolsetView != nil {
		out.Children = slices.DeleteFunc(slices.Clone(conf.Children), func(child Child) bool { return hidden(child.Spec.Name) })
		out.Disabled = slices.DeleteFunc(slices.Clone(conf.Disabled), hidden)
		out.children = make(map[string]*Child, len(out.Children))
		for i := range out.Children {
			out.children[out.Children[i].Spec.Name] = &out.Children[i]
		}
	}
	out.noteDenied()
	return out
}

// Common returns what is the same for all sessions: conf itself, unless it is For someone.
func (conf *Configuration) Common() *Configuration {
	if conf.common != nil {
		return conf.common
	}
	return conf
}

// ofAll returns the Configuration for what serves all sessions: no rule for some people opens anything there.
func (conf *Configuration) ofAll() *Configuration { return conf.Common().For(Audience{}) }
