package modern

import (
	"strconv"

	"github.com/mark3labs/mcp-go/mcp"

	"mcphub/internal/jsonrpc"
)

// This file gives answers the shape of this era. What children of the other era
// say is spliced, never decoded.

// Caching describes how long a result may be kept, and by whom (2026-07-28,
// server/utilities/Caching). By the zero value it is not kept.
type Caching struct {
	TTL    int64 // milliseconds
	Public bool
}

// Result makes a result one of this era: resultType, the hub as the server that it came
// from, and where keep is not nil how long it may be kept. typed keeps the
// resultType that the result has; else it is complete, whatever a child put there.
func (s *Server) Result(answer jsonrpc.Answer, keep *Caching, typed bool) jsonrpc.Answer {
	if answer.Error != nil {
		return shapeError(answer)
	}
	if !jsonrpc.IsObject(answer.Result) {
		answer.Free()
		return jsonrpc.AnswerFailure("the answer of the server is no object")
	}
	var head resultHead
	head.readHead(answer.Result)
	var edits []jsonrpc.Edit
	b := []byte{'{'}
	switch {
	case head.kind == nil:
		b = append(b, `"resultType":"complete",`...)
	case !typed && string(head.kind) != `"complete"`:
		edits = append(edits, jsonrpc.Edit{Old: head.kind, With: []byte(`"complete"`)})
	}
	if keep != nil {
		if head.ttl == nil {
			b = append(strconv.AppendInt(append(b, `"ttlMs":`...), keep.TTL, 10), ',')
		} else if !isCount(head.ttl) {
			edits = append(edits, jsonrpc.Edit{Old: head.ttl, With: []byte{'0'}})
		}
		if head.scope == nil {
			b = append(append(append(b, `"cacheScope":`...), keep.rawScope()...), ',')
		} else if !keep.Public && string(head.scope) != keep.rawScope() {
			edits = append(edits, jsonrpc.Edit{Old: head.scope, With: []byte(keep.rawScope())})
		}
	}
	switch {
	case head.meta == nil:
		b = append(append(append(b, `"_meta":{"io.modelcontextprotocol/serverInfo":`...), s.options.Info...), `},`...)
	case jsonrpc.IsObject(head.meta):
		edits = append(edits, jsonrpc.Edit{Old: head.meta, With: namedMeta(s.options.Info, head.meta)})
	}
	open := answer.Result[:1]
	rest := 1 // what follows the brace
	for rest < len(answer.Result) && isBlank(answer.Result[rest]) {
		rest++
	}
	if answer.Result[rest] == '}' && len(b) > 1 {
		b = b[:len(b)-1] // nothing follows
	}
	return answer.WithEdits(append(edits, jsonrpc.Edit{Old: open, With: b})...)
}

// withContent gives the result of a tool empty content if it has none: so SDKs of the era before read it, and those of this one drop it.
func withContent(answer jsonrpc.Answer) jsonrpc.Answer {
	if !jsonrpc.IsObject(answer.Result) || jsonrpc.Get(answer.Result, "content") != nil {
		return answer
	}
	result := jsonrpc.AppendMembers([]byte(`{"content":[]`), answer.Result, func(string) bool { return true })
	answer.Free()
	return jsonrpc.ResultAnswer(append(result, '}'))
}

func isBlank(b byte) bool { return b == ' ' || b == '\t' || b == '\r' || b == '\n' }

// rawScope returns the value of cacheScope, raw.
func (caching Caching) rawScope() string {
	if caching.Public {
		return `"public"`
	}
	return `"private"`
}

// resultHead are the members of a result that this era gave a meaning, raw.
type resultHead struct{ kind, ttl, scope, meta, structured []byte }

func (h *resultHead) readHead(result []byte) {
	_ = jsonrpc.Members(result, func(name string, value []byte) bool {
		switch name {
		case "resultType":
			h.kind = value
		case "ttlMs":
			h.ttl = value
		case "cacheScope":
			h.scope = value
		case "_meta":
			h.meta = value
		case "structuredContent":
			h.structured = value
		}
		return true
	})
}

func isCount(raw []byte) bool {
	n, err := strconv.ParseInt(string(raw), 10, 64)
	return err == nil && n >= 0
}

// IsEndToEnd passes the members of a child's _meta that do not belong to its own hop.
func IsEndToEnd(name string) bool {
	return name != MetaServer && name != MetaVersion && name != MetaSubscription
}

// namedMeta returns _meta of a result with the hub as its server: the name
// that a child gave is of another hop.
func namedMeta(server, meta []byte) []byte {
	b := append([]byte(`{"io.modelcontextprotocol/serverInfo":`), server...)
	return append(jsonrpc.AppendMembers(b, meta, IsEndToEnd), '}')
}

// shapeError gives another code to an error that this era must not send: -32002
// has become -32602, the rest of what is reserved to the specification is an
// internal error of the one who said so (2026-07-28, basic/index, error codes).
func shapeError(answer jsonrpc.Answer) jsonrpc.Answer {
	e := jsonrpc.ParseError(answer.Error)
	code := e.Code
	switch {
	case code == mcp.RESOURCE_NOT_FOUND:
		code = jsonrpc.CodeInvalidParams
	case code == codeURLElicitation:
		code = jsonrpc.CodeInternal
	case code == mcp.MISSING_REQUIRED_CLIENT_CAPABILITY && jsonrpc.IsObject(jsonrpc.Get(e.Data, "requiredCapabilities")):
		// A child describes what the client would have to be able to do: it passes.
	case code <= -32020 && code >= -32099:
		code = jsonrpc.CodeInternal
	}
	if code == e.Code {
		return answer
	}
	out := jsonrpc.Answer{Error: (&jsonrpc.Error{Code: code, Message: e.Message, Data: e.Data}).Raw()}
	answer.Free()
	return out
}

// codeURLElicitation is -32042 of 2025-11-25, which 2026-07-28 must not send.
const codeURLElicitation = -32042
