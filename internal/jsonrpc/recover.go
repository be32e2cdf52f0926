package jsonrpc

import (
	"bytes"
	"fmt"
	"slices"

	"mcphub/internal/lazyregexp"
)

// A TooLongError reports a line over the frame limit. The line has been
// skipped. Answers are what may be the ids of the calls it answered; Request
// is the id of the request that it seems to have been, or "".
type TooLongError struct {
	Limit   int
	Size    int64
	Answers []string
	Request string
	asks    bool // it has a method
}

func (e *TooLongError) Error() string {
	return fmt.Sprintf("a line of %d bytes is over the limit of %d", e.Size, e.Limit)
}

// idScanner looks for the ids of a line that cannot be read as JSON. It is not
// a parser: it follows strings and nesting just far enough to tell a member of
// the envelope from one below, takes its input in pieces so that a line over
// the limit need not be kept, and may be wrong about hopeless lines. All that
// follows from a find is that one call ends with an error. A line may hold
// several envelopes (glued together, or a batch).
type idScanner struct {
	depth   int
	inStr   bool
	escaped bool
	started bool   // something other than blanks was seen
	noise   bool   // and it was not the beginning of an object
	text    []byte // the string or bare token being read at depth 1
	last    string // the last complete string at depth 1
	key     string // the member whose value comes next
	value   bool   // a colon was seen after key
	mark    mark
	env     envelope // the object open at depth 1
	found   finds
	tail    []byte // the last bytes, for ids behind a broken string
}

// envelope is what has been seen of one object.
type envelope struct {
	ids                                    []string
	version, hasID, method, params, answer bool
}

// finds is what a broken line may have been.
type finds struct {
	answers  []string // ids of calls that it answered
	requests []string // ids of requests that it made
	asks     bool     // it has a method
	other    bool     // it has an object that is no envelope
}

const (
	scanText = DefaultIDLimit + 2
	scanTail = 512
	scanIDs  = 16
)

func (s *idScanner) feed(b []byte) {
	for _, c := range b {
		if s.inStr && s.depth != 1 && !s.escaped && s.mark.state == markNone && c != '"' && c != '\\' && c != '{' {
			continue // most of a large line
		}
		s.step(c)
	}
	if len(b) >= scanTail {
		s.tail = append(s.tail[:0], b[len(b)-scanTail:]...)
		return
	}
	s.tail = append(s.tail, b...)
	if over := len(s.tail) - scanTail; over > 0 {
		s.tail = append(s.tail[:0], s.tail[over:]...)
	}
}

func (s *idScanner) step(c byte) {
	if !s.started && c != ' ' && c != '\t' && c != '\r' {
		s.started = true
		s.noise = c != '{' && c != '['
	}
	if s.mark.step(c, s.inStr, s.escaped) && (s.mark.inStr || s.noise && !s.env.known()) {
		s.restart(string(s.mark.name))
		return
	}
	if s.inStr {
		s.inString(c)
		return
	}
	switch c {
	case '"':
		s.endToken()
		s.inStr = true
		s.text = s.text[:0]
	case '{', '[':
		s.open(c)
	case '}', ']':
		s.endToken()
		if s.depth == 1 {
			s.closeEnvelope(true)
		}
		s.depth = max(s.depth-1, 0)
		s.value = false
	case ':':
		if s.depth == 1 {
			s.key, s.value = s.last, true
			s.env.see(s.key)
		}
	case ',', ' ', '\t', '\r':
		s.endToken()
		if c == ',' && s.depth == 1 {
			s.key, s.value = "", false
		}
	default:
		if s.depth == 1 && s.value && len(s.text) < scanText {
			s.text = append(s.text, c)
		}
	}
}

func (s *idScanner) open(c byte) {
	s.endToken()
	s.value = false
	if s.depth == 0 && c == '[' {
		return // a batch, or a [LABEL] in front
	}
	if s.depth++; s.depth == 1 {
		s.key, s.last = "", ""
	}
}

func (s *idScanner) inString(c byte) {
	switch {
	case s.escaped:
		s.escaped = false
	case c == '\\':
		s.escaped = true
	case c == '"':
		s.inStr = false
		if s.depth == 1 {
			if s.value && s.key == "id" {
				s.env.id(`"` + string(s.text) + `"`)
				s.value = false
			}
			s.last = string(s.text)
		}
		s.text = s.text[:0]
		return
	}
	if s.depth == 1 && len(s.text) < scanText {
		s.text = append(s.text, c)
	}
}

func (s *idScanner) endToken() {
	if len(s.text) == 0 {
		return
	}
	if s.depth == 1 && s.value && s.key == "id" {
		s.env.id(string(s.text))
		s.value = false
	}
	s.text = s.text[:0]
}

// restart takes the member that was just seen as the first of an envelope that the
// broken text before it has hidden.
func (s *idScanner) restart(name string) {
	s.closeEnvelope(false)
	s.depth, s.inStr, s.escaped = 1, false, false
	s.text, s.last, s.key, s.value = s.text[:0], "", name, true
	s.env.see(name)
}

// closeEnvelope counts what was seen of an object; whole tells that its end
// was seen too.
func (s *idScanner) closeEnvelope(whole bool) {
	e := s.env
	s.env = envelope{}
	switch {
	case e.method:
		s.found.asks = true
		s.found.requests = atMost(append(s.found.requests, e.ids...))
	case e.answer, !e.params && (!whole || e.version): // a line of a log has an end, and no version
		s.found.answers = atMost(append(s.found.answers, e.ids...))
	case whole:
		s.found.other = true
	}
}

func atMost(ids []string) []string { return ids[:min(len(ids), scanIDs)] }

func (e *envelope) see(name string) {
	switch name {
	case "jsonrpc":
		e.version = true
	case "id":
		e.hasID = true
	case "method":
		e.method = true
	case "params":
		e.params = true
	case "result", "error":
		e.answer = true
	}
}

func (e *envelope) known() bool { return e.method || e.params || e.answer || len(e.ids) > 0 }

func (e *envelope) id(text string) {
	if len(e.ids) < scanIDs && len(text) < scanText && !slices.Contains(e.ids, text) {
		e.ids = append(e.ids, text)
	}
}

// mark recognises the beginning of an envelope in the middle of anything: a
// brace, then the name of one of its members. Within a JSON string the quotes
// would be escaped, so there it is proof that the string is broken.
type mark struct {
	state int
	inStr bool // the brace seemed to stand in a string
	name  []byte
}

const (
	markNone = iota
	markBrace
	markName
	markColon
)

// step takes one byte, read in the state given, and reports whether it is the
// colon behind such a name.
func (m *mark) step(c byte, inStr, escaped bool) bool {
	blank := c == ' ' || c == '\t' || c == '\r'
	switch {
	case c == '{' && !escaped:
		m.state, m.inStr = markBrace, inStr
	case m.state == markNone || blank && m.state != markName:
	case m.state == markBrace && c == '"':
		m.state, m.name = markName, m.name[:0]
	case m.state == markName && c == '"':
		m.state = markColon
	case m.state == markName && len(m.name) < len("jsonrpc"):
		m.name = append(m.name, c)
	case m.state == markColon && c == ':':
		m.state = markNone
		switch string(m.name) {
		case "jsonrpc", "id", "result", "error", "method":
			return true
		}
	default:
		m.state = markNone
	}
	return false
}

var (
	trailingID = lazyregexp.New(`"id"\s*:\s*(-?\d{1,20}|"[^"\\]{0,200}")\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$`)
	methodMark = []byte(`"method"`)
)

// request returns the one id that a request may be refused with, or "".
func (f finds) request() string {
	if len(f.requests) != 1 || !recoverable(f.requests[0]) || !wellFormed([]byte(f.requests[0])) {
		return ""
	}
	return f.requests[0]
}

// finish returns what the line may have been.
func (s *idScanner) finish() finds {
	open := s.env // a number at the very end may lack digits: it is left out
	s.closeEnvelope(false)
	ended := (s.found.asks || s.found.other) && s.depth == 0 && !s.inStr
	if len(s.found.answers) > 0 || ended || open.method || open.params || bytes.Contains(s.tail, methodMark) {
		return s.found
	}
	if m := trailingID.FindSubmatch(s.tail); m != nil {
		s.found.answers = []string{string(m[1])}
	}
	return s.found
}

func (s *idScanner) tooLong(limit int, size int64) *TooLongError {
	f := s.finish()
	return &TooLongError{Limit: limit, Size: size, Answers: f.answers, Request: f.request(), asks: f.asks}
}

// scan returns what a broken line may have been.
func scan(line []byte) finds {
	var s idScanner
	s.feed(line)
	return s.finish()
}
