package trail

import (
	"slices"

	"mcphub/hub/audit"
)

// A Decision is one decision with its outcome, or a line that belongs to none: a
// question, or a tool that was defined again. Its ClientInfo is that of its session.
type Decision struct {
	Event
	Outcome *audit.Outcome // nil where none is recorded: refused, under way, or lost with the process
}

// Decisions returns the decisions of a folder, by time. Each does not keep them.
func Decisions(dir string, f Filter) ([]Decision, error) {
	var all []Decision
	err := Each(dir, f, func(d *Decision) bool {
		all = append(all, *d)
		return true
	})
	slices.SortStableFunc(all, func(a, b Decision) int { return a.Time.Compare(b.Time) }) // the clock may have been set back
	return all, err
}
