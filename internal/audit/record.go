package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Version is the format of a line.
const Version = 1

// Kinds of lines.
const (
	KindOpen       = "open"       // a log begins
	KindDecision   = "decision"   // a call was decided upon
	KindOutcome    = "outcome"    // what became of it
	KindQuestion   = "question"   // a human was asked, and what was answered
	KindCheckpoint = "checkpoint" // of chain.jsonl: the state of a log
	KindClose      = "close"      // a log ends
	KindTorn       = "torn"       // a line before this one was cut off
)

// A Finding is one path of a call.
type Finding struct {
	Pointer string // JSON pointer within the arguments
	Role    string // read, write, delete
	Path    string // where it leads, canonical; "" where that could not be told
	Inside  bool   // of the boundary
}

// A Record is one decision.
type Record struct {
	Session    string
	Request    string // the client's id, raw JSON
	Child      string
	Tool       string
	Findings   []Finding
	Origin     string // of the roots
	Generation uint64 // of the roots; 0 where none were needed
	Stale      bool   // the roots could not be refreshed
	Rule       string // the rule that decided; "" is the boundary itself
	Decision   string // allow, deny, escalate
	Code       string // of a denial
	By         string // who approved it
	Rewritten  int    // how many arguments were given another spelling
	Arguments  []byte // raw, only where asked for
}

// An Outcome is what became of a call that was let through.
type Outcome struct {
	Of       uint64 // number of the decision's line
	Result   string // ok, tool-error, error, cancelled, timeout, unavailable
	Duration time.Duration
}

// line is a line in the making. Its parts are appended in place: this runs for
// every call.
type line []byte

// begin writes what every line begins with. prev is the hash of the line
// before, number and time are this line's.
func (b line) begin(log string, number uint64, prev string, at time.Time, kind string) line {
	b = append(b, `{"v":1,"log":"`...)
	b = append(append(b, log...), `","n":`...)
	b = append(strconv.AppendUint(b, number, 10), `,"prev":"`...)
	b = append(append(b, prev...), `","time":"`...)
	b = append(at.UTC().AppendFormat(b, "2006-01-02T15:04:05.000000Z"), `","kind":"`...)
	return append(append(b, kind...), '"')
}

// seal writes the hash of all before it, and the line end. The hash is returned.
func (b line) seal(from int) (line, string) {
	sum := sha256.Sum256(b[from:])
	var text [2 * sha256.Size]byte
	hex.Encode(text[:], sum[:])
	b = append(b, `,"hash":"`...)
	b = append(append(b, text[:]...), "\"}\n"...)
	return b, string(text[:])
}

func (b line) text(name, value string) line {
	if value == "" {
		return b
	}
	b = append(append(append(b, `,"`...), name...), `":`...)
	quoted, err := jsontext.AppendQuote(b, value)
	if err != nil {
		// Invalid UTF-8 was replaced, which is all that can be done with it.
		return line(quoted)
	}
	return line(quoted)
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

// raw writes a JSON value that was checked before.
func (b line) raw(name string, value []byte) line {
	if len(value) == 0 {
		return b
	}
	return append(append(append(append(b, `,"`...), name...), `":`...), value...)
}

// body writes the members of a Record.
func (r *Record) body(b line) line {
	b = b.text("session", r.Session)
	if r.Request != "" {
		b = b.text("request", r.Request)
	}
	b = b.text("child", r.Child).text("tool", r.Tool).text("decision", r.Decision)
	b = b.text("rule", r.Rule).text("code", r.Code).text("by", r.By)
	b = b.text("roots", r.Origin).number("generation", r.Generation).flag("stale", r.Stale).number("rewritten", uint64(max(r.Rewritten, 0)))
	if len(r.Findings) > 0 {
		b = append(b, `,"findings":[`...)
		for i, f := range r.Findings {
			if i > 0 {
				b = append(b, ',')
			}
			at := len(b)
			b = b.text("at", f.Pointer).text("role", f.Role).text("path", f.Path).flag("inside", f.Inside)
			if len(b) == at {
				b = append(b, '{')
			} else {
				b[at] = '{' // the comma before the first member
			}
			b = append(b, '}')
		}
		b = append(b, ']')
	}
	return b.raw("arguments", r.Arguments)
}

func (o *Outcome) body(b line) line {
	b = b.number("of", o.Of).text("result", o.Result)
	b = append(b, `,"us":`...)
	return strconv.AppendInt(b, o.Duration.Microseconds(), 10)
}
