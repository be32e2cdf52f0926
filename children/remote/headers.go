package remote

import (
	"fmt"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"

	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
	"mcphub/internal/mirror"
)

// This file mirrors parts of a request into HTTP headers (2026-07-28,
// basic/transports/streamable-http, Request Metadata).

// marked knows which arguments of which tool go into headers.
type marked struct {
	by atomic.Pointer[map[string][]mirror.Mark]
}

// learnTools takes in a list of tools. Those whose marks break the rules are left out,
// and odd reports why: the one who called one could not send what its server wants.
func (m *marked) learnTools(tools [][]byte) (good [][]byte, odd []string) {
	by := map[string][]mirror.Mark{}
	good = make([][]byte, 0, len(tools))
	for _, raw := range tools {
		name, _ := jsonrpc.GetString(raw, "name")
		marks, err := mirror.Marks(jsonrpc.Get(raw, "inputSchema"))
		if err != nil {
			odd = append(odd, fmt.Sprintf("the tool %.100q is left out: its inputSchema: %v", name, err))
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

// marksOf returns what of a call of a tool goes into headers.
func (m *marked) marksOf(tool string) []mirror.Mark {
	if by := m.by.Load(); by != nil {
		return (*by)[tool]
	}
	return nil
}

// headersOf returns the headers of a request, computed from the very params that
// are sent.
func (m *marked) headersOf(method string, params []byte) map[string]string {
	out := map[string]string{mcp.HeaderMethod: mirror.Encode(method)}
	member := methods.Of(method).Header
	name, ok := jsonrpc.GetString(params, member)
	if member == "" || !ok {
		return out
	}
	out[mcp.HeaderName] = mirror.Encode(name)
	if method != methods.CallTool {
		return out
	}
	for _, mark := range m.marksOf(name) {
		if text, ok := mirror.Text(mark.Value(jsonrpc.Get(params, "arguments"))); ok {
			out[mark.Header] = mirror.Encode(text)
		}
	}
	return out
}
