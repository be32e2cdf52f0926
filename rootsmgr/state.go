package rootsmgr

import "time"

// State is what get-roots tells of a Manager, beside its View.
type State struct {
	Supported   bool   // the client declared roots
	ListChanged bool   // and says that it announces changes
	Word        string // see Manager.State
	Origin      Origin
	Generation  uint64
	Stale       bool
	StaleSince  time.Time // first failed refresh of the roots that are kept
	Err         error     // of the last question; nil after an answer
	Failures    int       // in a row
	Queries     uint64    // asked so far, each with all its pages
	AskedAt     time.Time // when the last question was sent
	At          time.Time // when the roots in force were made canonical
	RetryAt     time.Time // end of the back-off
}

// State describes the Manager now. Word is one of: "waiting" (the client has not
// said initialized), "inline" (it gives its roots with its calls, and has given none yet), "asking" (the first question is under way), "refreshing"
// (a later one is), "known", "stale", "fallback", "ceiling", "empty", "unsupported",
// "failed", "closed".
func (m *Manager) State() State {
	s := m.pub.Load()
	v := s.at(time.Now())
	return State{
		Supported:   s.greeting.supported,
		ListChanged: s.greeting.listChanged,
		Word:        s.word(v),
		Origin:      v.Snapshot.Origin(),
		Generation:  v.Snapshot.Generation(),
		Stale:       v.Stale,
		StaleSince:  s.keptSince,
		Err:         v.Err,
		Failures:    s.failures,
		Queries:     s.queries,
		AskedAt:     s.askedAt,
		At:          v.Snapshot.At(),
		RetryAt:     s.retryAt,
	}
}

func (s *state) word(v View) string {
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

// Word is how a View stands, as [State] has it: "known", "stale", "fallback",
// "ceiling", "empty", "unsupported" or "failed".
func (v View) Word() string {
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
