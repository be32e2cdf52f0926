package hub

import (
	"context"
	"mcphub/hub/record"
	"mcphub/internal/jsonrpc"
)

// Audit says how decisions are recorded, and AuditStatus how that stands.
type (
	Audit       = record.Settings
	AuditStatus = record.Status
)

// recorded serves a request, and records it where that was refused before
// anybody judged it.
func (s *Session) recorded(ctx context.Context, m *jsonrpc.Message, serve serveFunc) jsonrpc.Answer {
	ctx = s.records.Start(ctx, m)
	a := serve(s, ctx, m)
	s.records.Served(ctx, a)
	return a
}
