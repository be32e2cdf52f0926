package validate

import (
	"errors"
	"slices"

	"mcphub/rootsmgr/guard"
	"mcphub/validate/access"
	"mcphub/validate/budget"
	"mcphub/validate/declare"
	"mcphub/validate/detect"
	"mcphub/validate/policy"
)

// IsTooWide reports that a directory is too wide to be opened as a whole by a Grant: it is the root of a filesystem,
// the home folder or one above it, or it holds a protected path or one of others, which are absolute paths. The nil
// Checker, and a directory that is not absolute, are too wide.
func (checker *Checker) IsTooWide(dir string, others []string) bool {
	if checker == nil || !checker.m.Platform.IsAbs(dir) {
		return true
	}
	dir = checker.m.Platform.Clean(dir)
	if checker.m.Platform.Parent(dir) == dir {
		return true
	}
	holds := func(p string) bool { return checker.m.Holds(dir, p) }
	home, err := guard.Resolve(checker.m.FS, checker.m.Home)
	return holds(checker.m.Home) || err == nil && holds(home.Path) || slices.ContainsFunc(others, holds) || checker.isProtected(holds)
}

// UpholdsGrant reports whether a grant that was given under another policy still holds under this one. It holds if nothing protects
// what it opens, and the first rule about it does not deny. A grant that no rule is about does not hold: nobody would be asked for it.
// The grant was given to a tool of a child, or to another request, which is named by its method.
func (checker *Checker) UpholdsGrant(child, tool string, g policy.Grant) bool {
	if checker == nil || g.Roles == 0 {
		return false
	}
	place, err := guard.Resolve(checker.m.FS, g.Path)
	if err != nil || place.Path != g.Path {
		return false
	}
	ruling := checker.policy.Ruling(child, tool).ForPolicy(checker.policy)
	if ruling == nil || !g.File && checker.IsTooWide(g.Path, nil) {
		return false
	}
	j := &judge{checker: checker, Machine: &checker.m, work: budget.New(0), rules: policy.Evaluation{Ruling: ruling, Machine: &checker.m}}
	return !slices.ContainsFunc(g.Roles.List(), func(role access.Role) bool {
		return j.protectedReason(&detect.Finding{Role: role}, &place) != "" || !j.rules.KeepsGrant(role, &place)
	})
}

// Policy returns what policy is in force, and what is protected; ok is false if there is none.
func (checker *Checker) Policy() (info policy.Info, ok bool) {
	if checker == nil {
		return info, false
	}
	info, ok = checker.policy.Info()
	info.Protected = slices.Concat(checker.protected...)
	return info, ok
}

// SearchesChild reports whether paths are looked for in what a child is sent.
func (checker *Checker) SearchesChild(child string) bool {
	if checker == nil {
		return false
	}
	ch := checker.children[child]
	return ch != nil && ch.mode != declare.ModeOff
}

// Rules returns the rules of the policy in force, nil for none.
func (checker *Checker) Rules() *policy.Compiled {
	if checker == nil {
		return nil
	}
	return checker.policy
}

// ClosedPaths returns the paths that a single child may not open, whatever is around them: what is protected, in every
// spelling, and the directories that the policy denies it something in.
func (checker *Checker) ClosedPaths(child string) (list []string) {
	if checker == nil {
		return nil
	}
	list = slices.Concat(checker.protected...)
	for _, dir := range checker.policy.DeniedDirs(child) {
		if !slices.Contains(list, dir) {
			list = append(list, dir)
		}
	}
	return list
}

// ProtectsPath reports whether a path lies at or below one that is protected, which no rule and no root opens.
func (checker *Checker) ProtectsPath(path string) bool {
	return checker != nil && checker.isProtected(func(p string) bool { return checker.m.Holds(p, path) })
}

// isProtected reports whether something is protected, in any spelling, of which is says so.
func (checker *Checker) isProtected(is func(p string) bool) bool {
	return slices.ContainsFunc(checker.protected, func(p protectedPath) bool { return slices.ContainsFunc(p, is) })
}

// CheckOwnFolder returns why a folder is no real one of the hub's own user in which no one else may write.
func (checker *Checker) CheckOwnFolder(dir string) error {
	if checker == nil {
		return errors.New("it cannot be looked at")
	}
	return checker.m.CheckOwnDir(dir)
}
