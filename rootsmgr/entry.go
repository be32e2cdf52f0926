package rootsmgr

import "mcphub/rootsmgr/guard"

// ForEntry returns the RootsView of a server whose entry names directories of its own: they count instead of the roots of v. What the
// ceiling of the session does not open stays closed, and nothing is open if the session is denied every path. It does not look at the
// disk: own reports what is at the directories.
func (v RootsView) ForEntry(fsys guard.FS, own *Snapshot) RootsView {
	if v.Denied {
		return v
	}
	if v.Ceiling != nil {
		top := &Snapshot{guard: v.Ceiling, roots: v.Ceiling.Roots()} // all that is needed of the one that the ceiling was made of
		b := newBuilder(fsys, &Snapshot{origin: OriginEntry, at: own.At()}, blueprint{top: top})
		var list []candidate
		for _, r := range own.roots {
			list = append(list, candidate{RootCandidate: guard.RootCandidate{Given: r.Given, Path: r.Path, File: r.File}, entry: RootEntry{URI: r.Given, Name: r.Name}})
		}
		own = b.keepRoots(list)
	}
	out := RootsView{Snapshot: own, Case: CaseKnown, Ceiling: v.Ceiling, ClientName: v.ClientName, mark: v.mark}
	if own.Len() == 0 {
		out.Case, out.unusable = CaseFailed, own.skippedCount()
	}
	return out
}
