package broken

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"mcphub/internal/lazyregexp"
)

// MaxID bounds an id that is looked for, in bytes of JSON.
const MaxID = 1 << 10

// A Scanner looks for the ids of one line that cannot be read as JSON. It is not
// a parser: it follows strings and nesting just far enough to tell a member of
// the envelope from one below, and takes the line in pieces, so that one over
// the limit need not be kept. The zero value is ready for use.
type Scanner struct {
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
	env     Envelope // the object open at depth 1
	found   Guess
	tail    []byte // the last bytes, for ids behind a broken string
}

// An Envelope is what has been seen of one object.
type Envelope struct {
	IDs                   []string // its ids, each once
	HasID, Method, Answer bool     // which members it has; Answer: a result or an error
	version, params       bool
}

// Guess is what a broken line may have been.
type Guess struct {
	Answers  []string // ids of calls that it answered
	Requests []string // ids of requests that it made
	Asks     bool     // it has a method
	other    bool     // it has an object that is no envelope
}

const (
	scanText = MaxID + 2
	scanTail = 512
	scanIDs  = 16
)

// Feed takes the next piece of the line.
func (s *Scanner) Feed(b []byte) {
	for _, c := range b {
		if s.inStr && s.depth != 1 && !s.escaped && s.mark.state == markNone && c != '"' && c != '\\' && c != '{' {
			continue // most of a large line
		}
		s.stepByte(c)
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

func (s *Scanner) stepByte(c byte) {
	if !s.started && c != ' ' && c != '\t' && c != '\r' {
		s.started = true
		s.noise = c != '{' && c != '['
	}
	if s.mark.stepByte(c, s.inStr, s.escaped) && (s.mark.inStr || s.noise && !s.env.isKnown()) {
		s.restartAt(string(s.mark.name))
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
		s.openContainer(c)
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
			s.env.See(s.key)
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

func (s *Scanner) openContainer(c byte) {
	s.endToken()
	s.value = false
	if s.depth == 0 && c == '[' {
		return // a batch, or a [LABEL] in front
	}
	if s.depth++; s.depth == 1 {
		s.key, s.last = "", ""
	}
}

func (s *Scanner) inString(c byte) {
	switch {
	case s.escaped:
		s.escaped = false
	case c == '\\':
		s.escaped = true
	case c == '"':
		s.inStr = false
		if s.depth == 1 {
			if s.value && s.key == "id" {
				s.env.AddID(`"` + string(s.text) + `"`)
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

func (s *Scanner) endToken() {
	if len(s.text) == 0 {
		return
	}
	if s.depth == 1 && s.value && s.key == "id" {
		s.env.AddID(string(s.text))
		s.value = false
	}
	s.text = s.text[:0]
}

// restartAt takes the member that was just seen as the first of an envelope that the
// broken text before it has hidden.
func (s *Scanner) restartAt(name string) {
	s.closeEnvelope(false)
	s.depth, s.inStr, s.escaped = 1, false, false
	s.text, s.last, s.key, s.value = s.text[:0], "", name, true
	s.env.See(name)
}

// closeEnvelope counts what was seen of an object; whole reports that its
// end was seen too.
func (s *Scanner) closeEnvelope(whole bool) {
	e := s.env
	s.env = Envelope{}
	switch {
	case e.Method:
		s.found.Asks = true
		s.found.Requests = atMost(append(s.found.Requests, e.IDs...))
	case e.Answer, !e.params && (!whole || e.version): // a line of a log has an end, and no version
		s.found.Answers = atMost(append(s.found.Answers, e.IDs...))
	case whole:
		s.found.other = true
	}
}

func atMost(ids []string) []string { return ids[:min(len(ids), scanIDs)] }

// See takes in a member of that name.
func (e *Envelope) See(name string) {
	switch name {
	case "jsonrpc":
		e.version = true
	case "id":
		e.HasID = true
	case "method":
		e.Method = true
	case "params":
		e.params = true
	case "result", "error":
		e.Answer = true
	}
}

func (e *Envelope) isKnown() bool { return e.Method || e.params || e.Answer || len(e.IDs) > 0 }

// AddID tells an id of the object, as it is written.
func (e *Envelope) AddID(text string) {
	if len(e.IDs) < scanIDs && len(text) < scanText && !slices.Contains(e.IDs, text) {
		e.IDs = append(e.IDs, text)
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

// stepByte takes one byte, read in the state given, and reports whether it is the
// colon behind such a name.
func (m *mark) stepByte(c byte, inStr, escaped bool) bool {
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

// Request returns the one id that a request may be refused with, or "".
func (f Guess) Request() string { return oneID(f.Requests) }

// ID returns the one id that the object has, or "" if it has none or several.
func (e *Envelope) ID() string { return oneID(e.IDs) }

// oneID returns the only one of ids, if it is one that may be answered: a JSON string or
// number of at most MaxID bytes.
func oneID(ids []string) string {
	if len(ids) != 1 || len(ids[0]) > MaxID {
		return ""
	}
	id := jsontext.Value(ids[0])
	if kind := id.Kind(); kind != '"' && kind != '0' || !id.IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) {
		return ""
	}
	return ids[0]
}

// Finish returns what the line may have been.
func (s *Scanner) Finish() Guess {
	open := s.env // a number at the very end may lack digits: it is left out
	s.closeEnvelope(false)
	ended := (s.found.Asks || s.found.other) && s.depth == 0 && !s.inStr
	if len(s.found.Answers) > 0 || ended || open.Method || open.params || bytes.Contains(s.tail, methodMark) {
		return s.found
	}
	if m := trailingID.FindSubmatch(s.tail); m != nil {
		s.found.Answers = []string{string(m[1])}
	}
	return s.found
}

// Scan returns what a broken line may have been.
func Scan(line []byte) Guess {
	var s Scanner
	s.Feed(line)
	return s.Finish()
}
