package rootsmgr

import (
	"cmp"

	"mcphub/rootsmgr/guard"
)

// This file holds roots to a ceiling: directories that a session never leaves,
// wherever its roots come from. A Snapshot has the intersection of both. So the
// Guard, the roots that children are served and what get-roots shows agree.

const reasonAbove = "it lies outside the directories of the client's token (http.tokens in hub.json)"

// ceilingSnapshot returns the ceiling as the filesystem is now, nil for none.
func (settings Settings) ceilingSnapshot(fsys guard.FS, generation uint64) *Snapshot {
	if settings.Ceiling == nil {
		return nil
	}
	return blueprint{entries: settings.Ceiling, places: settings.writableDirs()}.snapshot(fsys, generation, OriginCeiling)
}

// containsRoot reports whether what was found is one of the roots or below one.
func (s *Snapshot) containsRoot(f guard.RootCandidate) bool {
	in, ok := s.Guard().Above(f.Path, true)
	return ok && (f.File || !in.File)
}

// narrowToCeiling handles a root that is not within the ceiling. It opens those
// directories of the ceiling that lie below the root, and reports that the root
// itself is not open.
func (b *builder) narrowToCeiling(c candidate) {
	p, above := b.disk.Platform, guard.NewIndex()
	above.Add(p, c.Path, 0, true)
	some := false
	for _, r := range b.top.roots {
		if c.File {
			break // nothing is below a file
		}
		if _, below := above.Above(&b.disk, r.Path); below {
			some = true
			b.openRoot(guard.RootCandidate{Given: r.Given, Path: r.Path, File: r.File}, cmp.Or(c.entry.Name, r.Name))
		}
	}
	reason := reasonAbove
	if some {
		reason = "it reaches beyond the directories of the client's token (http.tokens in hub.json) and was narrowed to them"
	}
	b.skipEntry(Skipped{Raw: c.entry.URI, Name: c.entry.Name, Reason: reason, Path: c.Given})
}

// underCeiling applies a ceiling to a RootsView, whose roots are within it already. The
// ceiling becomes the boundary if there would be none: if roots.when lets paths
// pass, or if the client cannot give roots and none are configured.
func (v RootsView) underCeiling(top *Snapshot) RootsView {
	if top == nil {
		return v
	}
	v.Ceiling = top.Guard()
	if !v.Open && v.Case != CaseUnsupported {
		return v
	}
	v.Open, v.Denied = false, false
	whole := *top
	whole.behind = append([]*Snapshot{v.Snapshot}, top.behind...)
	whole.skipped = append(v.Snapshot.Skipped(), top.skipped...)
	v.Snapshot = &whole
	v.Case = CaseKnown
	if whole.Len() == 0 {
		v.Case, v.unusable = CaseFailed, whole.skippedCount()
	}
	return v
}
