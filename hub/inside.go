package hub

import (
	"errors"
	"path/filepath"

	"mcphub/rootsmgr"
	"mcphub/rootsmgr/guard"
	"mcphub/rootsmgr/platform"
)

// FindRootOf reports whether one of these paths, or the folder that it is a name in, lies inside what some session or some server has in scope, or what the
// policy opens: tools could have written it. root is the URI of the first such root, "" where none contains it or it cannot be told, which counts as
// inside. If no boundary is known at all there is nothing to be inside of.
func (h *Hub) FindRootOf(paths ...string) (root string, inside bool) {
	names := make([]string, 0, 2*len(paths))
	for _, path := range paths {
		names = append(names, path, filepath.Dir(path)) // a link may lie inside and lead outside
	}
	var snaps []*rootsmgr.Snapshot
	for _, s := range h.sessions.Sessions() {
		snaps = append(snaps, s.roots.RootsView().Snapshot)
	}
	snaps = append(snaps, h.currentConfiguration().OwnRoots()...)
	checker := h.currentConfiguration().Checker
	for _, path := range names {
		if dir := checker.Rules().OpenedDir(path); dir != "" {
			return platform.Host().FormatURI(dir), true
		}
	}
	for _, snap := range snaps {
		within := snap.Guard()
		if within.IsEmpty() {
			continue
		}
		for _, path := range names {
			place, err := within.Check(path)
			var escape *guard.EscapeError
			switch {
			case err == nil:
				return place.Root.URI, true
			case !errors.As(err, &escape):
				return "", true
			}
		}
	}
	return "", false
}
