package rootsmgr

import "time"

// Word returns how the Manager stands now: "waiting" (the client has not said initialized), "inline" (it gives its roots with its calls, and has
// given none yet), "asking" (the first question is under way), "refreshing" (a later one is), "known", "stale", "fallback", "ceiling", "empty",
// "unsupported", "failed", "closed".
func (m *Manager) Word() string {
	s := m.pub.Load()
	v := s.viewAt(time.Now())
	switch {
	case s.closed:
		return "closed"
	case !s.greeted:
		return "waiting"
	case !s.settled:
		return "asking"
	case v.Assumed:
		return "inline"
	case s.asking:
		return "refreshing"
	}
	return v.Word()
}

// Word returns how a RootsView stands, as [Manager.Word] has it: "known", "stale",
// "fallback", "ceiling", "empty", "unsupported" or "failed".
func (v RootsView) Word() string {
	switch {
	case v.Stale:
		return "stale"
	case v.Case == CaseKnown && v.Snapshot.Origin() == OriginCeiling:
		return "ceiling"
	case v.Case == CaseKnown && !v.Snapshot.Origin().fromClient():
		return "fallback"
	}
	return v.Case.String()
}
