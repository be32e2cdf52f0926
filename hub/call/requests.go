package call

import (
	"bytes"
	"context"
	"errors"

	"mcphub/children"
	"mcphub/hub/declaration"
	"mcphub/hub/inflight"
	"mcphub/internal/jsonrpc"
)

// A request of the client that is with a child, and all of them.
type (
	Request  = inflight.Request[OnBehalf]
	Requests = inflight.Requests[OnBehalf]
)

// OnBehalf is whose request is with a child.
type OnBehalf struct {
	Client
	judged *attempt // that it was let through by; nil: none
}

// Relay sends a request about what the session has already, with edits of its params:
// it is judged no more. With an error, the child did not answer.
func (s *Session) Relay(ctx context.Context, lease *children.Lease, m *jsonrpc.Message, edits []jsonrpc.Edit) (jsonrpc.Answer, error) {
	k, token, from := lease.Key(), TokenOf(m), s.ClientOf(ctx)
	var own []byte
	if token != nil {
		own = s.Progress.Add(k, from, bytes.Clone(token))
		defer s.Progress.Remove(own)
		edits = append(edits, jsonrpc.Edit{Old: token, With: own})
	}
	away, back := s.track(children.WithProgressToken(ctx, own), &Request{}, k, nil)
	resp, err := lease.Call(away, m.Method, jsonrpc.Splice(m.Params, edits...)...)
	back(err)
	if err != nil {
		return RequestFailed(ctx, k.Child, m.Method, err), err
	}
	return from.Answer(lease, m.Method, resp), nil
}

// track notes that a request, judged by j or not at all, is with a child until back
// is called with what became of it. The context is for Lease.Call.
func (s *Session) track(ctx context.Context, t *Request, k children.Key, j *attempt) (_ context.Context, back func(err error)) {
	t.Key, t.Client = k, OnBehalf{s.ClientOf(ctx), j}
	return s.InFlight.Track(ctx, t)
}

// Ask brings one request of a child to the client and the answer back, both
// as they are. How long that takes is the client's business: people are asked.
func (s *Session) Ask(ctx context.Context, k children.Key, m *jsonrpc.Message) jsonrpc.Answer {
	came := inflight.From[OnBehalf](ctx)
	able := s.Able(k, came)
	if refusal, ok := able.Refuses(m); !ok {
		return refusal
	}
	if refusal, ok := s.Tasks.MayUse(k, m); !ok {
		return refusal
	}
	resp, err := s.InFlight.Ask(ctx, k, came, m, func(ctx context.Context, to OnBehalf, _ bool, params []byte) (*jsonrpc.Response, error) {
		return s.put(ctx, to.Client, m.Method, params)
	})
	var busy *inflight.BusyError
	switch {
	case errors.As(err, &busy):
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInternal, err.Error())
	case err != nil:
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInternal, s.unanswered(ctx, err))
	}
	return s.Tasks.Answered(k, m, resp.Answer())
}

// Able is what the client can be asked for on the way that a question of a
// child would take: a modern one says so with each request.
func (s *Session) Able(k children.Key, came *Request) declaration.Abilities {
	if _, to, ok := s.InFlight.Find(k, came); ok {
		return to.Claims().Can
	}
	return s.Main.Claims().Can
}

// put asks the client, with one of its requests or else beside them.
func (s *Session) put(ctx context.Context, to Client, method string, params []byte) (*jsonrpc.Response, error) {
	if to != nil {
		return to.Call(ctx, method, params)
	}
	return s.Main.Call(ctx, method, params)
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
