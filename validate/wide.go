package validate

import (
	"slices"

	"mcphub/rootsmgr"
)

// TooWide reports that a directory is too wide to be opened as a whole by a Grant (P3): it is the root of a filesystem,
// the home folder or one above it, or it holds a protected path or one of others, which are absolute paths. The nil
// Checker, and a directory that is not absolute, are too wide.
func (c *Checker) TooWide(dir string, others []string) bool {
	if c == nil || !c.m.Platform.IsAbs(dir) {
		return true
	}
	dir = c.m.Platform.Clean(dir)
	if c.m.Parent(dir) == dir {
		return true
	}
	holds := func(p string) bool { return c.m.Holds(dir, p) }
	if c.m.Home != "" {
		if holds(c.m.Home) {
			return true
		}
		if home, err := rootsmgr.Resolve(c.m.FS, c.m.Home); err == nil && holds(home.Path) {
			return true
		}
	}
	return slices.ContainsFunc(others, holds) ||
		slices.ContainsFunc(c.shielded, func(s shielded) bool { return slices.ContainsFunc(s.spellings, holds) })
}
