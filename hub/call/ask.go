package call

import (
	"context"
	"errors"

	"mcphub/children/spec"
	"mcphub/hub/declaration"
	"mcphub/hub/inflight"
	"mcphub/hub/texts"
	"mcphub/internal/jsonrpc"
	"mcphub/rootsmgr"
	"mcphub/validate/policy"
)

// This file is about what a child asks: of the client, and the roots.

// AskClient brings one request of a child to the client and the answer back, both
// as they are. How long that takes is the client's business: people are asked.
func (s *Sender) AskClient(ctx context.Context, k spec.Key, m *jsonrpc.Message) jsonrpc.Answer {
	during := inflight.FromContext[Requester](ctx)
	able := s.AbilitiesFor(k, during)
	if refusal, ok := able.Refuses(m); !ok {
		return refusal
	}
	if refusal, ok := s.Tasks.MayUse(k, m); !ok {
		return refusal
	}
	resp, err := s.InFlight.Ask(ctx, k, during, m, func(ctx context.Context, to Requester, _ bool, params []byte) (*jsonrpc.Response, error) {
		if to.Client == nil { // it belongs to no request
			to.Client = s.MainClient
		}
		return to.Call(ctx, m.Method, params)
	})
	var busy *inflight.BusyError
	switch {
	case errors.As(err, &busy):
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInternal, err.Error())
	case err != nil:
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInternal, s.unansweredReason(ctx, err))
	}
	return s.Tasks.HandleClientAnswer(k, m, resp.Answer())
}

// AbilitiesFor returns what the client can be asked for on the way that a question
// of a child would take: a modern one says so with each request.
func (s *Sender) AbilitiesFor(k spec.Key, during *OpenRequest) declaration.Abilities {
	if _, to, ok := s.InFlight.Find(k, during); ok {
		return to.Claims().Can
	}
	return s.MainClient.Claims().Can
}

// unansweredReason returns why a question has no answer.
func (s *Sender) unansweredReason(ctx context.Context, err error) string {
	var gone *jsonrpc.CancelledError
	switch {
	case errors.As(context.Cause(ctx), &gone):
		return err.Error()
	case errors.Is(err, jsonrpc.ErrClosed):
		return texts.ClientGone
	}
	return texts.Unanswered(err.Error())
}

// FetchRoots returns what roots/list of a child has to wait for: nil for nothing, because it
// belongs to no call of a client that could send roots with it and has sent none. Roots of a former
// call do not count, for the client has had no way to tell that they have changed. The wait ends
// after twice roots.timeout, even if other clients are asked meanwhile.
func (s *Sender) FetchRoots(ctx context.Context, k spec.Key) func(ctx context.Context) {
	during := inflight.FromContext[Requester](ctx)
	if s.requestMissingRoots(k, during) == nil && (s.Instances.RootsGiven(k.Child) || len(s.sendingRoots(k, during)) == 0) {
		return nil
	}
	return func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, 2*s.Current.InForce().Roots.Timeout)
		defer cancel()
		for t := s.requestMissingRoots(k, during); t != nil && ctx.Err() == nil; t = s.requestMissingRoots(k, during) {
			t.Client.FetchRoots(ctx, k.Child, func(rootsView rootsmgr.RootsView) error { return s.judgeBy(t.Client.attempt, rootsView) })
		}
		s.Instances.AwaitRootsGiven(ctx, k.Child)
	}
}

// requestMissingRoots returns the request that a child's question for roots belongs to and whose
// client is to be asked; if that cannot be told the newest one that may be. A newer one that has
// brought roots leaves nothing to ask for.
func (s *Sender) requestMissingRoots(k spec.Key, during *OpenRequest) *OpenRequest {
	for _, t := range s.sendingRoots(k, during) {
		switch {
		case t.Client.GaveRoots():
			return nil
		case t.Client.CanFetchRoots(k.Child):
			return t
		}
	}
	return nil
}

// sendingRoots returns the requests that something of a child may belong to, the
// likeliest first, of clients that bring roots with their requests. There are none
// if it may belong to one of another client.
func (s *Sender) sendingRoots(k spec.Key, during *OpenRequest) []*OpenRequest {
	all := s.InFlight.Candidates(k, during)
	for _, t := range all {
		if !t.Client.SendsRoots() {
			return nil
		}
	}
	return all
}

// judgeBy judges a request that is with its child by other roots; the error is a
// denial. The request goes on meanwhile, so its own attempt is not touched.
func (s *Sender) judgeBy(att *attempt, rootsView rootsmgr.RootsView) error {
	if att == nil || att.scan == nil || !att.scan.NeedsBoundary() {
		return nil
	}
	again := attempt{conf: att.conf, child: att.child, call: att.call, scan: att.scan, roots: rootsView, approval: att.approval}
	again.cwd, _ = att.findWorkplace()
	for _, r := range rootsmgr.Directories(s.Instances.RootsFor(att.conf, att.conf.Child(att.child), rootsView)) {
		again.servedRoots = append(again.servedRoots, r.Path)
	}
	if s.judgeAttempt(&again); again.verdict.Decision != policy.Allow {
		return &deniedError{again.verdict, rootsView}
	}
	return nil
}
