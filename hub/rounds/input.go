package rounds

import (
	"bytes"
	"fmt"

	"github.com/google/uuid"

	"mcphub/children/link"
	"mcphub/hub/modern"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
	"mcphub/internal/printable"
)

// This file reads what a child asks for by its result, and puts it as its client
// is asked.

// AsksForInput reports whether a result asks for input.
func AsksForInput(result []byte) bool {
	if !bytes.Contains(result, []byte(link.ResultInput)) && !bytes.Contains(result, []byte(`\u`)) {
		return false // as mostly; a name or value may be spelled in escapes
	}
	kind, _ := jsonrpc.GetString(result, "resultType")
	return kind == link.ResultInput
}

// An input is one thing that a child asks for.
type input struct {
	key    string
	method string
	params []byte // raw, nil if there are none
	raw    []byte // the request as it stands
}

// A demand is a result that asks for input.
type demand struct {
	inputs []input
	state  []byte // requestState, a raw string; nil for none
	meta   []byte // _meta, raw; nil for none
}

// readInput reads a result that asks for input.
func readInput(result []byte) (demand, error) {
	var a demand
	seen := map[string]bool{}
	var failed error
	a.state, a.meta = jsonrpc.Get(result, modern.MemberState), jsonrpc.Get(result, "_meta")
	requests := jsonrpc.Get(result, modern.MemberRequests)
	switch {
	case a.state == nil && requests == nil:
		return a, badInput("it asks for input without saying what for: a result of this kind needs inputRequests or requestState")
	case a.state != nil && a.state[0] != '"':
		return a, badInput("its requestState is no string")
	case len(a.state) > maxState:
		return a, badInput("its requestState has %d bytes, more than %d", len(a.state), maxState)
	case requests == nil:
		return a, nil
	}
	err := jsonrpc.Members(requests, func(key string, value []byte) bool {
		in := input{key: key, raw: value, params: jsonrpc.Get(value, "params")}
		var ok bool
		in.method, ok = jsonrpc.GetString(value, "method")
		switch {
		case seen[key]:
			failed = badInput("it asks for two things under the same key %s", printable.Quote(key))
		case len(a.inputs) == maxInputs:
			failed = badInput("it asks for more than %d things at a time", maxInputs)
		case !ok || in.method != methods.ListRoots && in.method != methods.Elicit && in.method != methods.Sample:
			failed = badInput("it asks for %s, which is not for a server to ask", printable.Quote(in.method))
		case in.params != nil && !jsonrpc.IsObject(in.params):
			failed = badInput("what it asks for under %s has params that are no object", printable.Quote(key))
		case in.params == nil && in.method != methods.ListRoots:
			failed = badInput("what it asks for under %s has no params", printable.Quote(key))
		case jsonrpc.Get(in.params, "task") != nil:
			failed = badInput("what it asks for under %s is to be a task, which this protocol version does not have", printable.Quote(key))
		}
		seen[key] = true
		a.inputs = append(a.inputs, in)
		return failed == nil
	})
	if err != nil {
		return a, badInput("its inputRequests are no object")
	}
	return a, failed
}

// questionMessage returns the question as a child of the other era would ask it.
func (in *input) questionMessage() *jsonrpc.Message {
	return &jsonrpc.Message{Method: in.method, Params: in.params, Members: jsonrpc.MembersOf(in.params)}
}

// addElicitationID makes a question one of 2025-11-25: there a URL has an id, by which its
// end could be told.
func addElicitationID(m *jsonrpc.Message) error {
	if mode, _ := jsonrpc.String(m.Param("mode")); m.Method != methods.Elicit || mode != "url" || m.Param("elicitationId") != nil {
		return nil
	}
	id, err := uuid.NewRandom()
	if err != nil {
		return fmt.Errorf("no id for a question: %w", err)
	}
	rest := bytes.TrimSpace(m.Params[1:]) // not empty: mode is there
	m.Params = append(append(jsonrpc.AppendString([]byte(`{"elicitationId":`), id.String()), ','), rest...)
	m.Members = (&input{method: m.Method, params: m.Params}).questionMessage().Members
	return nil
}

// forwardedResult returns what a client of the child's own era is asked: what the hub
// does not answer itself. The state has the child's, and under which keys the roots go.
func forwardedResult(asked demand, others []input) []byte {
	b := []byte(`{"resultType":"input_required","inputRequests":{`)
	for _, in := range others {
		b = jsonrpc.AppendMember(b, in.key, in.raw)
	}
	b = append(b, `},"requestState":[`...)
	if asked.state == nil {
		b = append(b, "null"...)
	}
	b = append(b, asked.state...)
	for _, in := range asked.inputs {
		if in.method == methods.ListRoots {
			b = jsonrpc.AppendString(append(b, ','), in.key)
		}
	}
	b = append(b, ']')
	if jsonrpc.IsObject(asked.meta) {
		b = append(append(b, `,"_meta":`...), asked.meta...)
	}
	return append(b, '}')
}
