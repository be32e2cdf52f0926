package rootsmgr

import (
	"cmp"

	"mcphub/rootsmgr/guard"
)

// This file holds roots to a ceiling: directories that a session never leaves,
// whoever vouches for its roots. What is open is the intersection of both,
// so that everything made of a Snapshot, the Guard, the roots that children are
// served, what get-roots shows, is the same.

const reasonAbove = "it lies outside the directories of the client's token (http.tokens in hub.json)"

// ceiling is the ceiling as the filesystem is now, nil for none.
func (s Settings) ceiling(fsys FS, generation uint64) *Snapshot {
	if s.Ceiling == nil {
		return nil
	}
	return blueprint{entries: s.Ceiling, places: s.places()}.snapshot(fsys, generation, OriginCeiling)
}

// contains reports whether what was found is one of the roots or below one.
func (s *Snapshot) contains(f guard.Found) bool {
	in, ok := s.Guard().Above(f.Path, true)
	return ok && (f.File || !in.File)
}

// narrow opens what of the ceiling lies below a directory that is not within
// it, and reports either way that the directory itself is not open.
func (b *builder) narrow(c candidate) {
	p, above := b.disk.Platform, guard.NewIndex()
	above.Add(p, c.Path, 0, true)
	some := false
	for _, r := range b.top.roots {
		if c.File {
			break // nothing is below a file
		}
		_, below := above.Find(p, r.Path, true)
		if !below {
			_, below = above.FindFolded(&b.disk, r.Path, true)
		}
		if below {
			some = true
			b.open(guard.Found{Given: r.Given, Path: r.Path, File: r.File}, cmp.Or(c.entry.Name, r.Name))
		}
	}
	reason := reasonAbove
	if some {
		reason = "it reaches beyond the directories of the client's token (http.tokens in hub.json) and was narrowed to them"
	}
	b.skip(Skipped{Raw: c.entry.URI, Name: c.entry.Name, Reason: reason, Path: c.Given})
}

// under puts a View under a ceiling: where paths would pass for want of a
// boundary, and where the client cannot give roots and nothing was configured
// in their place, the ceiling is the boundary. Roots of the View are within it
// already.
func (v View) under(top *Snapshot) View {
	if top == nil {
		return v
	}
	v.Ceiling = top.Guard()
	if !v.Open && v.Case != CaseUnsupported {
		return v
	}
	v.Open = false
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
