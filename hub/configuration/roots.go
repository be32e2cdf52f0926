package configuration

import (
	"maps"
	"slices"

	"mcphub/children/spec"
	"mcphub/rootsmgr"
	"mcphub/rootsmgr/guard"
	"mcphub/validate/policy"
)

// UsableRoots returns the roots among some that a child can do with.
func (c *Child) UsableRoots(roots []guard.Root) []guard.Root {
	dirs := rootsmgr.Directories(roots)
	if len(dirs) < len(roots) && c.Spec.TakesDirectories() { // the disk is looked at only if a root is a file
		return dirs
	}
	return roots
}

// ExtraDirectories returns the directories that a child is served beside roots: the ones
// that the policy names, and what a human has granted.
func (c *Configuration) ExtraDirectories(child string, grants []policy.Grant) []rootsmgr.RootEntry {
	var out []rootsmgr.RootEntry
	for _, d := range c.Checker.Rules().Directories(child, grants) {
		out = append(out, rootsmgr.RootEntry{URI: d.Path, Name: d.Name})
	}
	return out
}

// RootsViewFor returns a view of a session as it counts for a child: one that has directories of its own is served and judged by these.
func (c *Configuration) RootsViewFor(child *Child, rootsView rootsmgr.RootsView) rootsmgr.RootsView {
	if len(child.Roots) == 0 {
		return rootsView
	}
	return rootsView.ForEntry(c.FS, c.ownRoots()[child.Spec.Name])
}

// OwnRoots returns the directories of each child that has some of its own.
func (c *Configuration) OwnRoots() []*rootsmgr.Snapshot {
	return slices.Collect(maps.Values(c.ownRoots()))
}

// readOwnRoots reads the directories of each child that has some, once for a Configuration.
func (c *Configuration) readOwnRoots() map[string]*rootsmgr.Snapshot {
	out := make(map[string]*rootsmgr.Snapshot)
	for i := range c.Children {
		if child := &c.Children[i]; len(child.Roots) > 0 {
			out[child.Spec.Name] = rootsmgr.Fallback{Origin: rootsmgr.OriginEntry, Entries: child.Roots}.Snapshot(c.FS, 0, c.Checker.Rules().WritableDirs())
		}
	}
	return out
}

// fallbackOfHub returns the roots of the hub itself, in which no session has a say.
func (c *Configuration) fallbackOfHub() rootsmgr.Fallback {
	if c.base != nil {
		return c.base.Fallback
	}
	return c.Fallback
}

// commonSnapshot returns the configured roots that count for a child: its own as they were read, the hub's as they are now.
func (c *Configuration) commonSnapshot(child *Child) *rootsmgr.Snapshot {
	if own := c.ownRoots()[child.Spec.Name]; own != nil {
		return own
	}
	return c.fallbackOfHub().Snapshot(c.FS, 0, c.Checker.Rules().WritableDirs())
}

// readCommonRoots reads what the children are served that serve everybody: the
// configured roots, which belong to no session, and the directories of the
// policy. They are read once for a Configuration: no session has a say in when
// a child that serves all of them is given others, in whichever surroundings they are.
func (c *Configuration) readCommonRoots() map[string][]guard.Root {
	var read map[string][]guard.Root
	if c.base != nil {
		read = c.base.CommonRoots()
	}
	all := c.ofAll()
	out := map[string][]guard.Root{}
	for i := range c.Children {
		child := &c.Children[i]
		roots, known := read[child.Spec.Name]
		switch server := &child.Spec; {
		case server.Share != spec.ShareAll:
		case known:
			out[server.Name] = child.UsableRoots(roots)
		default:
			out[server.Name] = child.UsableRoots(c.commonSnapshot(child).With(c.FS, nil, all.ExtraDirectories(server.Name, nil)))
		}
	}
	return out
}
