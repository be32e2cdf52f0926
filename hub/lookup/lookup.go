package lookup

import (
	"context"

	"mcphub/hub/call"
	"mcphub/internal/jsonrpc"
)

// A Session answers what the client asks of children.
type Session struct {
	*call.Session
	Own func(ctx context.Context, tool string, m *jsonrpc.Message) jsonrpc.Answer // serves the hub's own tools but CallTool
}
