package modern

import (
	"bytes"

	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
)

// HandshakeEdits give a result of this era the shape of the handshake's. They take out of a result that it is complete, which server it came
// from, and, if results of the method are cached, how long it may be kept. structuredContent of a tool that is no object goes too, since such a client
// would drop the whole result for it.
func HandshakeEdits(result []byte, method string) []jsonrpc.Edit {
	var head resultHead
	head.readHead(result)
	if head.structured != nil && head.structured[0] != '{' && method == methods.CallTool {
		plain := withoutStructured(result, head.structured)
		return []jsonrpc.Edit{{Old: result, With: jsonrpc.Join(jsonrpc.Splice(plain, HandshakeEdits(plain, method)...))}}
	}
	cached := methods.Of(method).Cacheable
	named := jsonrpc.Get(head.meta, MetaServer) != nil
	complete := string(head.kind) == `"complete"`
	if !complete && !named && !(cached && (head.ttl != nil || head.scope != nil)) {
		return nil
	}
	empty := true // _meta, once that is gone
	_ = jsonrpc.Members(head.meta, func(name string, _ []byte) bool {
		empty = name == MetaServer
		return empty
	})
	edits := cutMembers(result, func(name string) bool {
		switch name {
		case "resultType":
			return complete
		case "ttlMs", "cacheScope":
			return cached
		case "_meta":
			return named && empty
		}
		return false
	})
	if named && !empty {
		edits = append(edits, cutMembers(head.meta, func(name string) bool { return name == MetaServer })...)
	}
	return edits
}

// withoutStructured returns a result without structuredContent, which becomes a text if there is no content beside it.
func withoutStructured(result, structured []byte) []byte {
	some := false
	_ = jsonrpc.Elements(jsonrpc.Get(result, "content"), func([]byte) bool {
		some = true
		return false
	})
	b := jsonrpc.AppendMembers([]byte{'{'}, result, func(name string) bool { return name != "structuredContent" && (some || name != "content") })
	if !some {
		text := append(jsonrpc.AppendString([]byte(`[{"type":"text","text":`), string(structured)), `}]`...)
		b = jsonrpc.AppendMember(b, "content", text)
	}
	return append(b, '}')
}

// cutMembers returns the edits that take members out of a raw object, each with one
// comma. All other bytes stay.
func cutMembers(object []byte, out func(name string) bool) (edits []jsonrpc.Edit) {
	end := bytes.IndexByte(object, '{') + 1 // of the member before
	kept := false
	_ = jsonrpc.Members(object, func(name string, value []byte) bool {
		from, at := end, cap(object)-cap(value)
		end = at + len(value)
		comma := bytes.IndexByte(object[from:at], ',') // before the name; none before the first
		switch quote := bytes.IndexByte(object[from:at], '"'); {
		case out(name):
			edits = append(edits, jsonrpc.Edit{Old: object[from:end]})
		case !kept && comma >= 0 && comma < quote:
			edits = append(edits, jsonrpc.Edit{Old: object[from+comma : from+comma+1]})
			kept = true
		default:
			kept = true
		}
		return true
	})
	return edits
}
