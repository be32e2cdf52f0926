package jsonrpc

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// This file reads plain frames fast, which are nearly all: the requests of a strict
// peer, the answers of a lenient one. It accepts less than jsontext does. What it
// does not accept is read by jsontext, so it refuses nothing. A fuzz test compares the
// two readings.
//
// From a strict peer only ASCII is plain, without escapes of code points. Names have
// no escapes at all, and the names of an object are compared byte by byte. So a plain
// frame has only one reading.

const (
	strictDepth  = 16 // levels of nesting up to which a frame is plain
	lenientDepth = 64
	plainMembers = 16 // of one object of a strict peer
)

// A plain reads one frame. Its methods return where what begins at b[i] ends, -1
// if it is not plain.
type plain struct {
	b      []byte
	strict bool
	depth  int    // levels that it may still go down
	odd    uint64 // bits that no character of a plain string has
}

func newPlain(frame []byte, strict bool) plain {
	if strict {
		return plain{b: frame, strict: true, depth: strictDepth, odd: highs}
	}
	return plain{b: frame, depth: lenientDepth}
}

// names tells apart the names of one object: where they begin and end.
type names struct {
	n  int
	at [plainMembers][2]int32
}

// addName reports whether the name at b[from:to] has no escapes and is new.
func (s *names) addName(b []byte, from, to int) bool {
	name := b[from:to]
	if s.n == plainMembers || bytes.IndexByte(name, '\\') >= 0 {
		return false
	}
	for _, at := range s.at[:s.n] {
		if string(b[at[0]:at[1]]) == string(name) {
			return false
		}
	}
	s.at[s.n] = [2]int32{int32(from), int32(to)}
	s.n++
	return true
}

// plainFrame reads frame into m if it is plain: of a strict peer a request or a
// notification whose params, if any, are an object, of a lenient one an answer.
func plainFrame(frame []byte, strict bool, m *Message) bool {
	if len(frame) == 0 || frame[0] != '{' || len(frame) > 1<<30 {
		return false
	}
	*m = Message{Members: m.Members[:0]}
	p := newPlain(frame, strict)
	expected, seen := uint8(ofAnswer), uint8(0)
	if strict {
		expected = ofRequest
	}
	i := 1
	for more := true; more; {
		from := skipBlanks(frame, i)
		to, at := p.scanName(from)
		if to < 0 {
			return false
		}
		name := frame[from+1 : to]
		if strict && string(name) == "params" {
			i = p.scanObject(at, m)
		} else {
			i = p.scanValue(at)
		}
		if i < 0 {
			return false
		}
		bit, err := m.setMember(name, frame[at:i])
		if err != nil || bit&expected == 0 || seen&bit != 0 {
			return false
		}
		seen |= bit
		if i, more = p.scanNext(i, '}'); i < 0 {
			return false
		}
	}
	if strict && (seen&memberVersion == 0 || m.Method == "") || !strict && (m.ID == nil || (m.Result == nil) == (m.Error == nil)) {
		return false
	}
	m.Frame = frame
	return skipBlanks(frame, i) == len(frame)
}

// tellPlainMembers calls yield for each member of the object raw, as [Members] does, as long as they are plain. told is how many it
// was called for. over: there are no more, or yield wants none.
func tellPlainMembers(raw []byte, yield func(name string, value []byte) bool) (told int, over bool) {
	p := newPlain(raw, false)
	i := skipBlanks(raw, 0)
	if i == len(raw) || raw[i] != '{' {
		return 0, false
	}
	if i = skipBlanks(raw, i+1); i < len(raw) && raw[i] == '}' {
		return 0, true
	}
	for more := true; more; told++ {
		from := skipBlanks(raw, i)
		to, at := p.scanName(from)
		if to < 0 {
			return told, false
		}
		name := raw[from+1 : to]
		if bytes.IndexByte(name, '\\') >= 0 || !utf8.Valid(name) {
			return told, false
		}
		end := p.scanValue(at)
		if end < 0 {
			return told, false
		}
		if i, more = p.scanNext(end, '}'); i < 0 {
			return told, false
		}
		if !yield(knownName(name), raw[at:end]) {
			return told, true
		}
	}
	return told, true
}

func skipBlanks(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\r' || b[i] == '\n') {
		i++
	}
	return i
}

// scanName returns where the name that begins at b[i] ends, before its closing quote,
// and where its value begins.
func (p *plain) scanName(i int) (end, value int) {
	after := p.scanString(i)
	if after < 0 {
		return -1, -1
	}
	if value = skipBlanks(p.b, after); value >= len(p.b) || p.b[value] != ':' {
		return -1, -1
	}
	return after - 1, skipBlanks(p.b, value+1)
}

// scanNext goes behind the comma or the end that stands behind a value.
func (p *plain) scanNext(i int, end byte) (next int, more bool) {
	i = skipBlanks(p.b, i)
	if i < len(p.b) && (p.b[i] == ',' || p.b[i] == end) {
		return i + 1, p.b[i] == ','
	}
	return -1, false
}

func (p *plain) scanValue(i int) int {
	if i >= len(p.b) {
		return -1
	}
	switch p.b[i] {
	case '"':
		return p.scanString(i)
	case '{':
		return p.scanObject(i, nil)
	case '[':
		return p.scanArray(i)
	}
	return plainScalar(p.b, i)
}

func (p *plain) scanArray(i int) int {
	if p.depth == 0 {
		return -1
	}
	if i = skipBlanks(p.b, i+1); i < len(p.b) && p.b[i] == ']' {
		return i + 1
	}
	p.depth--
	for more := true; more; {
		if i = p.scanValue(skipBlanks(p.b, i)); i < 0 {
			return -1
		}
		if i, more = p.scanNext(i, ']'); i < 0 {
			return -1
		}
	}
	p.depth++
	return i
}

// scanObject also adds the members to the ones of m, unless that is nil.
func (p *plain) scanObject(i int, m *Message) int {
	if i >= len(p.b) || p.b[i] != '{' || p.depth == 0 {
		return -1
	}
	if i = skipBlanks(p.b, i+1); i < len(p.b) && p.b[i] == '}' {
		return i + 1
	}
	p.depth--
	var seen names
	for more := true; more; {
		from := skipBlanks(p.b, i)
		to, at := p.scanName(from)
		if to < 0 || p.strict && !seen.addName(p.b, from+1, to) {
			return -1
		}
		if i = p.scanValue(at); i < 0 {
			return -1
		}
		if m != nil {
			m.Members = append(m.Members, Member{knownName(p.b[from+1 : to]), p.b[at:i]})
		}
		if i, more = p.scanNext(i, '}'); i < 0 {
			return -1
		}
	}
	p.depth++
	return i
}

const (
	lows   = 0x0101010101010101
	highs  = 0x80 * lows
	slants = '\\' * lows
)

// markSpecial marks, in the highest bits of the bytes of w, the ones that end a
// run of text in a string: quotes, backslashes and control characters. The
// lowest mark is right; above it may be false ones, and bits that are no marks.
func markSpecial(w uint64) uint64 {
	// With its second bit turned a quote is a blank, and control characters
	// stay what they are: one comparison finds both.
	return ((w ^ 0x02*lows - 0x21*lows) | (w ^ slants - lows)) &^ w
}

func (p *plain) scanString(i int) int {
	b, odd := p.b, p.odd
	if i >= len(b) || b[i] != '"' {
		return -1
	}
	for i++; ; {
		for odd == 0 && i+32 <= len(b) {
			r := b[i : i+32 : i+32]
			if (markSpecial(binary.LittleEndian.Uint64(r))|markSpecial(binary.LittleEndian.Uint64(r[8:]))|
				markSpecial(binary.LittleEndian.Uint64(r[16:]))|markSpecial(binary.LittleEndian.Uint64(r[24:])))&highs != 0 {
				break
			}
			i += 32
		}
		for i+8 <= len(b) {
			w := binary.LittleEndian.Uint64(b[i:])
			if m := markSpecial(w)&highs | w&odd; m != 0 {
				i += bits.TrailingZeros64(m) / 8
				break
			}
			i += 8
		}
		if i >= len(b) {
			return -1
		}
		switch c := b[i]; {
		case c == '"':
			return i + 1
		case c == '\\':
			if p.strict && i+1 < len(b) && b[i+1] == 'u' {
				return -1
			}
			if i = plainEscape(b, i+1); i < 0 {
				return -1
			}
		case c < ' ' || p.strict && c >= 0x80:
			return -1
		default: // among the last seven bytes
			i++
		}
	}
}

// plainEscape returns where the escape whose letter is b[i] ends.
func plainEscape(b []byte, i int) int {
	if i >= len(b) {
		return -1
	}
	switch b[i] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 1
	case 'u':
		if i+5 > len(b) {
			return -1
		}
		for _, c := range b[i+1 : i+5] {
			if !('0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f') {
				return -1
			}
		}
		return i + 5
	}
	return -1
}

// plainScalar returns where the number or literal that begins at b[i] ends.
func plainScalar(b []byte, i int) int {
	for _, word := range [...]string{"true", "false", "null"} {
		if b[i] == word[0] {
			if len(b)-i < len(word) || string(b[i:i+len(word)]) != word {
				return -1
			}
			return i + len(word)
		}
	}
	if b[i] == '-' {
		i++
	}
	if i < len(b) && b[i] == '0' {
		i++
	} else if i = scanDigits(b, i); i < 0 {
		return -1
	}
	if i < len(b) && b[i] == '.' {
		if i = scanDigits(b, i+1); i < 0 {
			return -1
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		if i++; i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		return scanDigits(b, i)
	}
	return i
}

// scanDigits returns where the digits that begin at b[i] end, -1 without any.
func scanDigits(b []byte, i int) int {
	from := i
	for i < len(b) && '0' <= b[i] && b[i] <= '9' {
		i++
	}
	if i == from {
		return -1
	}
	return i
}
