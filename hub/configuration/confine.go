package configuration

import (
	"slices"

	"mcphub/children/sandbox"
	"mcphub/rootsmgr/guard"
	"mcphub/validate/access"
	"mcphub/validate/policy"
)

// Boundary returns what the kernel is to hold a child to whose clients have these
// roots. served is what the child is served: roots, directories of the policy, and
// grants.
func (conf *Configuration) Boundary(child *Child, roots, served []guard.Root, grants []policy.Grant) sandbox.Boundary {
	name := child.Spec.Name
	if rule := conf.Checker.Rules().UnlimitedRule(name); rule != "" {
		return sandbox.Boundary{WhyOpen: "the rule " + rule + " of the policy allows paths anywhere"}
	}
	b := sandbox.Boundary{Withheld: conf.Checker.ClosedPaths(name)}
	isRoot := make(map[string]bool, len(roots))
	for _, r := range roots {
		isRoot[r.Path] = true
		b.Areas = append(b.Areas, sandbox.Rule{Path: r.Path, Access: sandbox.Read | sandbox.Write | sandbox.Execute})
		b.Roots = append(b.Roots, r.Path)
	}
	beside := conf.Checker.Rules().Directories(name, grants)
	for _, r := range served {
		if isRoot[r.Path] {
			continue
		}
		for _, d := range beside {
			if sandbox.Contains(d.Path, r.Path) { // of one that reaches beyond a ceiling, a part
				b.Areas = append(b.Areas, sandbox.Rule{Path: r.Path, Access: AccessOf(d.Roles)})
			}
		}
	}
	for _, grant := range grants {
		if grant.File {
			b.Areas = append(b.Areas, sandbox.Rule{Path: grant.Path, Access: AccessOf(grant.Roles)})
		}
	}
	// Around what is protected the kernel can except nothing; at or below it there is nothing to give.
	b.Areas = slices.DeleteFunc(b.Areas, func(r sandbox.Rule) bool { return conf.Checker.ProtectsPath(r.Path) })
	b.Areas = sandbox.Sorted(b.Areas)
	return b
}

// CommonBoundary returns the boundary of a child that serves everybody: the
// configured roots and the directories of the policy. If there are none it is empty,
// whatever roots.when says: that is about calls, which each session's own roots judge.
func (conf *Configuration) CommonBoundary(child *Child) sandbox.Boundary {
	if !child.Spec.Sandbox.Confines() {
		return sandbox.Boundary{}
	}
	var roots []guard.Root
	if len(child.Roots) > 0 || !conf.fallbackOfHub().IsEmpty() { // each session asks for each child: no snapshot is made of nothing
		roots = conf.commonSnapshot(child).Roots()
	}
	return conf.ofAll().Boundary(child, roots, conf.CommonRoots()[child.Spec.Name], nil)
}

// AccessOf returns the access in the kernel that roles give.
func AccessOf(roles policy.RoleSet) (a sandbox.Access) {
	if roles.Has(access.Read) {
		a |= sandbox.Read | sandbox.Execute
	}
	if roles.Has(access.Write) || roles.Has(access.Delete) {
		a |= sandbox.Write
	}
	return a
}
