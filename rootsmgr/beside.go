package rootsmgr

import "slices"

// With returns the roots and, after them, the directories of entries, in their
// order: what a child is served that is to have more than the session's roots.
// A directory that is among them already comes once, under its first name; one
// that is not there is left out; of one that reaches beyond the ceiling what of
// the ceiling lies below it is served, and nothing of one outside. A nil
// ceiling is none. Entries are paths. Only they are looked up.
func (s *Snapshot) With(fsys FS, ceiling *Guard, entries []Entry) []Root {
	if len(entries) == 0 {
		return s.Roots()
	}
	if fsys == nil {
		fsys = noFS{}
	}
	b := builder{Snapshot: &Snapshot{roots: s.Roots(), origin: OriginConfig}, eyes: newEyes(fsys), index: newIndex()}
	if ceiling != nil {
		b.top = &Snapshot{guard: ceiling}
		for _, set := range ceiling.sets {
			b.top.roots = append(b.top.roots, set.roots...)
		}
	}
	if home := homeOf(fsys); home != "" {
		b.homeGiven, b.homePath, _ = b.eyes.canonical(home)
	}
	for i := range b.roots {
		b.index.add(b.eyes.platform, b.roots[i].Path, int32(i), true)
	}
	for _, e := range entries {
		had := len(b.roots)
		b.add(e)
		for i := had; i < len(b.roots); i++ {
			b.roots[i].Name = e.Name // also of what is left of it below a ceiling
		}
	}
	out := slices.Clone(b.finish().roots)
	for i := range s.Len() {
		out[i].Redundant, out[i].Flag, out[i].Name = s.roots[i].Redundant, s.roots[i].Flag, s.roots[i].Name
	}
	return out
}
