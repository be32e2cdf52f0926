package hub

import (
	"context"

	"mcphub/children"
	"mcphub/hub/assignment"
	"mcphub/rootsmgr"
)

// This file is about the roots that the children of a stateless Session are
// served: each call may bring others, and one instance serves them all. Package
// inline lets calls with other roots take turns.

// serveBrought has serveRoots give a child roots that came with a call, and
// waits until it has. Acquire waits until the child has applied them.
func (s *Session) serveBrought(ctx context.Context, child, set string, view rootsmgr.View) error {
	number := s.served.Bring(child, set, view)
	return s.awaitGiven(ctx, -1, func(now assignment.State) bool { return now.Brought >= number })
}

// broughtTo returns what a child is to be served, if calls have brought that.
func (s *Session) broughtTo(c *Child) (assignment.Brought, bool) {
	if c.Spec.Share == children.ShareAll {
		return assignment.Brought{}, false
	}
	return s.served.Brought(c.Spec.Name)
}
