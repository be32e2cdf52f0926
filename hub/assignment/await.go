package assignment

import (
	"context"
	"time"

	"mcphub/children/spec"
	"mcphub/hub/configuration"
	"mcphub/rootsmgr"
)

// This file is for those who wait until the children were given something.

// AwaitServed waits until the children have been given the roots of a view, or
// newer ones. Where limit ends first, as it does for a client that never said that it
// is initialized, the hub alone judges.
func (s *AssignedSession[S]) AwaitServed(ctx context.Context, rootsView rootsmgr.RootsView, limit time.Duration) error {
	return s.awaitGiven(ctx, max(limit, 0), func(now DeliveredRoots) bool { return now.covers(rootsView) })
}

// HasServed reports whether AwaitServed would not wait.
func (s *AssignedSession[S]) HasServed(rootsView rootsmgr.RootsView) bool {
	now, _ := s.served.Now()
	return now.covers(rootsView) && s.isCurrent(now)
}

func (delivered DeliveredRoots) covers(rootsView rootsmgr.RootsView) bool {
	return delivered.Given && delivered.Roots.Covers(rootsView)
}

func (s *AssignedSession[S]) isCurrent(now DeliveredRoots) bool {
	return now.Configuration == s.Offering.Configuration().Number
}

// awaitGiven waits until the children were given what enough looks for, by the
// configuration that the session goes by now: a call is judged by its policy, and
// the directories of that are served too.
func (s *AssignedSession[S]) awaitGiven(ctx context.Context, limit time.Duration, enough func(DeliveredRoots) bool) error {
	return s.served.Await(ctx, limit, func(now DeliveredRoots) bool {
		return enough(now) && s.isCurrent(now)
	})
}

// AwaitGrants waits until the children have been given what people have granted up to a
// version, at most as long as limit.
func (s *AssignedSession[S]) AwaitGrants(ctx context.Context, limit time.Duration, version uint64) error {
	return s.awaitGiven(ctx, limit, func(now DeliveredRoots) bool { return now.Grants >= version })
}

// FromCalls returns what a child was last to be served that came with calls.
func (s *AssignedSession[S]) FromCalls(child string) (CallRoots, bool) {
	return s.served.FromCalls(child)
}

// ServeFromCall has Run give a child roots that came with a call, and
// waits until it has. Acquire waits until the child has applied them.
func (s *AssignedSession[S]) ServeFromCall(ctx context.Context, child, set string, rootsView rootsmgr.RootsView) error {
	number := s.served.Request(child, set, rootsView)
	return s.awaitGiven(ctx, -1, func(now DeliveredRoots) bool { return now.FromCalls >= number })
}

// fromCalls returns what a child is to be served that came with calls, if anything.
func (s *AssignedSession[S]) fromCalls(c *configuration.Child) (CallRoots, bool) {
	if c.Spec.Share == spec.ShareAll {
		return CallRoots{}, false
	}
	return s.served.FromCalls(c.Spec.Name)
}

// RootsGiven reports whether a child is served the roots that came with calls: those
// of another call may be on their way to it.
func (s *AssignedSession[S]) RootsGiven(child string) bool {
	if !s.PerRequest {
		if !s.Roots.HasCallRoots() {
			return true
		}
		rootsView := s.Roots.RootsView()
		now, _ := s.served.Now()
		return !rootsView.Assumed && now.Given && now.Roots.Covers(rootsView)
	}
	return s.served.GivenFromCalls(child)
}

// AwaitRootsGiven waits until that is so.
func (s *AssignedSession[S]) AwaitRootsGiven(ctx context.Context, child string) {
	for {
		news := s.Roots.Updates()
		_, again := s.served.Now()
		if s.RootsGiven(child) {
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
