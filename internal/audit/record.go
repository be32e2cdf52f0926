package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"mcphub/internal/redact"
)

// Version is the format of a line.
const Version = 1

// Kinds of lines.
const (
	KindOpen       = "open"       // a log begins
	KindDecision   = "decision"   // a request was decided upon
	KindOutcome    = "outcome"    // what became of one that was let through, or of several
	KindQuestion   = "question"   // a human was asked, and what was answered
	KindDefinition = "definition" // a tool that was offered before is defined otherwise
	KindRefusal    = "refusal"    // the kernel has refused a child something, as far as the child tells
	KindLost       = "lost"       // there was no room for so many lines while the file could not be written
	KindCheckpoint = "checkpoint" // of chain.jsonl: the state of a log
	KindClose      = "close"      // a log ends
	KindTorn       = "torn"       // a line before this one was cut off
)

// Values of Outcome.Result.
const (
	ResultOK          = "ok"
	ResultAnswered    = "answered"   // too large to look whether it says that the tool failed
	ResultToolError   = "tool-error" // isError
	ResultError       = "error"      // a JSON-RPC error of the server
	ResultCancelled   = "cancelled"  // by the client, or it has gone
	ResultTimeout     = "timeout"    // nothing was heard of the server for too long
	ResultUnavailable = "unavailable"
	ResultNotSent     = "not-sent" // the record of the decision could not be written, or the server was gone before
)

// Bounds of one line.
const (
	mostFindings  = 64
	mostText      = 4096 // bytes of one path or name
	mostArguments = 64 << 10
	mostRequest   = 128              // bytes of a request's id
	mostDepth     = redact.MostDepth // of arguments that are recorded
	mostLevels    = mostDepth + 8    // of a line
)

// A Finding is one path of a call.
type Finding struct {
	Pointer string // JSON pointer within the arguments
	Role    string // read, write, delete
	Path    string // where it leads, canonical; "" where that could not be told
	Inside  bool   // of the boundary
	Ways    int    // how many places it may stand for, with links followed or not; 0 if Path is the only one
}

// A Grant is what the answer to a question has opened.
type Grant struct {
	Path  string
	File  bool // that file alone; otherwise the directory and what is below it
	Roles string
}

// A Boundary is the roots that a decision was made by.
type Boundary struct {
	Origin     string
	Generation uint64 // 0 where none were needed
	Stale      bool   // they could not be refreshed
}

// A Record is one decision. Its paths and arguments are redacted, and all texts
// clipped, when they are written; nothing of it is kept.
type Record struct {
	Session   string
	Request   []byte // the client's id, raw JSON; nil where the hub asks by itself
	Method    string // "" is tools/call
	Child     string // "" where the request names none that there is
	Tool      string // of the child, or the prompt
	Findings  []Finding
	Unnamed   int // findings beyond those
	Boundary  Boundary
	Rule      string // what decided
	Kernel    string // how far the kernel holds the child: held, partial, none; "" where it is not to be confined
	Decision  string // allow, deny, escalate; refuse: it could not be judged, or not be made
	Code      string // why, where it was not let through
	By        string // who approved it
	Granted   []Grant
	Rewritten int    // how many arguments were given another spelling
	Arguments []byte // raw, only where asked for
	Took      time.Duration

	Within  []string // the directories in scope, of what was not let through
	NamedBy string   // of a refusal: who names the path: entry, call or server
	Opens   string   // of a refusal: what has to be opened for it
	Why     string   // of a refusal: why nothing is
}

// A Form is the part of a line that tells what was decided, from Child to Findings. The
// lines of many records may have one in common.
type Form []byte

// NewForm makes the Form of r.
func NewForm(r *Record) Form { return Form(r.form(nil)) }

func (r *Record) form(b line) line {
	b = b.text("child", r.Child).text("tool", r.Tool).text("decision", r.Decision).text("rule", r.Rule).text("kernel", r.Kernel)
	b = r.granted(b.text("code", r.Code).text("by", r.By))
	b = b.text("roots", r.Boundary.Origin).number("generation", r.Boundary.Generation).flag("stale", r.Boundary.Stale)
	return r.findings(b.number("rewritten", uint64(max(r.Rewritten, 0))))
}

// A Call is what differs between several records that were decided at the same time.
// Those of a session share a line.
type Call struct {
	Session   string
	Request   []byte // as in a Record
	Form      Form
	Arguments []byte // as in a Record
}

// An Outcome is what became of a request that was let through.
type Outcome struct {
	Of       uint64 // number of the decision's line
	Call     int    // which of its calls, from 1; 0 where it has but one
	Result   string
	Duration time.Duration // from the decision to the answer
}

// line is a line that is being written. Its parts are appended in place, because this
// runs for every call.
type line []byte

// start writes what every line begins with: its number, the hash of the line
// before, its time.
func (b line) start(number uint64, prev *[64]byte, at []byte, kind string) line {
	b = append(b, `{"v":1,"n":`...)
	b = append(strconv.AppendUint(b, number, 10), `,"prev":"`...)
	b = append(append(b, prev[:]...), `","time":"`...)
	b = append(append(b, at...), `","kind":"`...)
	return append(append(b, kind...), '"')
}

// seal writes the hash of all before it from an offset on, and the line end.
func (b line) seal(from int, head *[64]byte) line {
	sum := sha256.Sum256(b[from:])
	hex.Encode(head[:], sum[:])
	b = append(b, `,"hash":"`...)
	return append(append(b, head[:]...), "\"}\n"...)
}

const timeFormat = "2006-01-02T15:04:05.000000Z"

// A stamp writes times. Within one second it formats only the digits behind the point.
type stamp struct {
	second int64
	text   [len(timeFormat) + 8]byte // AppendFormat writes more digits than it leaves
}

func (s *stamp) at(t time.Time) []byte {
	if second := t.Unix(); second != s.second || s.text[0] == 0 {
		t.UTC().AppendFormat(s.text[:0], timeFormat)
		s.second = second
	}
	us := t.Nanosecond() / 1000
	for i := len(timeFormat) - 2; i >= len(timeFormat)-7; i-- {
		s.text[i] = byte('0' + us%10)
		us /= 10
	}
	return s.text[:len(timeFormat)]
}

func (b line) text(name, value string) line {
	if value == "" {
		return b
	}
	b = append(append(append(b, `,"`...), name...), `":`...)
	if len(value) > mostText {
		value = clip(value, mostText)
	}
	if plain(value) {
		return append(append(append(b, '"'), value...), '"')
	}
	// The error is for invalid UTF-8, which is replaced all the same.
	quoted, _ := jsontext.AppendQuote(b, value)
	return line(quoted)
}

// clip cuts a text between two runes.
func clip(s string, most int) string {
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "…"
}

// plain reports whether a text needs no escapes in JSON.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c >= 0x7f || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// mostTexts is how many of a list a line has.
const mostTexts = 16

// texts writes a list of texts, as far as there is room.
func (b line) texts(name string, values []string) line {
	if len(values) == 0 {
		return b
	}
	b = append(append(append(b, `,"`...), name...), `":[`...)
	for i, value := range values[:min(len(values), mostTexts)] {
		if i > 0 {
			b = append(b, ',')
		}
		if value = redact.Text(value); len(value) > mostText {
			value = clip(value, mostText)
		}
		quoted, _ := jsontext.AppendQuote(b, value)
		b = quoted
	}
	return append(b, ']')
}

func (b line) number(name string, value uint64) line {
	if value == 0 {
		return b
	}
	b = append(append(append(b, `,"`...), name...), `":`...)
	return strconv.AppendUint(b, value, 10)
}

func (b line) flag(name string, value bool) line {
	if !value {
		return b
	}
	return append(append(append(b, `,"`...), name...), `":true`...)
}

// raw writes a JSON value that was checked before, on one line.
func (b line) raw(name string, value []byte) line {
	if len(value) == 0 {
		return b
	}
	b = append(append(append(b, `,"`...), name...), `":`...)
	from := len(b)
	b = append(b, value...)
	for i := from; i < len(b); i++ {
		if b[i] == '\n' || b[i] == '\r' {
			b[i] = ' ' // between tokens
		}
	}
	return b
}

// body writes the members of a Record; form is nil where it has none.
func (r *Record) body(b line, form Form) line {
	b = b.text("session", r.Session).request(r.Request).text("method", r.Method)
	if form != nil {
		b = append(b, form...)
	} else {
		b = r.form(b)
	}
	b = b.arguments(r.Arguments)
	b = b.texts("within", r.Within).text("namedBy", r.NamedBy).text("opens", redact.Text(r.Opens)).text("why", redact.Text(r.Why))
	if r.Took > 0 {
		b = b.number("us", uint64(max(r.Took.Microseconds(), 1)))
	}
	return b
}

func (b line) request(id []byte) line {
	if len(id) <= mostRequest {
		return b.raw("request", id)
	}
	return b.text("request", clip(string(id), mostRequest))
}

func (b line) arguments(raw []byte) line {
	switch {
	case len(raw) > mostArguments:
		return b.number("argumentsBytes", uint64(len(raw)))
	case len(raw) > 0:
		return b.raw("arguments", redact.JSON(raw))
	}
	return b
}

// together writes the members of a line about several calls of one session. If all
// have the same Form, it is written once, for the line.
func together(b line, calls []Call) line {
	b = b.text("session", calls[0].Session)
	alike := true
	for i := 1; i < len(calls) && alike; i++ {
		alike = bytes.Equal(calls[i].Form, calls[0].Form)
	}
	if alike {
		b = append(b, calls[0].Form...)
	}
	b = append(b, `,"calls":[`...)
	for i := range calls {
		c := &calls[i]
		if i > 0 {
			b = append(b, ',')
		}
		at := len(b)
		b = b.request(c.Request)
		if !alike {
			b = append(b, c.Form...)
		}
		b = b.arguments(c.Arguments)
		if len(b) == at {
			b = append(b, '{')
		} else {
			b[at] = '{' // the comma before the first member
		}
		b = append(b, '}')
	}
	return append(b, ']')
}

func (r *Record) findings(b line) line {
	if len(r.Findings) == 0 {
		return b
	}
	more := r.Unnamed + max(len(r.Findings)-mostFindings, 0)
	b = append(b, `,"findings":[`...)
	for i, f := range r.Findings[:min(len(r.Findings), mostFindings)] {
		if i > 0 {
			b = append(b, ',')
		}
		at := len(b)
		b = b.text("at", f.Pointer).text("role", f.Role).text("path", f.shown()).flag("inside", f.Inside)
		if f.Ways > 1 {
			b = b.number("ways", uint64(f.Ways))
		}
		if len(b) == at {
			b = append(b, '{')
		} else {
			b[at] = '{' // the comma before the first member
		}
		b = append(b, '}')
	}
	return append(b, ']').number("more", uint64(max(more, 0)))
}

// granted writes what an answer has opened, by what it is.
func (r *Record) granted(b line) line {
	if len(r.Granted) == 0 {
		return b
	}
	b = append(b, `,"granted":[`...)
	for i, g := range r.Granted {
		if i > 0 {
			b = append(b, ',')
		}
		what := "directory"
		if g.File {
			what = "file"
		}
		at := len(b)
		b = b.text(what, redact.Text(g.Path)).text("roles", g.Roles)
		b[at] = '{' // the comma before the first member
		b = append(b, '}')
	}
	return append(b, ']')
}

// outcomes writes the members of a line about one outcome, or about several.
func outcomes(b line, all []Outcome) line {
	if len(all) == 1 {
		b = append(b, ',')
		return all[0].members(b)
	}
	b = append(b, `,"outcomes":[`...)
	for i := range all {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(all[i].members(append(b, '{')), '}')
	}
	return append(b, ']')
}

func (o *Outcome) members(b line) line {
	b = strconv.AppendUint(append(b, `"of":`...), o.Of, 10)
	b = b.number("call", uint64(max(o.Call, 0)))
	b = append(append(append(b, `,"result":"`...), o.Result...), `","us":`...)
	return strconv.AppendInt(b, o.Duration.Microseconds(), 10)
}
