package jsonrpc

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// This file does for requests of a strict peer what plain.go does for the
// answers of a lenient one, with less: only ASCII is plain, no escape of a code
// point is, names have no escapes at all, and in every object they are told
// apart byte by byte. So there is one reading of what is plain. All else is
// left to jsontext, which alone refuses.

const (
	plainLevels  = 16 // of nesting in a plain request
	plainMembers = 16 // of one object in it
)

// nameSet tells apart the names of one object: where they begin and end.
type nameSet struct {
	n  int
	at [plainMembers][2]int32
}

// add returns where the name that begins at b[i], its quotes left out, ends,
// and where its value may begin; -1 where it is not plain or not new.
func (s *nameSet) add(b []byte, i int) (end, value int) {
	after := asciiString(b, i)
	if after < 0 || s.n == plainMembers {
		return -1, -1
	}
	name := b[i+1 : after-1]
	if bytes.IndexByte(name, '\\') >= 0 {
		return -1, -1
	}
	for _, at := range s.at[:s.n] {
		if string(b[at[0]:at[1]]) == string(name) {
			return -1, -1
		}
	}
	s.at[s.n] = [2]int32{int32(i + 1), int32(after - 1)}
	s.n++
	if value = blanks(b, after); value >= len(b) || b[value] != ':' {
		return -1, -1
	}
	return after - 1, blanks(b, value+1)
}

// plainRequest reads frame into m where it is a plain request or notification:
// an object of jsonrpc, id, method and params (an object), nothing else.
func plainRequest(frame []byte, m *Message) bool {
	if len(frame) == 0 || frame[0] != '{' || len(frame) > 1<<30 {
		return false
	}
	*m = Message{Members: m.Members[:0]}
	var seen nameSet
	version := false
	i := 1
	for more := true; more; {
		from := blanks(frame, i)
		to, at := seen.add(frame, from)
		if to < 0 {
			return false
		}
		name := string(frame[from+1 : to])
		if name == "params" {
			i = asciiObject(frame, at, 1, m)
		} else {
			i = asciiValue(frame, at, 1)
		}
		if i < 0 {
			return false
		}
		value, ok := frame[at:i], true
		switch name {
		case "jsonrpc":
			version = string(value) == `"2.0"`
			ok = version
		case "id":
			m.ID = value
			ok = checkID(value) == nil
		case "method":
			method, err := methodName(value)
			m.Method, ok = method, err == nil
		case "params":
			m.Params = value
		default:
			ok = false
		}
		if !ok {
			return false
		}
		if i, more = asciiNext(frame, i, '}'); i < 0 {
			return false
		}
	}
	if !version || m.Method == "" || blanks(frame, i) != len(frame) {
		return false
	}
	m.Frame = frame
	return true
}

// asciiNext goes behind the comma or the end that stands behind a value; -1
// where there is neither.
func asciiNext(b []byte, i int, end byte) (next int, more bool) {
	i = blanks(b, i)
	if i < len(b) && (b[i] == ',' || b[i] == end) {
		return i + 1, b[i] == ','
	}
	return -1, false
}

// asciiValue returns where the plain value that begins at b[i] ends, or -1.
func asciiValue(b []byte, i, depth int) int {
	if i >= len(b) {
		return -1
	}
	switch b[i] {
	case '"':
		return asciiString(b, i)
	case '{':
		return asciiObject(b, i, depth, nil)
	case '[':
		return asciiArray(b, i, depth)
	}
	return plainScalar(b, i)
}

func asciiArray(b []byte, i, depth int) int {
	if depth == plainLevels {
		return -1
	}
	if i = blanks(b, i+1); i < len(b) && b[i] == ']' {
		return i + 1
	}
	for more := true; more; {
		if i = asciiValue(b, blanks(b, i), depth+1); i < 0 {
			return -1
		}
		if i, more = asciiNext(b, i, ']'); i < 0 {
			return -1
		}
	}
	return i
}

// asciiObject is asciiValue for an object, whose members it adds to those of m
// unless that is nil.
func asciiObject(b []byte, i, depth int, m *Message) int {
	if i >= len(b) || b[i] != '{' || depth == plainLevels {
		return -1
	}
	if i = blanks(b, i+1); i < len(b) && b[i] == '}' {
		return i + 1
	}
	var seen nameSet
	for more := true; more; {
		from := blanks(b, i)
		to, at := seen.add(b, from)
		if to < 0 {
			return -1
		}
		if i = asciiValue(b, at, depth+1); i < 0 {
			return -1
		}
		if m != nil {
			m.Members = append(m.Members, Member{knownName(b[from+1 : to]), b[at:i]})
		}
		if i, more = asciiNext(b, i, '}'); i < 0 {
			return -1
		}
	}
	return i
}

// asciiString is plainString for a string of ASCII with no escape of a code
// point in it.
func asciiString(b []byte, i int) int {
	if i >= len(b) || b[i] != '"' {
		return -1
	}
	for i++; ; {
		for i+8 <= len(b) {
			w := binary.LittleEndian.Uint64(b[i:])
			if m := (special(w) | w) & highs; m != 0 {
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
			if i+1 >= len(b) || b[i+1] == 'u' {
				return -1
			}
			if i = plainEscape(b, i+1); i < 0 {
				return -1
			}
		case c < ' ' || c >= 0x80:
			return -1
		default: // among the last seven bytes
			i++
		}
	}
}
