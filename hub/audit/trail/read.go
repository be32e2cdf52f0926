package trail

import (
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mcphub/hub/audit"
)

// An Event is one line of a log with all its members; which of them it has
// depends on its kind.
type Event struct {
	audit.Entry
	LogID string `json:"-"` // the log that it stands in

	Program string `json:"program"`
	PID     int    `json:"pid"`
	audit.Record
	Lines uint64 `json:"lines"` // of KindLost

	DecisionLine uint64             `json:"of"` // this and the next two: of an outcome
	Call         int                `json:"call"`
	Result       string             `json:"result"`
	Outcomes     []audit.Outcome    `json:"outcomes"`
	Calls        []audit.CallRecord `json:"calls"`
}

// Refusal returns what the line says about a refusal; false if it says about none.
func (e *Event) Refusal() (audit.Refusal, bool) { return e.Record.Refusal(e.Kind, e.Time) }

// Position returns the position of a decision. e is one that Each returned.
func (e *Event) Position() audit.CallPosition {
	return audit.CallPosition{Line: e.Number, Call: e.Call}
}

// Each returns one event for each call that a line tells about; a line that
// tells about one is that event.
func (e *Event) Each() []Event {
	if len(e.Calls) == 0 {
		return []Event{*e}
	}
	all := make([]Event, len(e.Calls))
	for i, c := range e.Calls {
		one := *e
		one.Calls, one.Call = nil, i+1
		one.Request, one.Trace, one.Arguments = c.Request, c.Trace, c.Arguments
		if e.Decision == "" { // otherwise the same was decided of all
			one.DecisionFields = c.DecisionFields
		}
		all[i] = one
	}
	return all
}

// AllOutcomes returns the outcomes that a line tells about, be it one or many.
func (e *Event) AllOutcomes() []audit.Outcome {
	switch {
	case e.Kind != audit.KindOutcome:
		return nil
	case len(e.Outcomes) > 0:
		return e.Outcomes
	}
	return []audit.Outcome{{DecisionLine: e.DecisionLine, Call: e.Call, Result: e.Result, Micros: e.Micros}}
}

// ParseEvent reads a line of a log, whose hash must be right.
func ParseEvent(log string, raw []byte) (Event, error) {
	entry, err := audit.ReadLine(raw)
	if err != nil {
		return Event{}, err
	}
	var e Event
	// Names count as they are written: a reader that ignores case would read another
	// line.
	err = json.Unmarshal(raw, &e, jsontext.AllowInvalidUTF8(true))
	e.Entry, e.LogID = entry, log // the entry by the places of its members: a new one of every line belongs in Event
	return e, err
}

// RequestMethod returns the method of the request that was decided on: the line of a call of a tool names none. It is ""
// for a definition and the end of a session, which no client requested, and for a request that the HTTP front has refused.
func (e *Event) RequestMethod() string {
	if e.Method == "" && e.Kind != audit.KindDefinition && e.Kind != audit.KindRejection && e.Kind != audit.KindEnded {
		return "tools/call"
	}
	return e.Method
}

// Read hands out every entry of a folder's logs, log by log, until each
// returns false. Lines that cannot be read are left out; Verify reports them.
func Read(dir string, each func(Event) bool) error {
	return readThose(dir, func([]byte) bool { return true }, each)
}

// readThose works like Read for the lines that are wanted.
func readThose(dir string, wanted func(line []byte) bool, each func(Event) bool) error {
	files, err := audit.LogFiles(dir)
	if err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(files)) {
		more := true
		err := eachLine(files[id], func(_ string, _ int, b []byte, _ bool) bool {
			if !wanted(b) {
				return true
			}
			if e, err := ParseEvent(id, slices.Clone(b)); err == nil {
				more = each(e)
			}
			return more
		})
		if err != nil || !more {
			return err
		}
	}
	return nil
}
