package handshake

import (
	"mcphub/children"
	"mcphub/hub/modern"
	"mcphub/internal/jsonrpc"
)

// This file gives the results of children of the modern era the shape of the
// other one: what only that era has is cut out of the bytes.

// cachedMethods are those whose results say in the modern era how long they may
// be kept; the lists are put together by the hub itself.
var cachedMethods = map[string]bool{"resources/read": true}

// answer gives the answer of a child to a request the shape of its client's era,
// as far as the child's may be another.
func answer(lease *children.Lease, method string, resp *jsonrpc.Response) jsonrpc.Answer {
	a := resp.Answer()
	if !lease.Modern() || a.Error != nil {
		return a
	}
	edits := modern.HandshakeEdits(a.Result, cachedMethods[method])
	if len(edits) == 0 {
		return a
	}
	raw := jsonrpc.Join(jsonrpc.Splice(a.Result, edits...))
	if a.Release != nil {
		a.Release()
	}
	return jsonrpc.ResultAnswer(raw)
}
