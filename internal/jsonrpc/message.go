package jsonrpc

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"mcphub/internal/printable"
)

// Error codes of JSON-RPC 2.0, section 5.1.
const (
	CodeParse          = -32700
	CodeInvalidRequest = -32600
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternal       = -32603
)

const methodCancelled = "notifications/cancelled"

// A Member is one member of an object: its decoded name and its raw value.
type Member struct {
	Name  string
	Value []byte
}

// A Message is one frame, split. ID, Params, Result and Error are raw JSON
// values that alias Frame; nil means that the member is absent. Members holds
// the members of Params when it is an object, in the order sent, so that a
// relay need not read a large argument a second time to find its name. None
// of the parts may be appended to or written to: what lies behind is the next
// one.
type Message struct {
	Frame   []byte
	ID      []byte
	Method  string
	Params  []byte
	Result  []byte
	Error   []byte
	Members []Member
}

// IsRequest reports whether m asks for an answer.
func (m *Message) IsRequest() bool { return m.Method != "" && m.ID != nil }

// IsNotification reports whether m is a method call without an id.
func (m *Message) IsNotification() bool { return m.Method != "" && m.ID == nil }

// IsResponse reports whether m answers a request.
func (m *Message) IsResponse() bool { return m.Method == "" && m.ID != nil }

// Param returns the raw value of one member of Params, nil when absent.
func (m *Message) Param(name string) []byte { return Find(m.Members, name) }

// Offset returns where value, a part of Params or of one of its members,
// begins within Params.
func (m *Message) Offset(value []byte) int { return offsetOf(m.Params, value) }

func offsetOf(whole, part []byte) int { return cap(whole) - cap(part) }

// movedPart returns where part, a part of m.Frame, is in frame, a copy of it.
func (m *Message) movedPart(frame, part []byte) []byte {
	if part == nil {
		return nil
	}
	at := offsetOf(m.Frame, part)
	return frame[at : at+len(part)]
}

// rebaseOn returns m with its parts in frame, a copy of m.Frame or its buffer.
func (m *Message) rebaseOn(frame []byte) *Message {
	c := &Message{
		Frame: frame, ID: m.movedPart(frame, m.ID), Method: m.Method,
		Params: m.movedPart(frame, m.Params), Result: m.movedPart(frame, m.Result), Error: m.movedPart(frame, m.Error),
	}
	if len(m.Members) > 0 {
		c.Members = make([]Member, len(m.Members))
		for i, mb := range m.Members {
			c.Members[i] = Member{mb.Name, m.movedPart(frame, mb.Value)}
		}
	}
	return c
}

// forgetFrame lets go of the frame, and keeps the room for members.
func (m *Message) forgetFrame() {
	members := m.Members
	if cap(members) > 64 {
		members = nil
	}
	clear(members[:cap(members)])
	*m = Message{Members: members[:0]}
}

// An Error is a JSON-RPC error object. Data is raw JSON or nil.
type Error struct {
	Code    int64
	Message string
	Data    []byte
}

// Error returns a text to be read; Message is as the other side sent it.
func (e *Error) Error() string {
	return fmt.Sprintf("%s (code %d)", printable.Clean(e.Message), e.Code)
}

// Raw returns e as a JSON object.
func (e *Error) Raw() []byte {
	b := append([]byte(nil), `{"code":`...)
	b = strconv.AppendInt(b, e.Code, 10)
	b = append(b, `,"message":`...)
	b = AppendString(b, e.Message)
	if len(e.Data) > 0 {
		b = append(b, `,"data":`...)
		b = append(b, e.Data...)
	}
	return append(b, '}')
}

// ParseError reads a raw error object. A malformed one becomes an error with
// CodeInternal whose message quotes what was sent: it is still an error.
func ParseError(raw []byte) *Error {
	var e struct {
		Code    *int64          `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(raw, &e); err != nil || e.Code == nil {
		return &Error{Code: CodeInternal, Message: "malformed error object: " + printable.Clip(string(raw), 200)}
	}
	return &Error{Code: *e.Code, Message: e.Message, Data: e.Data}
}

// errorObject is raw if it is an error object, else the Error that ParseError makes of it.
func errorObject(raw []byte) []byte {
	var e struct {
		Code    *int64  `json:"code"`
		Message *string `json:"message"`
	}
	if json.Unmarshal(raw, &e) == nil && e.Code != nil && e.Message != nil {
		return raw
	}
	return ParseError(raw).Raw()
}

// AppendString appends s to b as a JSON string; invalid UTF-8 becomes U+FFFD.
func AppendString(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, s) // its only error is invalid UTF-8, which is replaced
	return b
}

// AppendStrings appends a list of strings to b as a JSON array.
func AppendStrings(b []byte, list []string) []byte {
	b = append(b, '[')
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = AppendString(b, s)
	}
	return append(b, ']')
}

// AppendMember appends a member, its value raw, to b, which ends inside of an
// object: behind the brace that opens it, or behind another member.
func AppendMember(b []byte, name string, value []byte) []byte {
	if b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	return append(append(AppendString(b, name), ':'), value...)
}

// ErrClosed is matched by every error that means that the peer is gone.
var ErrClosed = errors.New("connection closed")

// A ClosedError is returned by calls on a Conn that has ended.
type ClosedError struct {
	Reason error // why
	Unsent bool  // it had ended before the call: no part of the request was written
}

func (e *ClosedError) Error() string {
	if e.Reason == nil {
		return ErrClosed.Error()
	}
	return ErrClosed.Error() + ": " + e.Reason.Error()
}

// Unwrap returns the reason.
func (e *ClosedError) Unwrap() error { return e.Reason }

// Is reports whether target is [ErrClosed].
func (e *ClosedError) Is(target error) bool { return target == ErrClosed }

// EndReason returns the text of what has ended a call. Of a ClosedError it is the reason alone, if there is one.
func EndReason(cause error) string {
	if closed, ok := errors.AsType[*ClosedError](cause); ok && closed.Reason != nil {
		return closed.Reason.Error()
	}
	return cause.Error()
}

// A BrokenError ends a call whose answer arrived in a line that could not be
// read: malformed, over the frame limit, or no response at all.
type BrokenError struct{ Reason string }

func (e *BrokenError) Error() string { return "the peer's answer could not be read: " + e.Reason }

// A CancelledError is the cause of a request's context when the peer sent
// notifications/cancelled for it. Reason is the peer's text, or "".
type CancelledError struct{ Reason string }

func (e *CancelledError) Error() string {
	if e.Reason == "" {
		return "cancelled by the peer"
	}
	return "cancelled by the peer: " + e.Reason
}
