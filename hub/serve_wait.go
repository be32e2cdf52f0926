package hub

import (
	"mcphub/hub/call"
	"mcphub/internal/jsonrpc"
)

// serveAndWait answers a request on a goroutine that waits for the answer.
func (s *Session) serveAndWait(r call.Reply, end *jsonrpc.Cancellation, m *jsonrpc.Message) jsonrpc.Answer {
	c := &struct {
		handshakeClient
		call.Waiter
	}{handshakeClient{r, s}, call.Waiter{Cancellation: end}}
	s.start()
	if a, ok := s.calls.ToolAndWait(&c.handshakeClient, &c.Waiter, m); ok {
		return a
	}
	return s.ServeRequest(call.WithClient(end.Context(), &c.handshakeClient), m)
}

// answer has a request served; see jsonrpc.Guard.
func (s *Session) answer(m *jsonrpc.Message, serve func() jsonrpc.Answer) (a jsonrpc.Answer) {
	if !jsonrpc.Guard(s.log, m, func() { a = serve() }) {
		return jsonrpc.Panicked()
	}
	return a
}
