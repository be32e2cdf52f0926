package hub

import (
	"context"

	"mcphub/children"
	"mcphub/hub/inflight"
	"mcphub/rootsmgr"
	"mcphub/validate"
)

// This file is about a child that asks for roots in the middle of a call whose
// client brings roots with its requests, and has brought none: the child's question
// waits while the client is asked.

// fetchRoots says what roots/list of a child has to wait for: nil for nothing,
// because it belongs to no call of a client that could bring roots and has brought
// none. The wait ends after twice roots.timeout, whoever is asked meanwhile.
func (h *Hub) fetchRoots(ctx context.Context, k children.Key) func(ctx context.Context) {
	s := h.owner(k)
	if s == nil {
		return nil
	}
	came := inflight.From[onBehalf](ctx)
	if s.lacking(k, came) == nil && (s.settled(k.Child) || len(s.bringing(k, came)) == 0) {
		return nil
	}
	return func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, 2*h.now().Roots.Timeout)
		defer cancel()
		for t := s.lacking(k, came); t != nil && ctx.Err() == nil; t = s.lacking(k, came) {
			t.Client.FetchRoots(ctx, k.Child, func(view rootsmgr.View) error { return s.judgeAgain(t.Client.judged, view) })
		}
		s.settle(ctx, k.Child)
	}
}

// settled reports whether a child is served the roots that came with calls: those
// of another call may be on their way to it.
func (s *Session) settled(child string) bool {
	if !s.stateless {
		if !s.roots.Given() {
			return true
		}
		view := s.roots.View()
		now, _ := s.served.Now()
		return !view.Assumed && now.Given && now.Roots >= view.Snapshot.Generation()
	}
	return s.served.GivenBrought(child)
}

// settle waits until that is so.
func (s *Session) settle(ctx context.Context, child string) {
	for {
		news := s.roots.Updates()
		_, again := s.served.Now()
		if s.settled(child) {
			return
		}
		select {
		case <-news:
		case <-again:
		case <-ctx.Done():
			return
		}
	}
}

// lacking returns the request that a child's question for roots belongs to and
// whose client is to be asked; where that cannot be told the newest one that may be.
func (s *Session) lacking(k children.Key, came *inFlight) *inFlight {
	for _, t := range s.bringing(k, came) {
		if t.Client.CanFetchRoots(k.Child) {
			return t
		}
	}
	return nil
}

// bringing returns the requests that something of a child may belong to, the
// likeliest first, of clients that bring roots with their requests. There are none
// where it may belong to one of another client.
func (s *Session) bringing(k children.Key, came *inFlight) []*inFlight {
	all := s.inFlight.Candidates(k, came)
	for _, t := range all {
		if !t.Client.BringsRoots() {
			return nil
		}
	}
	return all
}

// judgeAgain judges a request that is with its child by other roots; the error is a
// denial. The request goes on meanwhile, so its own judgement is not touched.
func (s *Session) judgeAgain(j *judgement, view rootsmgr.View) error {
	if j == nil || j.scan == nil || !j.scan.NeedsBoundary() {
		return nil
	}
	again := judgement{gen: j.gen, child: j.child, call: j.call, scan: j.scan, view: view, approval: j.approval}
	again.cwd, _ = j.place()
	for _, r := range rootsmgr.Directories(s.rootsFor(j.gen, j.gen.Child(j.child), view)) {
		again.served = append(again.served, r.Path)
	}
	if s.decide(&again); again.verdict.Decision != validate.Allow {
		return &deniedError{again.verdict, view}
	}
	return nil
}
