package hub

import (
	"context"
	"sync"

	"mcphub/children"
	"mcphub/hub/call"
	"mcphub/hub/declaration"
	"mcphub/hub/inflight"
	"mcphub/internal/jsonrpc"
)

// This file is about the log messages that children send their clients
// (2025-11-25, server/utilities/logging).

func (s *Session) logLevel() declaration.Level {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tab.level
}

// setLevel answers logging/setLevel: the session's messages are held to it from
// now on, and the children that serve it are told; those that start later are
// told then.
func (s *Session) setLevel(ctx context.Context, m *jsonrpc.Message) jsonrpc.Answer {
	level, ok := declaration.ReadLevel(m.Param("level"))
	if !ok {
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidParams, "logging/setLevel needs one of debug, info, notice, warning, error, critical, alert and emergency at /params/level")
	}
	s.mu.Lock()
	s.tab.level = level
	s.mu.Unlock()
	s.tellLevels(ctx)
	return jsonrpc.ResultAnswer([]byte(`{}`))
}

// tellLevels tells the children that serve the session what it wants to hear.
func (s *Session) tellLevels(ctx context.Context) {
	var told sync.WaitGroup
	for _, at := range s.assigned.Load().All() {
		told.Go(func() { s.hub.tellLevel(ctx, at.Key) })
	}
	told.Wait()
}

// hear sees to it that children log what a modern request wants to hear: those
// of the other era have one level for everything. The others go by the request.
func (s *Session) hear(ctx context.Context, level declaration.Level) {
	s.mu.Lock()
	more := s.tab.modernLevel.MoreVerbose(level) != s.tab.modernLevel
	if more {
		s.tab.modernLevel = level
	}
	s.mu.Unlock()
	if more {
		s.tellLevels(ctx)
	}
}

// heard is the most verbose level that anybody of the session wants.
func (s *Session) heard() declaration.Level {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tab.level.MoreVerbose(s.tab.modernLevel)
}

// tellLevel tells an instance that runs the level that its sessions want.
func (h *Hub) tellLevel(ctx context.Context, k children.Key) {
	if lease, ok := h.sup.TryAcquire(k); ok {
		defer lease.Release()
		lease.TellLevel(ctx)
	}
}

// listener returns the one session that an instance serves; nil where there are
// several or none.
func (h *Hub) listener(k children.Key) *Session {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.holders[k]) > 1 {
		return nil
	}
	for s := range h.holders[k] {
		return s
	}
	return h.sessions[k.Instance] // its own, which is only being assigned to it
}

// logged passes a log message on to the session that it belongs to, unless the
// session does not want to know. What several share is nobody's. A flood
// leaves room for what matters more, and what does not fit is counted.
func (h *Hub) logged(ctx context.Context, k children.Key, m *jsonrpc.Message) {
	s := h.listener(k)
	if s == nil {
		return
	}
	s.pass(ctx, k, m)
}

// pass hands the client a notification of a child as it is, where there is room
// to spare.
func (s *Session) pass(ctx context.Context, k children.Key, m *jsonrpc.Message) {
	to := s.wayOf(ctx, k, m)
	if to == nil {
		return // a modern client is told nothing that belongs to no request
	}
	if m.Method == "notifications/message" && !to.Wants(m) {
		return
	}
	if !to.TrySpare(m.Method, m.Params) {
		s.dropped.Add(1)
	}
}

// wayOf is where a notification of a child goes: with the request that it belongs
// to, so that it comes before the answer, or on the client's own stream. A
// transport that has a stream for each call tells which it is. Over pipes a log
// message is taken to belong to the only request that is with the child; other
// words of its own belong to none. A client that follows no stream of its own is
// told on one of its requests.
func (s *Session) wayOf(ctx context.Context, k children.Key, m *jsonrpc.Message) call.Client {
	came := inflight.From[call.OnBehalf](ctx)
	on, behalf, _ := s.calls.InFlight.Find(k, came)
	to := behalf.Client
	switch {
	case !s.handshaken():
		return to
	case on != nil && (on == came || !children.Told(ctx) && m.Method == "notifications/message"):
		return to
	}
	if to != nil && !s.client.Connected() {
		return to
	}
	return s.main
}
