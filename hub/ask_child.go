package hub

import (
	"context"

	"mcphub/children"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/printable"
)

// This file takes what a child asks to the one client that it belongs to.

// ChildRequest asks the client of the session that the instance belongs to.
// roots/list and ping never come here: the child's own instance answers them.
func (o observer) ChildRequest(ctx context.Context, k children.Key, m *jsonrpc.Message) jsonrpc.Answer {
	s := o.h.owner(k)
	if s == nil {
		return jsonrpc.ErrorAnswer(jsonrpc.CodeMethodNotFound, "no client can be asked for "+printable.Escape(m.Method, 100)+": several sessions may share this server, so it cannot be told which it belongs to")
	}
	return s.calls.Ask(ctx, k, m)
}
