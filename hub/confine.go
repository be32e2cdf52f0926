package hub

import (
	"slices"

	"mcphub/children/sandbox"
	"mcphub/rootsmgr"
	"mcphub/validate"
)

// This file says what the kernel is to hold a child to: the boundary by which its calls
// are judged, as far as the kernel can tell.

// boundaryOf is the boundary of a child that is served roots from a view. roots are
// what it is served, directories of the policy and of grants among them.
func (s *Session) boundaryOf(g *generation, c *Child, view rootsmgr.View, roots []rootsmgr.Root) sandbox.Boundary {
	var grants []validate.Grant
	own := view.Snapshot.Roots()
	switch {
	case c.Spec.Sandbox.Mode == sandbox.Off:
		return sandbox.Boundary{}
	case s.stateless && view.Ceiling == nil:
		return sandbox.Boundary{Open: "each request of this client brings roots of its own, and its token has no ceiling (http.tokens)"}
	case s.stateless:
		own, roots = view.Ceiling.Roots(), nil // every call stays within, and none makes them wider
	case view.Open:
		return sandbox.Boundary{Open: view.Meaning()}
	default:
		grants = s.approvals.Served(&c.Spec)
	}
	return g.bounded(c, own, roots, grants)
}

// bounded is the boundary that own roots and what is served beside them make.
func (g *generation) bounded(c *Child, own, served []rootsmgr.Root, grants []validate.Grant) sandbox.Boundary {
	checker, child := g.cfg.Checker, c.Spec.Name
	if rule := checker.Unlimited(child); rule != "" {
		return sandbox.Boundary{Open: "the rule " + rule + " of the policy allows paths anywhere"}
	}
	b := sandbox.Boundary{Withheld: checker.Withheld(child)}
	for _, r := range own {
		b.Areas = append(b.Areas, sandbox.Rule{Path: r.Path, Access: sandbox.Read | sandbox.Write | sandbox.Execute})
	}
	beside := checker.Directories(child, grants)
	for _, r := range served {
		if slices.ContainsFunc(own, func(o rootsmgr.Root) bool { return o.Path == r.Path }) {
			continue
		}
		for _, d := range beside {
			if sandbox.Holds(d.Path, r.Path) { // of one that reaches beyond a ceiling, a part
				b.Areas = append(b.Areas, sandbox.Rule{Path: r.Path, Access: accessOf(d.Roles)})
			}
		}
	}
	for _, grant := range grants {
		if grant.File {
			b.Areas = append(b.Areas, sandbox.Rule{Path: grant.Path, Access: accessOf(grant.Roles)})
		}
	}
	b.Areas = sandbox.Sorted(b.Areas)
	return b
}

// boundaryOfAll is the boundary of a child that serves everybody.
func (g *generation) boundaryOfAll(c *Child) sandbox.Boundary {
	if c.Spec.Sandbox.Mode == sandbox.Off {
		return sandbox.Boundary{}
	}
	own := g.fallbackRoots().Roots()
	if len(own) == 0 {
		return sandbox.Boundary{Open: "it is shared by all clients, and no roots are configured for it (roots.fallback)"}
	}
	return g.bounded(c, own, g.common()[c.Spec.Name], nil)
}

// accessOf is what roles come to in the kernel.
func accessOf(roles validate.RoleSet) (a sandbox.Access) {
	if roles.Has(validate.RoleRead) {
		a |= sandbox.Read | sandbox.Execute
	}
	if roles.Has(validate.RoleWrite) || roles.Has(validate.RoleDelete) {
		a |= sandbox.Write
	}
	return a
}
