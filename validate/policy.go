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

// TooWide reports that a directory is too wide to be opened as a whole by a Grant: it is the root of a filesystem,
// the home folder or one above it, or it holds a protected path or one of others, which are absolute paths. The nil
// Checker, and a directory that is not absolute, are too wide.
func (c *Checker) TooWide(dir string, others []string) bool {
	if c == nil || !c.m.Platform.IsAbs(dir) {
		return true
	}
	dir = c.m.Platform.Clean(dir)
	if c.m.Platform.Parent(dir) == dir {
		return true
	}
	holds := func(p string) bool { return c.m.Holds(dir, p) }
	home, err := guard.Resolve(c.m.FS, c.m.Home)
	return holds(c.m.Home) || err == nil && holds(home.Path) || slices.ContainsFunc(others, holds) || c.isProtected(holds)
}

// Upholds reports whether a grant that was given under another policy still holds under this one. It holds if nothing protects
// what it opens, and the first rule about it does not deny. A grant that no rule is about does not hold: nobody would be asked for it.
// The grant was given to a tool of a child, or to another request, which is named by its method.
func (c *Checker) Upholds(child, tool string, g policy.Grant) bool {
	if c == nil || g.Roles == 0 {
		return false
	}
	place, err := guard.Resolve(c.m.FS, g.Path)
	if err != nil || place.Path != g.Path {
		return false
	}
	ruling := c.policy.Ruling(child, tool).ForPolicy(c.policy)
	if ruling == nil || !g.File && c.TooWide(g.Path, nil) {
		return false
	}
	j := &judge{c: c, Machine: &c.m, work: budget.New(0), rules: policy.Evaluation{Ruling: ruling, Machine: &c.m}}
	return !slices.ContainsFunc(g.Roles.List(), func(role access.Role) bool {
		return j.protectedReason(&detect.Finding{Role: role}, &place) != "" || !j.rules.KeepsGrant(role, &place)
	})
}

// Policy returns what policy is in force, and what is protected; ok is false if there is none.
func (c *Checker) Policy() (info policy.Info, ok bool) {
	if c == nil {
		return info, false
	}
	info, ok = c.policy.Info()
	info.Protected = slices.Concat(c.protected...)
	return info, ok
}

// Searches reports whether paths are looked for in what a child is sent.
func (c *Checker) Searches(child string) bool {
	if c == nil {
		return false
	}
	ch := c.children[child]
	return ch != nil && ch.mode != declare.ModeOff
}

// Rules returns the rules of the policy in force, nil for none.
func (c *Checker) Rules() *policy.Compiled {
	if c == nil {
		return nil
	}
	return c.policy
}

// ClosedPaths returns the paths that a single child may not open, whatever is around them: what is protected, in every
// spelling, and the directories that the policy denies it something in.
func (c *Checker) ClosedPaths(child string) (list []string) {
	if c == nil {
		return nil
	}
	list = slices.Concat(c.protected...)
	for _, dir := range c.policy.DeniedDirs(child) {
		if !slices.Contains(list, dir) {
			list = append(list, dir)
		}
	}
	return list
}

// Protects reports whether a path lies at or below one that is protected, which no rule and no root opens.
func (c *Checker) Protects(path string) bool {
	return c != nil && c.isProtected(func(p string) bool { return c.m.Holds(p, path) })
}

// isProtected reports whether something is protected, in any spelling, of which is says so.
func (c *Checker) isProtected(is func(p string) bool) bool {
	return slices.ContainsFunc(c.protected, func(p protectedPath) bool { return slices.ContainsFunc(p, is) })
}

// CheckOwnFolder returns why a folder is no real one of the hub's own user in which no one else may write.
func (c *Checker) CheckOwnFolder(dir string) error {
	if c == nil {
		return errors.New("it cannot be looked at")
	}
	return c.m.CheckOwnDir(dir)
}
