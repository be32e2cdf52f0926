package rootsmgr

import "mcphub/rootsmgr/guard"

// ForEntry returns the View of a server whose entry names directories of its own: they count in the place of the roots of v. What the
// ceiling of the session does not open stays closed.
func (v View) ForEntry(fsys guard.FS, own *Snapshot) View {
	if v.Ceiling != nil {
		bp := blueprint{top: &Snapshot{guard: v.Ceiling, roots: v.Ceiling.Roots()}}
		for _, r := range own.Roots() {
			bp.entries = append(bp.entries, Entry{URI: r.Path, Name: r.Name})
		}
		own = bp.snapshot(fsys, own.Generation(), OriginEntry)
	}
	out := View{Snapshot: own, Case: CaseKnown, Ceiling: v.Ceiling, ClientName: v.ClientName, mark: v.mark}
	if own.Len() == 0 {
		out.Case, out.unusable = CaseFailed, own.skippedCount()
	}
	return out
}
