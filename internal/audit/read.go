package audit

import (
	stdjson "encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// An Event is one line of a log with all its members; which of them it has
// depends on its kind.
type Event struct {
	Entry
	LogID string `json:"-"` // the log that it stands in

	Program string `json:"program"`
	PID     int    `json:"pid"`

	Session string             `json:"session"`
	Request stdjson.RawMessage `json:"request"`
	Method  string             `json:"method"`
	Decided
	Arguments stdjson.RawMessage `json:"arguments"`
	Within    []string           `json:"within"`
	NamedBy   string             `json:"namedBy"`
	Opens     string             `json:"opens"`
	Why       string             `json:"why"`
	Lines     uint64             `json:"lines"` // of KindLost

	Result
	Outcomes []Result  `json:"outcomes"`
	Calls    []oneCall `json:"calls"`
}

// Decided is what a line tells of a decision: of one call, or of all its calls, or in each of
// them.
type Decided struct {
	Child      string    `json:"child"`
	Tool       string    `json:"tool"`
	Decision   string    `json:"decision"`
	Rule       string    `json:"rule"`
	Kernel     string    `json:"kernel"`
	Code       string    `json:"code"`
	By         string    `json:"by"`
	Granted    []Granted `json:"granted"`
	Roots      string    `json:"roots"`
	Generation uint64    `json:"generation"`
	Stale      bool      `json:"stale"`
	Rewritten  int       `json:"rewritten"`
	Findings   []Found   `json:"findings"`
	More       uint64    `json:"more"`
}

// Found is a path that was found in the arguments of a call.
type Found struct {
	At     string `json:"at"`
	Role   string `json:"role"`
	Path   string `json:"path"`
	Inside bool   `json:"inside"`
	Ways   int    `json:"ways,omitempty"`
}

// oneCall is one of several calls that share a line.
type oneCall struct {
	Request   stdjson.RawMessage `json:"request"`
	Arguments stdjson.RawMessage `json:"arguments"`
	Decided
}

// Granted is a file or a directory that the answer to a question has opened.
type Granted struct {
	File      string `json:"file,omitempty"`
	Directory string `json:"directory,omitempty"`
	Roles     string `json:"roles"`
}

// A Result is what became of one request.
type Result struct {
	Of     uint64 `json:"of"`
	Call   int    `json:"call"` // which call of that line, from 1; 0 where it tells of one
	Result string `json:"result"`
	US     int64  `json:"us"` // microseconds; also of a decision that let nothing through
}

// Took is how long it was until the answer.
func (r *Result) Took() time.Duration { return time.Duration(r.US) * time.Microsecond }

// A Place says where a decision stands in its log.
type Place struct {
	Line uint64
	Call int // from 1, of a line that tells of several; else 0
}

// Place returns the place of the decision that r is the outcome of.
func (r *Result) Place() Place { return Place{r.Of, r.Call} }

// Place returns the place of a decision. e is one that Each returned.
func (e *Event) Place() Place { return Place{e.Number, e.Call} }

// Each returns one event for each call that a line tells of; a line that tells
// of one is that event.
func (e *Event) Each() []Event {
	if len(e.Calls) == 0 {
		return []Event{*e}
	}
	all := make([]Event, len(e.Calls))
	for i, c := range e.Calls {
		one := *e
		one.Calls, one.Call = nil, i+1
		one.Request, one.Arguments = c.Request, c.Arguments
		if e.Decision == "" { // otherwise the same was decided of all
			one.Decided = c.Decided
		}
		all[i] = one
	}
	return all
}

// Results returns the outcomes that a line tells of, be it one or many.
func (e *Event) Results() []Result {
	switch {
	case e.Kind != KindOutcome:
		return nil
	case len(e.Outcomes) > 0:
		return e.Outcomes
	}
	return []Result{e.Result}
}

// ParseEvent reads a line of a log, whose hash must be right.
func ParseEvent(log string, raw []byte) (Event, error) {
	entry, err := readLine(raw)
	if err != nil {
		return Event{}, err
	}
	var e Event
	// Names count as they are written: a reader that ignores case would read another
	// line.
	err = json.Unmarshal(raw, &e, jsontext.AllowInvalidUTF8(true))
	e.Entry, e.LogID = entry, log
	return e, err
}

// Read hands out every entry of a folder's logs, log by log, until each
// returns false. Lines that cannot be read are left out; Verify reports them.
func Read(dir string, each func(Event) bool) error {
	files, err := logFiles(dir)
	if err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(files)) {
		paths := make([]string, len(files[id]))
		for i, f := range files[id] {
			paths[i] = filepath.Join(dir, f)
		}
		more := true
		err := eachLine(paths, func(_ string, _ int, b []byte, _ bool) bool {
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
