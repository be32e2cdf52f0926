package children

import (
	"encoding/base64"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"

	"mcphub/internal/jsonrpc"
)

// This file mirrors parts of a request into HTTP headers (2026-07-28,
// basic/transports/streamable-http, Request Metadata).

const mirrorMark = "x-mcp-header"

// A mirrored argument goes into a header: the one at path, where there is one.
type mirrored struct {
	header string
	path   []string
}

// mirror knows which arguments of which tool go into headers. Only over HTTP
// are there headers: elsewhere it learns nothing.
type mirror struct {
	on atomic.Bool
	by atomic.Pointer[map[string][]mirrored]
}

// learn takes in a list of tools. Those whose marks break the rules are left out,
// and odd says why: whoever called one could not send what its server wants.
func (m *mirror) learn(tools [][]byte) (good [][]byte, odd []string) {
	if !m.on.Load() {
		return tools, nil
	}
	by := map[string][]mirrored{}
	good = make([][]byte, 0, len(tools))
	for _, raw := range tools {
		name, _ := jsonrpc.String(jsonrpc.Get(raw, "name"))
		marks, err := marksOf(jsonrpc.Get(raw, "inputSchema"))
		if err != nil {
			odd = append(odd, fmt.Sprintf("the tool %.100q is left out: %s of its inputSchema: %v", name, mirrorMark, err))
			continue
		}
		good = append(good, raw)
		if len(marks) > 0 {
			by[name] = marks
		}
	}
	m.by.Store(&by)
	return good, odd
}

// of returns what of a call of a tool goes into headers.
func (m *mirror) of(tool string) []mirrored {
	if by := m.by.Load(); by != nil {
		return (*by)[tool]
	}
	return nil
}

// maxMarkDepth bounds how deep a schema is looked into for marks, and maxMarks
// how many it may have: each is a header.
const (
	maxMarkDepth = 64
	maxMarks     = 64
)

// marksOf finds the marks of a schema: only such as are reached by properties
// alone count, and a mark elsewhere makes the definition invalid.
func marksOf(schema []byte) ([]mirrored, error) {
	w := markWalk{names: map[string]bool{}}
	if err := w.schema(schema, nil, true, 0); err != nil {
		return nil, err
	}
	return w.found, nil
}

type markWalk struct {
	found []mirrored
	names map[string]bool // in lower case
}

// notSchemas are keywords whose values are data.
var notSchemas = map[string]bool{"default": true, "examples": true, "enum": true, "const": true}

// schema looks at one schema. reached: it is there by properties alone.
func (w *markWalk) schema(raw []byte, path []string, reached bool, depth int) error {
	if depth > maxMarkDepth {
		return fmt.Errorf("the schema is deeper than %d", maxMarkDepth)
	}
	var failed error
	_ = jsonrpc.Members(raw, func(name string, value []byte) bool {
		switch {
		case name == mirrorMark:
			failed = w.mark(raw, value, path, reached)
		case name == "properties":
			_ = jsonrpc.Members(value, func(name string, value []byte) bool {
				failed = w.schema(value, append(path[:len(path):len(path)], name), reached, depth+1)
				return failed == nil
			})
		case !notSchemas[name]:
			failed = w.other(value, depth+1)
		}
		return failed == nil
	})
	return failed
}

// other looks for marks where there may be none.
func (w *markWalk) other(raw []byte, depth int) error {
	if len(raw) == 0 {
		return nil
	}
	switch raw[0] {
	case '{':
		return w.schema(raw, nil, false, depth)
	case '[':
		var failed error
		_ = jsonrpc.Elements(raw, func(v []byte) bool {
			failed = w.other(v, depth+1)
			return failed == nil
		})
		return failed
	}
	return nil
}

func (w *markWalk) mark(schema, value []byte, path []string, reached bool) error {
	name, ok := jsonrpc.String(value)
	kind, _ := jsonrpc.String(jsonrpc.Get(schema, "type"))
	switch {
	case !ok || !isToken(name):
		return fmt.Errorf("%.60q is no name of a header", Plain(string(value)))
	case !reached || len(path) == 0:
		return fmt.Errorf("%q is not reached by properties alone", name)
	case w.names[strings.ToLower(name)]:
		return fmt.Errorf("%q is there twice", name)
	case kind != "string" && kind != "integer" && kind != "boolean":
		return fmt.Errorf("%q is no string, integer or boolean", name)
	case len(w.found) == maxMarks:
		return fmt.Errorf("there are more than %d", maxMarks)
	}
	w.names[strings.ToLower(name)] = true
	w.found = append(w.found, mirrored{mcp.HeaderParamPrefix + name, path})
	return nil
}

// isToken reports whether s may be the name of a header (RFC 9110, 5.1 and
// 5.6.2).
func isToken(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0) {
			return false
		}
	}
	return s != ""
}

// headersOf returns the headers of a request, computed from the very params that
// are sent.
func (m *mirror) headersOf(method string, params []byte) map[string]string {
	out := map[string]string{mcp.HeaderMethod: headerValue(method)}
	name := "name"
	switch method {
	case "resources/read":
		name = "uri"
	case "tasks/get", "tasks/update", "tasks/cancel":
		name = "taskId"
	case "tools/call", "prompts/get":
	default:
		return out
	}
	text, ok := jsonrpc.String(jsonrpc.Get(params, name))
	if !ok {
		return out
	}
	out[mcp.HeaderName] = headerValue(text)
	if method != "tools/call" {
		return out
	}
	for _, mark := range m.of(text) {
		at := jsonrpc.Get(params, "arguments")
		for _, step := range mark.path {
			at = jsonrpc.Get(at, step)
		}
		if value, ok := scalar(at); ok {
			out[mark.header] = headerValue(value)
		}
	}
	return out
}

// scalar is the text of a raw string, boolean or whole number.
func scalar(raw []byte) (string, bool) {
	if text, ok := jsonrpc.String(raw); ok {
		return text, true
	}
	switch text := string(raw); text {
	case "true", "false":
		return text, true
	case "", "null":
		return "", false
	default:
		if _, err := strconv.ParseInt(text, 10, 64); err == nil {
			return text, true
		}
		if f, err := strconv.ParseFloat(text, 64); err == nil && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
			return strconv.FormatInt(int64(f), 10), true
		}
	}
	return "", false
}

// headerValue spells a value for a header: as it is where that can be read back
// as such, else in base64 between marks.
func headerValue(s string) string {
	plain := s != "" && !strings.HasPrefix(s, " ") && !strings.HasSuffix(s, " ") && !strings.HasPrefix(s, "\t") && !strings.HasSuffix(s, "\t") &&
		(!strings.HasPrefix(s, "=?base64?") || !strings.HasSuffix(s, "?="))
	for i := 0; plain && i < len(s); i++ {
		plain = s[i] >= 0x20 && s[i] <= 0x7e || s[i] == '\t'
	}
	if plain || s == "" {
		return s
	}
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(s)) + "?="
}
