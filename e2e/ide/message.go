package ide

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// Message is one line that the server wrote. The members are its raw values, nil where absent.
type Message struct {
	Raw                               []byte // the line without its end
	ID, Params, Result, Error         json.RawMessage
	Method                            string
	Fault                             string // why this line is no JSON-RPC message; "" when it is one
	isRequest, isAnswer, notification bool
}

// IsRequest reports whether the server wants an answer to m.
func (m Message) IsRequest() bool { return m.isRequest }

// IsAnswer reports whether m answers a request.
func (m Message) IsAnswer() bool { return m.isAnswer }

// IsNotification reports whether m has a method and no id.
func (m Message) IsNotification() bool { return m.notification }

// Parse reads one line. It never fails: what is wrong with a line is in Fault.
func Parse(line []byte) Message {
	m := Message{Raw: line}
	// A map and not a struct: encoding/json matches the names of a struct in any case.
	var members map[string]json.RawMessage
	if err := json.Unmarshal(line, &members); err != nil {
		m.Fault = "not a JSON object: " + err.Error()
		return m
	}
	m.ID, m.Params, m.Result, m.Error = members["id"], members["params"], members["result"], members["error"]
	if string(members["jsonrpc"]) != `"2.0"` {
		m.Fault = `"jsonrpc" is not "2.0"`
		return m
	}
	if raw, ok := members["method"]; ok {
		if err := json.Unmarshal(raw, &m.Method); err != nil {
			m.Fault = `"method" is not a string`
			return m
		}
		m.isRequest, m.notification = m.ID != nil, m.ID == nil
		if m.Result != nil || m.Error != nil {
			m.Fault = "both a method and an outcome"
		}
		return m
	}
	m.isAnswer = true
	switch {
	case (m.Result == nil) == (m.Error == nil):
		m.Fault = "not exactly one of result and error"
	case m.ID == nil:
		m.Fault = "an answer without an id"
	case string(m.ID) == "null" && m.Error == nil:
		m.Fault = "a result for the id null"
	}
	return m
}

// RPCError is the error member of an answer.
type RPCError struct {
	Code    int64           `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

// RPCError gives the error of an answer; false when there is none.
func (m Message) RPCError() (RPCError, bool) {
	var e RPCError
	if m.Error == nil {
		return e, false
	}
	if err := json.Unmarshal(m.Error, &e); err != nil {
		e.Message = fmt.Sprintf("unreadable error member %s: %v", m.Error, err)
	}
	return e, true
}

// ToolResult is what a test mostly wants of the answer to a tools/call.
type ToolResult struct {
	Message
	IsError    bool
	Text       string // the text parts, one line each
	Structured json.RawMessage
}

func toolResult(m Message) (ToolResult, error) {
	r := ToolResult{Message: m}
	if e, failed := m.RPCError(); failed {
		return r, fmt.Errorf("JSON-RPC error %d: %s", e.Code, e.Message)
	}
	var body struct {
		Content           []json.RawMessage `json:"content"`
		IsError           bool              `json:"isError"`
		StructuredContent json.RawMessage   `json:"structuredContent"`
	}
	if err := json.Unmarshal(m.Result, &body); err != nil {
		return r, fmt.Errorf("unreadable tool result %s: %w", clip(m.Result), err)
	}
	r.IsError, r.Structured = body.IsError, body.StructuredContent
	var texts []string
	for _, c := range body.Content {
		var part struct{ Type, Text string }
		if json.Unmarshal(c, &part) == nil && part.Type == "text" {
			texts = append(texts, part.Text)
		}
	}
	r.Text = strings.Join(texts, "\n")
	return r, nil
}

func clip(b []byte) []byte {
	const most = 400
	if len(b) <= most {
		return b
	}
	return append(bytes.Clone(b[:most]), "..."...)
}
