package configuration

import (
	"mcphub/children/spec"
	"mcphub/rootsmgr"
	"mcphub/rootsmgr/guard"
	"mcphub/validate/policy"
)

// UsableRoots returns those of some roots that a child can do with.
func (c *Child) UsableRoots(roots []guard.Root) []guard.Root {
	if c.Spec.TakesDirectories() {
		return rootsmgr.Directories(roots)
	}
	return roots
}

// ExtraDirectories are the directories that a child is served beside roots: those that the
// policy names, and what a human has granted.
func (c *Configuration) ExtraDirectories(child string, grants []policy.Grant) []rootsmgr.Entry {
	var out []rootsmgr.Entry
	for _, d := range c.Checker.Rules().Directories(child, grants) {
		out = append(out, rootsmgr.Entry{URI: d.Path, Name: d.Name})
	}
	return out
}

// ownRoots are those that no session has a say in: those of the hub itself.
func (c *Configuration) ownRoots() rootsmgr.Fallback {
	if c.base != nil {
		return c.base.Fallback
	}
	return c.Fallback
}

// commonSnapshot are the configured roots, as they are now.
func (c *Configuration) commonSnapshot() *rootsmgr.Snapshot {
	return c.ownRoots().Snapshot(c.FS, 0, c.Checker.Rules().WritableDirs())
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
	snap, all := c.commonSnapshot(), c.ofAll()
	out := map[string][]guard.Root{}
	for i := range c.Children {
		child := &c.Children[i]
		roots, known := read[child.Spec.Name]
		switch server := &child.Spec; {
		case server.Share != spec.ShareAll:
		case known:
			out[server.Name] = child.UsableRoots(roots)
		default:
			out[server.Name] = child.UsableRoots(snap.With(c.FS, nil, all.ExtraDirectories(server.Name, nil)))
		}
	}
	return out
}
