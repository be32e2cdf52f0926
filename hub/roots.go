package hub

import (
	"mcphub/children"
)

// This file gets the roots that a call is judged by, and says whose they are.

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
