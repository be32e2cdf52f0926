package jsonrpc

import (
	"encoding/binary"
	"math/bits"
)

// This file reads the answers of a lenient peer that have nothing odd about
// them, which is nearly all that a child sends. It accepts less than jsontext
// does, and whatever it does not accept is read again by that: it can refuse
// nothing, and its reading is tested to be the same. What a client sends never
// comes here.

// plainDepth is the nesting up to which a frame is plain.
const plainDepth = 64

// plainAnswer reads frame into m where it is a plain answer: an object of
// plain members, jsonrpc, id and result or error among them once each.
func plainAnswer(frame []byte, m *Message) bool {
	if len(frame) == 0 || frame[0] != '{' {
		return false
	}
	var id, result, fault []byte
	seen := uint8(0)
	for i := 1; ; i++ {
		from := blanks(frame, i)
		to := plainString(frame, from)
		if to < 0 {
			return false
		}
		name := frame[from:to]
		if i = blanks(frame, to); i >= len(frame) || frame[i] != ':' {
			return false
		}
		from = blanks(frame, i+1)
		if to = plainValue(frame, from); to < 0 {
			return false
		}
		value, bit := frame[from:to], uint8(0)
		switch string(name) {
		case `"jsonrpc"`:
			bit = memberVersion
			if string(value) != `"2.0"` {
				return false
			}
		case `"id"`:
			bit, id = memberID, value
		case `"result"`:
			bit, result = memberResult, value
		case `"error"`:
			bit, fault = memberError, value
		default:
			return false
		}
		if seen&bit != 0 {
			return false
		}
		seen |= bit
		if i = blanks(frame, to); i >= len(frame) || frame[i] != ',' {
			if i >= len(frame) || frame[i] != '}' || blanks(frame, i+1) != len(frame) {
				return false
			}
			break
		}
	}
	if seen&memberID == 0 || (result == nil) == (fault == nil) || checkID(id) != nil {
		return false
	}
	*m = Message{Frame: frame, ID: id, Result: result, Error: fault, Members: m.Members[:0]}
	return true
}

func blanks(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\r' || b[i] == '\n') {
		i++
	}
	return i
}

// plainValue returns where the JSON value that begins at b[i] ends, -1 where
// it is not plain.
func plainValue(b []byte, i int) int {
	objects, depth := uint64(0), 0 // the lowest bit: the innermost is an object
	for {
		if i = blanks(b, i); i >= len(b) {
			return -1
		}
		switch b[i] {
		case '{', '[':
			if depth == plainDepth {
				return -1
			}
			depth++
			objects <<= 1
			end := byte(']')
			if b[i] == '{' {
				objects |= 1
				end = '}'
			}
			if next := blanks(b, i+1); next >= len(b) {
				return -1
			} else if b[next] != end {
				if i++; end == '}' {
					i = plainName(b, next)
				}
				if i < 0 {
					return -1
				}
				continue
			} else {
				i = next // its end is dealt with below
			}
		case '"':
			i = plainString(b, i)
		default:
			i = plainScalar(b, i)
		}
		if i < 0 {
			return -1
		}
		more := false
		for depth > 0 && !more {
			if i = blanks(b, i); i >= len(b) {
				return -1
			}
			switch {
			case b[i] == ',' && objects&1 != 0:
				if i = plainName(b, blanks(b, i+1)); i < 0 {
					return -1
				}
				more = true
			case b[i] == ',':
				i++
				more = true
			case b[i] == '}' && objects&1 != 0, b[i] == ']' && objects&1 == 0:
				i++
				depth--
				objects >>= 1
			default:
				return -1
			}
		}
		if !more {
			return i
		}
	}
}

// plainName returns where the value of the member whose name begins at b[i]
// may begin, -1 where the name is not plain.
func plainName(b []byte, i int) int {
	if i = plainString(b, i); i < 0 {
		return -1
	}
	if i = blanks(b, i); i >= len(b) || b[i] != ':' {
		return -1
	}
	return i + 1
}

const (
	lows   = 0x0101010101010101
	highs  = 0x80 * lows
	slants = '\\' * lows
)

// special marks, in the highest bits of the bytes of w, those that end a run
// of text in a string: quotes, backslashes and control characters. The lowest
// mark is right; above it may be false ones, and bits that are no marks.
func special(w uint64) uint64 {
	// With its second bit turned a quote is a blank, and control characters
	// stay what they are: one comparison finds both.
	return ((w ^ 0x02*lows - 0x21*lows) | (w ^ slants - lows)) &^ w
}

// plainString returns where the JSON string that begins at b[i] ends, -1 where
// none does.
func plainString(b []byte, i int) int {
	if i >= len(b) || b[i] != '"' {
		return -1
	}
	for i++; ; {
		for i+32 <= len(b) {
			r := b[i : i+32 : i+32]
			if (special(binary.LittleEndian.Uint64(r))|special(binary.LittleEndian.Uint64(r[8:]))|
				special(binary.LittleEndian.Uint64(r[16:]))|special(binary.LittleEndian.Uint64(r[24:])))&highs != 0 {
				break
			}
			i += 32
		}
		for i+8 <= len(b) {
			if m := special(binary.LittleEndian.Uint64(b[i:])) & highs; m != 0 {
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
			if i = plainEscape(b, i+1); i < 0 {
				return -1
			}
		case c < ' ':
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
	} else if i = digits(b, i); i < 0 {
		return -1
	}
	if i < len(b) && b[i] == '.' {
		if i = digits(b, i+1); i < 0 {
			return -1
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		if i++; i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		return digits(b, i)
	}
	return i
}

// digits returns where the digits that begin at b[i] end, -1 without any.
func digits(b []byte, i int) int {
	from := i
	for i < len(b) && '0' <= b[i] && b[i] <= '9' {
		i++
	}
	if i == from {
		return -1
	}
	return i
}
