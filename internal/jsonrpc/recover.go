package jsonrpc

import "regexp"

// idScanner looks for the id of a line that cannot be read as JSON. It is not
// a parser: it follows strings and nesting just far enough to tell a member
// of the envelope from one below, takes its input in pieces so that a line
// over the limit need not be kept, and may be wrong about hopeless lines. All
// that follows from a find is that one call ends with an error.
type idScanner struct {
	depth   int
	inStr   bool
	escaped bool
	method  bool   // a "method" member was seen: no response
	text    []byte // the string or bare token being read at depth 1
	last    string // the last complete string at depth 1
	key     string // the member whose value comes next
	value   bool   // a colon was seen after key
	ids     []string
	tail    []byte // the last bytes, for ids behind a broken string
}

const (
	scanText = maxID + 2
	scanTail = 512
)

func (s *idScanner) feed(b []byte) {
	for _, c := range b {
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
		s.endToken()
		s.depth++
		if s.depth == 1 {
			s.key, s.value, s.last = "", false, ""
		} else {
			s.value = false
		}
	case '}', ']':
		s.endToken()
		if s.depth > 0 {
			s.depth--
		}
		s.value = false
	case ':':
		if s.depth == 1 {
			s.key, s.value = s.last, true
			s.method = s.method || s.key == "method"
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
				s.ids = append(s.ids, `"`+string(s.text)+`"`)
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
	if s.depth == 1 && s.value && s.key == "id" && len(s.ids) < 16 {
		s.ids = append(s.ids, string(s.text))
		s.value = false
	}
	s.text = s.text[:0]
}

var trailingID = regexp.MustCompile(`"id"\s*:\s*(-?\d{1,20}|"[^"\\]{0,200}")\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$`)

// found returns the ids of the responses that the line may have been. A line
// with a method is a request or notification of the peer and answers nothing.
func (s *idScanner) found() []string {
	if s.method {
		return nil
	}
	if !s.inStr {
		s.endToken()
	}
	if len(s.ids) > 0 {
		return s.ids
	}
	if m := trailingID.FindSubmatch(s.tail); m != nil {
		return []string{string(m[1])}
	}
	return nil
}

// findIDs returns the ids that a broken line may answer.
func findIDs(line []byte) []string {
	var s idScanner
	s.feed(line)
	return s.found()
}
