package handshake

import (
	"mcphub/children"
	"mcphub/hub/modern"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
)

// This file gives the results of children of the modern era the shape of the
// other one: what only that era has is cut out of the bytes.

// answer gives the answer of a child to a request the shape of its client's era,
// as far as the child's may be another.
func answer(lease *children.Lease, method string, resp *jsonrpc.Response) jsonrpc.Answer {
	a := resp.Answer()
	if !lease.Modern() || a.Error != nil {
		return a
	}
	edits := modern.HandshakeEdits(a.Result, methods.Of(method).Keeps)
	if len(edits) == 0 {
		return a
	}
	raw := jsonrpc.Join(jsonrpc.Splice(a.Result, edits...))
	a.Free()
	return jsonrpc.ResultAnswer(raw)
}
