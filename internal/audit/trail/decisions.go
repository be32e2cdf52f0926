package trail

import (
	"slices"
	"time"

	"mcphub/internal/audit"
)

// A Decision is one decision with its outcome, or a line that belongs to none: a
// question, or a tool that was defined again.
type Decision struct {
	Event
	Outcome *audit.Outcome // nil where none is recorded: refused, under way, or lost with the process
}

// A Filter picks decisions. The zero value picks all.
type Filter struct {
	Session      string // its beginning
	Principal    string // whose session it is, as it is written
	Child, Tool  string
	Denied       bool // only what was not let through
	Since, Until time.Time
}

// Matches reports whether a decision is one of those.
func (f *Filter) Matches(e *Event) bool {
	switch {
	case e.Kind != audit.KindDecision && e.Kind != audit.KindQuestion && e.Kind != audit.KindDefinition && e.Kind != audit.KindRefusal,
		f.Session != "" && (len(e.Session) < len(f.Session) || e.Session[:len(f.Session)] != f.Session),
		f.Principal != "" && e.Principal != f.Principal,
		f.Child != "" && e.Child != f.Child,
		f.Tool != "" && e.Tool != f.Tool,
		f.Denied && (e.Decision == "allow" || e.Kind == audit.KindDefinition),
		!f.Since.IsZero() && e.Time.Before(f.Since),
		!f.Until.IsZero() && !e.Time.Before(f.Until):
		return false
	}
	return true
}

// Decisions returns what a folder tells about decisions, by time.
func Decisions(dir string, f Filter) ([]Decision, error) {
	var all []Decision
	log := ""
	at := map[audit.Place]int{} // of one log: index by place
	err := Read(dir, func(e Event) bool {
		if e.LogID != log {
			log = e.LogID
			clear(at)
		}
		for _, r := range e.AllOutcomes() {
			if i, ok := at[r.Place()]; ok {
				all[i].Outcome = &r
			}
		}
		for _, one := range e.Each() {
			if f.Matches(&one) {
				at[one.Place()] = len(all)
				all = append(all, Decision{Event: one})
			}
		}
		return true
	})
	slices.SortStableFunc(all, func(a, b Decision) int { return a.Time.Compare(b.Time) })
	return all, err
}
