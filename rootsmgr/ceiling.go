package rootsmgr

// This file holds roots to a ceiling: directories that a session never leaves,
// whoever vouches for its roots (H5). What is open is the intersection of both,
// so that everything made of a Snapshot, the Guard, the roots that children are
// served, what get-roots shows, is the same.

const reasonAbove = "it lies outside the directories of the client's token (http.tokens in hub.json)"

// ceiling is the ceiling as the filesystem is now, nil for none.
func (s Settings) ceiling(fsys FS, generation uint64) *Snapshot {
	if s.Ceiling == nil {
		return nil
	}
	return NewSnapshot(fsys, generation, OriginCeiling, s.Ceiling)
}

// contains reports whether a canonical path is one of the roots or below one.
func (s *Snapshot) contains(path string) bool {
	_, _, ok := s.Guard().find(path, true)
	return ok
}

// narrow opens what of the ceiling lies below a directory that is not within
// it, and reports either way that the directory itself is not open.
func (b *builder) narrow(entry Entry, path string) {
	p, above := b.eyes.platform, newIndex()
	above.add(p, path, 0, true)
	found := false
	for _, r := range b.top.roots {
		_, below := above.find(p, r.Path, true)
		if !below {
			_, below = above.findFolded(&b.eyes, r.Path, true)
		}
		if below {
			found = true
			b.open(r.Given, r.Path, r.Name)
		}
	}
	reason := reasonAbove
	if found {
		reason = "it reaches beyond the directories of the client's token (http.tokens in hub.json) and was narrowed to them"
	}
	b.skip(Skipped{entry.URI, entry.Name, reason})
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
	whole.skipped = append(v.Snapshot.Skipped(), top.skipped...)
	v.Snapshot = &whole
	v.Case = CaseKnown
	if whole.Len() == 0 {
		v.Case, v.unusable = CaseFailed, whole.skippedCount()
	}
	return v
}
