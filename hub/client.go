package hub

import (
	"context"
	"mcphub/hub/call"
	"mcphub/hub/declaration"
	"mcphub/hub/handshake"
	"mcphub/internal/jsonrpc"
	"mcphub/rootsmgr"
	"time"
)

// speaksOn sets what belongs to no request of the client.
func (s *Session) speaksOn(main handshake.MainPeer) {
	s.client, s.main = main, handshake.NewMain(main, handshakeHost{s})
	s.calls.Main = s.main
}

// A handshakeHost is a Session as package handshake knows it.
type handshakeHost struct{ *Session }

func (s handshakeHost) Capabilities() declaration.Client { return s.capabilities() }
func (s handshakeHost) Level() declaration.Level         { return s.logLevel() }
func (s handshakeHost) Roots() *rootsmgr.Manager         { return s.roots }
func (s handshakeHost) RootsTimeout() time.Duration      { return s.hub.now().Roots.Timeout }

func (s handshakeHost) AwaitServed(ctx context.Context, view rootsmgr.View, limit time.Duration) error {
	return s.member.AwaitServed(ctx, view, limit)
}

// serveAndWait answers a request on a goroutine that waits for the answer.
func (s *Session) serveAndWait(r call.Reply, end *jsonrpc.Cancellation, m *jsonrpc.Message) jsonrpc.Answer {
	c := &struct {
		handshake.Client
		call.Waiter
	}{handshake.Client{Reply: r, Host: handshakeHost{s}}, call.Waiter{Cancellation: end}}
	s.start()
	if a, ok := s.calls.ToolAndWait(&c.Client, &c.Waiter, m); ok {
		return a
	}
	return s.ServeRequest(call.WithClient(end.Context(), &c.Client), m)
}

// answer has a request served; see jsonrpc.Guard.
func (s *Session) answer(m *jsonrpc.Message, serve func() jsonrpc.Answer) (a jsonrpc.Answer) {
	if !jsonrpc.Guard(s.log, m, func() { a = serve() }) {
		return jsonrpc.Panicked()
	}
	return a
}
