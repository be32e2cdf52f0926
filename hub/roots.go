package hub

import (
	"context"

	"mcphub/children"
	"mcphub/rootsmgr"
)

// This file gets the roots that a call is judged by, and says whose they are.

// lookAgain returns what a call is judged by that would be denied: what the client
// answers when it is asked once more, else the roots with those that have come
// into being meanwhile. newer is false where there is nothing else.
func (s *Session) lookAgain(ctx context.Context, wait *rootsmgr.Wait, j *judgement) (view rootsmgr.View, newer bool, err error) {
	c := s.clientOf(ctx)
	view, newer, err = c.Reconsider(ctx, wait, j.gen.Roots.Timeout)
	if err != nil || newer || !s.roots.LookAgain(ctx, j.view, j.verdict.Refused()...) {
		view.Client = c.Claims().Name
		return view, newer, err
	}
	view, err = c.Boundary(ctx, wait)
	return view, true, err
}

// noRoots says why an instance is served no roots, for the answer to its
// roots/list. One that several sessions share is told of none of them.
func (h *Hub) noRoots(k children.Key) string {
	if s := h.owner(k); s != nil {
		view := s.roots.View()
		view.Client = s.capabilities().Name
		return view.Meaning()
	}
	for _, s := range h.holding(k) {
		if k.Instance != "" {
			return s.roots.View().Meaning()
		}
	}
	return "This server is shared by all clients, and no roots are configured for it: " +
		"start mcphub with --roots DIR, set MCPHUB_ROOTS or roots.fallback in hub.json, or leave out \"share\"."
}

// places are the directories beside the session's roots that its children may
// write in: a root that is a link in one is not followed out of it.
func (s *Session) places() []string {
	return append(s.hub.now().Checker.Places(), s.approvals.Directories()...)
}
