package jsonrpc

import (
	"bytes"
	"errors"
	"io"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// A SyntaxError says why a frame cannot be taken. Loose is set when the frame
// is a message after all, only not strict JSON (duplicate names, invalid
// UTF-8): then it tells which request to refuse or which call to end.
type SyntaxError struct {
	Reason string
	Loose  *Message
}

func (e *SyntaxError) Error() string { return e.Reason }

// splitter is a reusable jsontext decoder over a byte slice.
type splitter struct {
	src bytes.Buffer
	dec *jsontext.Decoder
}

var splitters = sync.Pool{New: func() any {
	s := new(splitter)
	s.dec = jsontext.NewDecoder(&s.src)
	return s
}}

var (
	strictOptions  = []jsontext.Options{jsontext.AllowDuplicateNames(false), jsontext.AllowInvalidUTF8(false)}
	lenientOptions = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}
)

func (s *splitter) reset(b []byte, strict bool) {
	s.src = *bytes.NewBuffer(b)
	if strict {
		s.dec.Reset(&s.src, strictOptions...)
	} else {
		s.dec.Reset(&s.src, lenientOptions...)
	}
}

func (s *splitter) free() {
	s.src = bytes.Buffer{}
	s.dec.Reset(&s.src)
	splitters.Put(s)
}

// value reads the next value and returns the part of b that holds it.
func (s *splitter) value(b []byte) ([]byte, error) {
	v, err := s.dec.ReadValue()
	if err != nil {
		return nil, err
	}
	end := int(s.dec.InputOffset())
	return b[end-len(v) : end], nil
}

// Split reads one frame into m, which it overwrites (the capacity of
// m.Members is kept). A strict frame must be JSON with unique names and valid
// UTF-8 throughout; of a lenient one only the names of the envelope must be
// unique. The error is a *SyntaxError.
func Split(frame []byte, strict bool, m *Message) error {
	err := split(frame, strict, m)
	if err == nil {
		return nil
	}
	se := &SyntaxError{Reason: reason(err)}
	if strict {
		if loose := new(Message); split(frame, false, loose) == nil {
			se.Loose = loose
		}
	}
	return se
}

func split(frame []byte, strict bool, m *Message) error {
	*m = Message{Frame: frame, Members: m.Members[:0]}
	s := splitters.Get().(*splitter)
	defer s.free()
	s.reset(frame, strict)
	if k := s.dec.PeekKind(); k != '{' {
		if k == '[' {
			return errors.New("a batch is not supported: send one message a line")
		}
		if _, err := s.dec.ReadValue(); err != nil {
			return err
		}
		return errors.New("a message must be a JSON object")
	}
	if _, err := s.dec.ReadToken(); err != nil {
		return err
	}
	var seen memberSet
	for s.dec.PeekKind() != '}' {
		name, err := s.dec.ReadToken()
		if err != nil {
			return err
		}
		if err := s.member(name.String(), frame, m, &seen); err != nil {
			return err
		}
	}
	if _, err := s.dec.ReadToken(); err != nil {
		return err
	}
	if _, err := s.dec.ReadToken(); err != io.EOF {
		if err == nil {
			err = errors.New("data after the message")
		}
		return err
	}
	if strict && !seen.jsonrpc {
		return errors.New(`jsonrpc must be "2.0"`)
	}
	return nil
}

// memberSet tells which names of the envelope have been seen.
type memberSet struct{ jsonrpc, id, method, params, result, err bool }

func (s *splitter) member(name string, frame []byte, m *Message, seen *memberSet) error {
	twice := func(flag *bool) error {
		if *flag {
			return errors.New("duplicate member " + name)
		}
		*flag = true
		return nil
	}
	var into *[]byte
	var flag *bool
	switch name {
	case "id":
		into, flag = &m.ID, &seen.id
	case "params":
		if err := twice(&seen.params); err != nil {
			return err
		}
		return s.params(frame, m)
	case "result":
		into, flag = &m.Result, &seen.result
	case "error":
		into, flag = &m.Error, &seen.err
	case "method":
		if err := twice(&seen.method); err != nil {
			return err
		}
		if s.dec.PeekKind() != '"' {
			return errors.New("method must be a string")
		}
		t, err := s.dec.ReadToken()
		if err != nil {
			return err
		}
		if m.Method = t.String(); m.Method == "" {
			return errors.New("method must not be empty")
		}
		return nil
	case "jsonrpc":
		if err := twice(&seen.jsonrpc); err != nil {
			return err
		}
		v, err := s.value(frame)
		if err == nil && string(v) != `"2.0"` {
			err = errors.New(`jsonrpc must be "2.0"`)
		}
		return err
	default:
		return s.dec.SkipValue()
	}
	if err := twice(flag); err != nil {
		return err
	}
	v, err := s.value(frame)
	if err != nil {
		return err
	}
	*into = v
	if name == "id" {
		return checkID(v)
	}
	return nil
}

// params reads the value of params and, where it is an object, its members.
func (s *splitter) params(frame []byte, m *Message) error {
	if s.dec.PeekKind() != '{' {
		v, err := s.value(frame)
		m.Params = v
		return err
	}
	if _, err := s.dec.ReadToken(); err != nil {
		return err
	}
	start := int(s.dec.InputOffset()) - 1
	for s.dec.PeekKind() != '}' {
		name, err := s.dec.ReadToken()
		if err != nil {
			return err
		}
		n := name.String()
		v, err := s.value(frame)
		if err != nil {
			return err
		}
		m.Members = append(m.Members, Member{n, v})
	}
	if _, err := s.dec.ReadToken(); err != nil {
		return err
	}
	m.Params = frame[start:s.dec.InputOffset()]
	return nil
}

// checkID holds an id to what JSON-RPC and MCP allow: a string or a number.
// Its text is its identity: 1, 1.0 and "1" are three ids.
func checkID(v []byte) error {
	switch v[0] {
	case '"', '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		if len(v) > maxID {
			return errors.New("id is too long")
		}
		return nil
	case 'n':
		return errors.New("id must not be null")
	}
	return errors.New("id must be a string or a number")
}

// maxID bounds an id, in bytes of JSON.
const maxID = 1024

// Members calls yield for each member of the JSON object raw, in order, with
// its decoded name and raw value (a part of raw), until yield returns false.
// The object is read leniently. raw that is no object is an error.
func Members(raw []byte, yield func(name string, value []byte) bool) error {
	s := splitters.Get().(*splitter)
	defer s.free()
	s.reset(raw, false)
	if s.dec.PeekKind() != '{' {
		return errors.New("not an object")
	}
	if _, err := s.dec.ReadToken(); err != nil {
		return err
	}
	for s.dec.PeekKind() != '}' {
		name, err := s.dec.ReadToken()
		if err != nil {
			return err
		}
		n := name.String()
		v, err := s.value(raw)
		if err != nil {
			return err
		}
		if !yield(n, v) {
			return nil
		}
	}
	return nil
}

// Elements calls yield for each element of the JSON array raw, in order, as a
// part of raw, until yield returns false. raw that is no array is an error.
func Elements(raw []byte, yield func(value []byte) bool) error {
	s := splitters.Get().(*splitter)
	defer s.free()
	s.reset(raw, false)
	if s.dec.PeekKind() != '[' {
		return errors.New("not an array")
	}
	if _, err := s.dec.ReadToken(); err != nil {
		return err
	}
	for s.dec.PeekKind() != ']' {
		v, err := s.value(raw)
		if err != nil {
			return err
		}
		if !yield(v) {
			return nil
		}
	}
	return nil
}

// Get returns the raw value of the first member called name of the object
// raw, nil where there is none or raw is no object.
func Get(raw []byte, name string) []byte {
	var found []byte
	_ = Members(raw, func(n string, v []byte) bool {
		if n == name {
			found = v
		}
		return found == nil
	})
	return found
}

// String decodes a raw JSON string; ok is false where raw is none.
func String(raw []byte) (text string, ok bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	b, err := jsontext.AppendUnquote(nil, raw)
	if err != nil {
		return "", false
	}
	return string(b), true
}

func reason(err error) string {
	var se *jsontext.SyntacticError
	if errors.As(err, &se) {
		text := "invalid JSON"
		if se.Err != nil {
			text = se.Err.Error()
		}
		if se.JSONPointer != "" {
			text += " at " + string(se.JSONPointer)
		}
		return text
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return "the line ends in the middle of a value"
	}
	return err.Error()
}
