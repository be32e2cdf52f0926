package call

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

// FetchRoots says what roots/list of a child has to wait for: nil for nothing,
// because it belongs to no call of a client that could bring roots and has brought
// none. The wait ends after twice roots.timeout, whoever is asked meanwhile.
func (s *Session) FetchRoots(ctx context.Context, k children.Key) func(ctx context.Context) {
	came := inflight.From[OnBehalf](ctx)
	if s.lacking(k, came) == nil && (s.Instances.RootsGiven(k.Child) || len(s.bringing(k, came)) == 0) {
		return nil
	}
	return func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, 2*s.Current.Now().Roots.Timeout)
		defer cancel()
		for t := s.lacking(k, came); t != nil && ctx.Err() == nil; t = s.lacking(k, came) {
			t.Client.FetchRoots(ctx, k.Child, func(view rootsmgr.View) error { return s.judgeBy(t.Client.judged, view) })
		}
		s.Instances.AwaitRootsGiven(ctx, k.Child)
	}
}

// lacking returns the request that a child's question for roots belongs to and
// whose client is to be asked; where that cannot be told the newest one that may be.
func (s *Session) lacking(k children.Key, came *Request) *Request {
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
func (s *Session) bringing(k children.Key, came *Request) []*Request {
	all := s.InFlight.Candidates(k, came)
	for _, t := range all {
		if !t.Client.BringsRoots() {
			return nil
		}
	}
	return all
}

// judgeBy judges a request that is with its child by other roots; the error is a
// denial. The request goes on meanwhile, so its own attempt is not touched.
func (s *Session) judgeBy(j *attempt, view rootsmgr.View) error {
	if j == nil || j.scan == nil || !j.scan.NeedsBoundary() {
		return nil
	}
	again := attempt{by: j.by, child: j.child, call: j.call, scan: j.scan, view: view, approval: j.approval}
	again.cwd, _ = j.place()
	for _, r := range rootsmgr.Directories(s.Instances.RootsFor(j.by, j.by.Child(j.child), view)) {
		again.served = append(again.served, r.Path)
	}
	if s.judgeOnce(&again); again.verdict.Decision != validate.Allow {
		return &deniedError{again.verdict, view}
	}
	return nil
}
