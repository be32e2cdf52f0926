package hub

import (
	"bytes"

	"mcphub/children"
	"mcphub/internal/jsonrpc"
)

// This file gives the results of children of the modern era the shape of the
// other one: what only that era has is cut out of the bytes.

// cachedMethods are those whose results say in the modern era how long they may
// be kept; the lists are put together by the hub itself.
var cachedMethods = map[string]bool{"resources/read": true}

// settle gives the answer of a child to a request the shape of its client's era,
// as far as the child's may be another.
func settle(lease *children.Lease, method string, resp *jsonrpc.Response) jsonrpc.Answer {
	a := resp.Answer()
	if !lease.Modern() || a.Error != nil {
		return a
	}
	edits := handshakeEdits(a.Result, cachedMethods[method])
	if len(edits) == 0 {
		return a
	}
	raw := join(splice(a.Result, edits...))
	if a.Release != nil {
		a.Release()
	}
	return jsonrpc.ResultAnswer(raw)
}

// handshakeEdits take out of a result that it is complete, which server it came
// from, and, where it is cached, how long it may be kept.
func handshakeEdits(result []byte, cached bool) []edit {
	var head resultHead
	head.read(result)
	named := jsonrpc.Get(head.meta, metaServer) != nil
	complete := string(head.kind) == `"complete"`
	if !complete && !named && !(cached && (head.ttl != nil || head.scope != nil)) {
		return nil
	}
	empty := true // _meta, once that is gone
	_ = jsonrpc.Members(head.meta, func(name string, _ []byte) bool {
		empty = name == metaServer
		return empty
	})
	edits := cut(result, func(name string) bool {
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
		edits = append(edits, cut(head.meta, func(name string) bool { return name == metaServer })...)
	}
	return edits
}

// cut returns the edits that take members out of a raw object, each with one
// comma. All other bytes stay.
func cut(object []byte, out func(name string) bool) (edits []edit) {
	end := bytes.IndexByte(object, '{') + 1 // of the member before
	kept := false
	_ = jsonrpc.Members(object, func(name string, value []byte) bool {
		from, at := end, cap(object)-cap(value)
		end = at + len(value)
		comma := bytes.IndexByte(object[from:at], ',') // before the name; none before the first
		switch quote := bytes.IndexByte(object[from:at], '"'); {
		case out(name):
			edits = append(edits, edit{Old: object[from:end]})
		case !kept && comma >= 0 && comma < quote:
			edits = append(edits, edit{Old: object[from+comma : from+comma+1]})
			kept = true
		default:
			kept = true
		}
		return true
	})
	return edits
}
