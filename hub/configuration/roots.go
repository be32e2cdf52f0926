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
func (child *Child) UsableRoots(roots []guard.Root) []guard.Root {
	dirs := rootsmgr.Directories(roots)
	if len(dirs) < len(roots) && child.Spec.TakesDirectories() { // the disk is looked at only if a root is a file
		return dirs
	}
	return roots
}

// ExtraDirectories returns the directories that a child is served beside roots: the ones
// that the policy names, and what a human has granted.
func (conf *Configuration) ExtraDirectories(child string, grants []policy.Grant) []rootsmgr.RootEntry {
	var out []rootsmgr.RootEntry
	for _, d := range conf.Checker.Rules().Directories(child, grants) {
		out = append(out, rootsmgr.RootEntry{URI: d.Path, Name: d.Name})
	}
	return out
}

// RootsViewFor returns a view of a session as it counts for a child: one that has directories of its own is served and judged by these.
func (conf *Configuration) RootsViewFor(child *Child, rootsView rootsmgr.RootsView) rootsmgr.RootsView {
	if len(child.Roots) == 0 {
		return rootsView
	}
	return rootsView.ForEntry(conf.FS, conf.ownRoots()[child.Spec.Name])
}

// OwnRoots returns the directories of each child that has some of its own.
func (conf *Configuration) OwnRoots() []*rootsmgr.Snapshot {
	return slices.Collect(maps.Values(conf.ownRoots()))
}

// readOwnRoots reads the directories of each child that has some, once for a Configuration.
func (conf *Configuration) readOwnRoots() map[string]*rootsmgr.Snapshot {
	out := make(map[string]*rootsmgr.Snapshot)
	for i := range conf.Children {
		if child := &conf.Children[i]; len(child.Roots) > 0 {
			out[child.Spec.Name] = rootsmgr.Fallback{Origin: rootsmgr.OriginEntry, Entries: child.Roots}.Snapshot(conf.FS, 0, conf.Checker.Rules().WritableDirs())
		}
	}
	return out
}

// fallbackOfHub returns the roots of the hub itself, in which no session has a say.
func (conf *Configuration) fallbackOfHub() rootsmgr.Fallback {
	if conf.base != nil {
		return conf.base.Fallback
	}
	return conf.Fallback
}

// commonSnapshot returns the configured roots that count for a child: its own as they were read, the hub's as they are now.
func (conf *Configuration) commonSnapshot(child *Child) *rootsmgr.Snapshot {
	if own := conf.ownRoots()[child.Spec.Name]; own != nil {
		return own
	}
	return conf.fallbackOfHub().Snapshot(conf.FS, 0, conf.Checker.Rules().WritableDirs())
}

// readCommonRoots reads what the children are served that serve everybody: the
// configured roots, which belong to no session, and the directories of the
// policy. They are read once for a Configuration: no session has a say in when
// a child that serves all of them is given others, in whichever surroundings they are.
func (conf *Configuration) readCommonRoots() map[string][]guard.Root {
	var read map[string][]guard.Root
	if conf.base != nil {
		read = conf.base.CommonRoots()
	}
	all := conf.ofAll()
	out := map[string][]guard.Root{}
	for i := range conf.Children {
		child := &conf.Children[i]
		roots, known := read[child.Spec.Name]
		switch server := &child.Spec; {
		case server.Share != spec.ShareAll:
		case known:
			out[server.Name] = child.UsableRoots(roots)
		default:
			out[server.Name] = child.UsableRoots(conf.commonSnapshot(child).With(conf.FS, nil, all.ExtraDirectories(server.Name, nil)))
		}
	}
	return out
}
