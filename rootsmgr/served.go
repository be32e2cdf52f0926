package rootsmgr

import (
	"slices"

	"mcphub/rootsmgr/guard"
)

// With returns the roots and, after them, the directories of entries in their
// order. It is for a child that is served more than the session's roots. A
// directory that is among them already comes once, under its first name. One that
// does not exist is left out. Of one that reaches beyond the ceiling, only the
// directories of the ceiling below it are served. A nil ceiling is none. Entries
// are paths. Only they are looked up.
func (s *Snapshot) With(fsys guard.FS, ceiling *guard.Guard, entries []RootEntry) []guard.Root {
	if len(entries) == 0 {
		return s.Roots()
	}
	var top *Snapshot
	if ceiling != nil {
		top = &Snapshot{guard: ceiling, roots: ceiling.Roots()}
	}
	b := newBuilder(fsys, &Snapshot{roots: s.Roots(), origin: OriginConfig}, blueprint{top: top})
	for i := range b.roots {
		b.index.Add(b.disk.Platform, b.roots[i].Path, int32(i), true)
		if b.roots[i].File {
			b.index.AddFile(int32(i))
		}
	}
	for _, e := range entries {
		b.lookAt(e)
	}
	// A path that is a link now was none when its directory was read: servers may
	// have planted it.
	b.candidates = slices.DeleteFunc(b.candidates, func(c candidate) bool { return c.File || len(c.Links) > 0 })
	out := slices.Clone(b.finishSnapshot().roots)
	for i := range s.Len() {
		out[i].Redundant, out[i].Flag, out[i].Name = s.roots[i].Redundant, s.roots[i].Flag, s.roots[i].Name
	}
	return out
}
