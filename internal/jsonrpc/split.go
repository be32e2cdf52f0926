package jsonrpc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"mcphub/internal/jsonrpc/broken"
	"mcphub/internal/printable"
)

// A SyntaxError reports why a frame cannot be taken. Code is what to refuse it
// with: [CodeParse] for what is no JSON, [CodeInvalidParams] for JSON that has
// more than one reading (duplicate names, invalid UTF-8, lone surrogates) or is
// too deep, [CodeInvalidRequest] for what is no message.
type SyntaxError struct {
	Reason string
	Code   int64
}

func (e *SyntaxError) Error() string { return e.Reason }

// shapeError returns a SyntaxError of the envelope, not of the JSON.
func shapeError(text string) error { return &SyntaxError{text, CodeInvalidRequest} }

// ErrBatch is matched by the error of Split for an array.
var ErrBatch error = &SyntaxError{"a batch is not supported here (2025-03-26 alone has them): send one message at a time", CodeInvalidRequest}

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

func (s *splitter) resetTo(b []byte, strict bool) {
	s.src = *bytes.NewBuffer(b)
	if strict {
		s.dec.Reset(&s.src, strictOptions...)
	} else {
		s.dec.Reset(&s.src, lenientOptions...)
	}
}

func (s *splitter) freeSplitter() {
	s.src = bytes.Buffer{}
	s.dec.Reset(&s.src)
	splitters.Put(s)
}

// readValue reads the next value and returns the part of b that holds it. The
// capacity of what it returns reaches to the end of b: offset counts on that.
func (s *splitter) readValue(b []byte) ([]byte, error) {
	v, err := s.dec.ReadValue()
	if err != nil {
		return nil, err
	}
	end := int(s.dec.InputOffset())
	return b[end-len(v) : end], nil
}

// readName reads the name of a member. Frequent names cost no memory.
func (s *splitter) readName() (string, error) {
	v, err := s.dec.ReadValue()
	if err != nil {
		return "", err
	}
	if v[0] != '"' {
		return "", errors.New("object member name must be a string")
	}
	if bytes.IndexByte(v, '\\') >= 0 || !utf8.Valid(v) {
		b, _ := jsontext.AppendUnquote(nil, v) // its only error is bad UTF-8, which is replaced
		return string(b), nil
	}
	return knownName(v[1 : len(v)-1]), nil
}

// readPair reads a name and the value that it has.
func (s *splitter) readPair(b []byte) (name string, value []byte, err error) {
	if name, err = s.readName(); err == nil {
		value, err = s.readValue(b)
	}
	return name, value, err
}

// knownName returns name as a string.
func knownName(name []byte) string {
	for _, known := range knownNames {
		if string(name) == known {
			return known
		}
	}
	return string(name)
}

var (
	knownNames   = [...]string{"jsonrpc", "id", "method", "params", "result", "error", "name", "arguments", "_meta", "progressToken", "progress"}
	knownMethods = [...]string{"tools/call", "ping", "notifications/progress", "notifications/message", methodCancelled}
)

// Split reads one frame into m, which it overwrites (the capacity of
// m.Members is kept). A strict frame must be JSON with unique names and valid
// UTF-8 throughout; of a lenient one only the names of the envelope must be
// unique. The error is a *SyntaxError.
func Split(frame []byte, strict bool, m *Message) error {
	if plainFrame(frame, strict, m) {
		return nil
	}
	err := splitFrame(frame, strict, m)
	if err == nil {
		return nil
	}
	var se *SyntaxError
	if !errors.As(err, &se) {
		se = &SyntaxError{errorReason(err), CodeParse}
		// Is it JSON when read less strictly?
		if tooDeep(err) || strict && wellFormed(frame) {
			se.Code = CodeInvalidParams
		}
	}
	*m = Message{Members: m.Members[:0]}
	return se
}

// wellFormed reports whether line is one JSON value of any kind.
func wellFormed(line []byte) bool {
	return jsontext.Value(line).IsValid(lenientOptions...)
}

func splitFrame(frame []byte, strict bool, m *Message) error {
	*m = Message{Frame: frame, Members: m.Members[:0]}
	s := splitters.Get().(*splitter)
	defer s.freeSplitter()
	s.resetTo(frame, strict)
	if k := s.dec.PeekKind(); k != '{' {
		if k == '[' && wellFormed(frame) { // what is wrong with one of its messages is said of that
			return ErrBatch
		}
		if _, err := s.dec.ReadValue(); err != nil {
			return err
		}
		if err := s.readEnd(); err != nil {
			return err
		}
		return shapeError("a message must be a JSON object")
	}
	var seen memberSet
	if err := s.readObject(frame, m, &seen); err != nil {
		return err
	}
	if err := s.readEnd(); err != nil {
		return err
	}
	switch {
	case seen.bad != nil:
		return seen.bad
	case strict && !seen.hasMember(memberVersion):
		return shapeError(`jsonrpc must be "2.0"`)
	case strict && m.Method != "" && (m.Result != nil || m.Error != nil):
		return shapeError("a message is a request or an answer, not both")
	case !strict && m.Result != nil && m.Error != nil:
		dropNull(m)
	}
	return nil
}

// readEnd reads the end of the frame.
func (s *splitter) readEnd() error {
	if _, err := s.dec.ReadToken(); !errors.Is(err, io.EOF) {
		if err == nil {
			err = errors.New("data after the message")
		}
		return err
	}
	return nil
}

// dropNull removes the null from an answer that has both result and error, as in
// JSON-RPC 1.0.
func dropNull(m *Message) {
	switch {
	case string(m.Error) == "null":
		m.Error = nil
	case string(m.Result) == "null":
		m.Result = nil
	}
}

func (s *splitter) readObject(frame []byte, m *Message, seen *memberSet) error {
	if _, err := s.dec.ReadToken(); err != nil {
		return err
	}
	for s.dec.PeekKind() != '}' {
		name, err := s.readName()
		if err != nil {
			return err
		}
		if err := s.readMember(name, frame, m, seen); err != nil {
			return err
		}
	}
	_, err := s.dec.ReadToken()
	return err
}

// memberSet holds which members of the envelope have been seen, and what
// was wrong with the first bad one: the rest is still read, since a frame
// that is no JSON at all is refused as that.
type memberSet struct {
	bits uint8
	bad  error
}

const (
	memberVersion = 1 << iota
	memberID
	memberMethod
	memberParams
	memberResult
	memberError

	ofRequest = memberVersion | memberID | memberMethod | memberParams
	ofAnswer  = memberVersion | memberID | memberResult | memberError
)

func (s *memberSet) hasMember(bit uint8) bool { return s.bits&bit != 0 }

func (s *memberSet) addMember(bit uint8, name string) {
	if s.hasMember(bit) && s.bad == nil {
		s.bad = &SyntaxError{"duplicate member " + name, CodeInvalidParams}
	}
	s.bits |= bit
}

func (s *memberSet) checkError(err error) {
	if s.bad == nil {
		s.bad = err
	}
}

func (s *splitter) readMember(name string, frame []byte, m *Message, seen *memberSet) error {
	if name == "params" {
		seen.addMember(memberParams, name)
		return s.readParams(frame, m, seen)
	}
	v, err := s.readValue(frame)
	if err != nil {
		return err
	}
	bit, bad := m.setMember([]byte(name), v)
	seen.addMember(bit, name)
	seen.checkError(bad)
	return nil
}

func isText(value []byte, want string) bool {
	text, ok := String(value)
	return ok && text == want
}

// setMember enters a member of the envelope, and reports which it is and what is wrong with
// its value. bit is 0 for a name that the envelope does not have.
func (m *Message) setMember(name, value []byte) (bit uint8, bad error) {
	switch string(name) {
	case "jsonrpc":
		if string(value) != `"2.0"` && !isText(value, "2.0") { // it may be written with escapes
			bad = shapeError(`jsonrpc must be "2.0"`)
		}
		return memberVersion, bad
	case "id":
		m.ID = value
		return memberID, checkID(value)
	case "method":
		m.Method, bad = methodName(value)
		return memberMethod, bad
	case "params":
		m.Params = value
		return memberParams, nil
	case "result":
		m.Result = value
		return memberResult, nil
	case "error":
		m.Error = value
		return memberError, nil
	}
	return 0, nil
}

func methodName(v []byte) (string, error) {
	if v[0] != '"' {
		return "", shapeError("method must be a string")
	}
	for _, known := range knownMethods {
		if string(v[1:len(v)-1]) == known {
			return known, nil
		}
	}
	b, _ := jsontext.AppendUnquote(nil, v) // as in name
	if len(b) == 0 {
		return "", shapeError("method must not be empty")
	}
	return string(b), nil
}

// maxMembers bounds the members of params. MCP has a handful; a list of
// millions would cost many times the memory of its frame.
const maxMembers = 1024

// readParams reads the value of params and, if it is an object, its members.
func (s *splitter) readParams(frame []byte, m *Message, seen *memberSet) error {
	m.Members = m.Members[:0]
	if s.dec.PeekKind() != '{' {
		v, err := s.readValue(frame)
		m.Params = v
		return err
	}
	if _, err := s.dec.ReadToken(); err != nil {
		return err
	}
	start := int(s.dec.InputOffset()) - 1
	for s.dec.PeekKind() != '}' {
		n, v, err := s.readPair(frame)
		if err != nil {
			return err
		}
		if len(m.Members) == maxMembers {
			seen.checkError(&SyntaxError{"params has too many members", CodeInvalidParams})
			continue
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
		return nil
	case 'n':
		return shapeError("id must not be null")
	}
	return shapeError("id must be a string or a number")
}

// DefaultIDLimit bounds the id of a request, in bytes of JSON, if nothing else is
// said.
const DefaultIDLimit = broken.MaxID

// LongID returns what is wrong with the id of a request that has more bytes
// than limit, 0 for DefaultIDLimit; "" if it has not.
func (m *Message) LongID(limit int) string {
	if limit <= 0 {
		limit = DefaultIDLimit
	}
	if !m.IsRequest() || len(m.ID) <= limit {
		return ""
	}
	return fmt.Sprintf("refused: the id has %d bytes, more than %d (\"limits\": {\"id\": ...} in hub.json)", len(m.ID), limit)
}

// Members calls yield for each member of the JSON object raw, in order, with
// its decoded name and raw value (a part of raw), until yield returns false.
// Duplicate names and invalid UTF-8 are tolerated. raw that is no object is an error.
func Members(raw []byte, yield func(name string, value []byte) bool) error {
	if len(raw) == 0 { // often there is no such member
		return errNoObject
	}
	told, over := tellPlainMembers(raw, yield)
	if over {
		return nil
	}
	return tellMembers(raw, told, yield)
}

// tellMembers works like Members for the members behind the first ones, of which told were told already.
func tellMembers(raw []byte, told int, yield func(name string, value []byte) bool) error {
	s := splitters.Get().(*splitter)
	defer s.freeSplitter()
	s.resetTo(raw, false)
	if s.dec.PeekKind() != '{' {
		return errNoObject
	}
	if _, err := s.dec.ReadToken(); err != nil {
		return err
	}
	for s.dec.PeekKind() != '}' {
		n, v, err := s.readPair(raw)
		if err != nil {
			return err
		}
		if told--; told < 0 && !yield(n, v) {
			return nil
		}
	}
	return nil
}

var errNoObject = errors.New("not an object")

// MembersOf returns the members of an object; none of what is no object.
func MembersOf(raw []byte) (members []Member) {
	_ = Members(raw, func(name string, value []byte) bool {
		members = append(members, Member{Name: name, Value: value})
		return true
	})
	return members
}

// Find returns the raw value of the first of these members that is called name; nil if there is none.
func Find(members []Member, name string) []byte {
	for i := range members {
		if members[i].Name == name {
			return members[i].Value
		}
	}
	return nil
}

// AppendMembers works like AppendMember for the members of a raw object whose names pass.
func AppendMembers(b, object []byte, pass func(name string) bool) []byte {
	_ = Members(object, func(name string, value []byte) bool {
		if pass(name) {
			b = AppendMember(b, name, value)
		}
		return true
	})
	return b
}

// Without returns a raw object without these members; nil if nothing else is in it.
func Without(object []byte, names ...string) []byte {
	b := AppendMembers([]byte{'{'}, object, func(name string) bool { return !slices.Contains(names, name) })
	if len(b) == 1 {
		return nil
	}
	return append(b, '}')
}

// Elements calls yield for each element of the JSON array raw, in order, as a
// part of raw, until yield returns false. raw that is no array is an error.
func Elements(raw []byte, yield func(value []byte) bool) error {
	s := splitters.Get().(*splitter)
	defer s.freeSplitter()
	s.resetTo(raw, false)
	if s.dec.PeekKind() != '[' {
		return errors.New("not an array")
	}
	if _, err := s.dec.ReadToken(); err != nil {
		return err
	}
	for s.dec.PeekKind() != ']' {
		v, err := s.readValue(raw)
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
// raw, nil if there is none or raw is no object.
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

// GetString returns the text of a member that is a string.
func GetString(raw []byte, name string) (text string, ok bool) { return String(Get(raw, name)) }

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

// tooDeep reports whether the decoder gave up on nesting.
func tooDeep(err error) bool {
	var se *jsontext.SyntacticError
	return errors.As(err, &se) && se.Err != nil && se.Err.Error() == "exceeded max depth"
}

func errorReason(err error) string {
	if se, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		text := "invalid JSON"
		if se.Err != nil {
			text = se.Err.Error()
		}
		if se.JSONPointer != "" {
			text += " at " + printable.Clip(string(se.JSONPointer), 200)
		}
		return text
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return "the line ends in the middle of a value"
	}
	return err.Error()
}

// IsObject reports whether a raw value is an object.
func IsObject(raw []byte) bool { return len(raw) > 0 && raw[0] == '{' }
