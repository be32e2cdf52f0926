package hub

import (
	"context"
	"errors"

	"mcphub/children"
	"mcphub/hub/declaration"
	"mcphub/hub/inflight"
	"mcphub/internal/jsonrpc"
)

// This file takes what a child asks to the one client that it belongs to.

// ChildRequest asks the client of the session that the instance belongs to.
// roots/list and ping never come here: the child's own instance answers them.
func (o observer) ChildRequest(ctx context.Context, k children.Key, m *jsonrpc.Message) jsonrpc.Answer {
	s := o.h.owner(k)
	if s == nil {
		return jsonrpc.ErrorAnswer(jsonrpc.CodeMethodNotFound, "no client can be asked for "+shown(m.Method, 100)+": several sessions may share this server, so it cannot be told which it belongs to")
	}
	return s.asked(ctx, k, m)
}

// asked brings one request of a child to the client and the answer back, both
// as they are. How long that takes is the client's business: people are asked.
func (s *Session) asked(ctx context.Context, k children.Key, m *jsonrpc.Message) jsonrpc.Answer {
	came := inflight.From[onBehalf](ctx)
	able := s.able(k, came)
	if refusal, ok := able.Refuses(m); !ok {
		return refusal
	}
	if refusal, ok := s.tasks.MayUse(k, m); !ok {
		return refusal
	}
	resp, err := s.inFlight.Ask(ctx, k, came, m, func(ctx context.Context, to onBehalf, _ bool, params []byte) (*jsonrpc.Response, error) {
		return s.put(ctx, to.client, m.Method, params)
	})
	var busy *inflight.BusyError
	switch {
	case errors.As(err, &busy):
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInternal, err.Error())
	case err != nil:
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInternal, s.unanswered(ctx, err))
	}
	return s.tasks.Answered(k, m, resp.Answer())
}

// able is what the client can be asked for on the way that a question of a
// child would take: a modern one says so with each request.
func (s *Session) able(k children.Key, came *inFlight) declaration.Abilities {
	if _, to, ok := s.inFlight.Find(k, came); ok {
		return to.Claims().Can
	}
	return s.capabilities().Can
}

// put asks the client, with one of its requests or else beside them.
func (s *Session) put(ctx context.Context, to client, method string, params []byte) (*jsonrpc.Response, error) {
	if to != nil {
		return to.Call(ctx, method, params)
	}
	return s.client.Call(ctx, method, params)
}

// unanswered says why a question has no answer.
func (s *Session) unanswered(ctx context.Context, err error) string {
	var gone *jsonrpc.CancelledError
	switch {
	case errors.As(context.Cause(ctx), &gone):
		return err.Error()
	case errors.Is(err, jsonrpc.ErrClosed):
		return "the client has gone"
	}
	return "the client was not asked, or did not answer: " + err.Error()
}
