package hub

import "mcphub/hub/approval"

// newApprovals makes the approval queue of a session.
func (s *Session) newApprovals() *approval.Queue {
	return approval.New(s.hub.now().FS, s.log, func() approval.Rules { return s.hub.now().ApprovalRules() })
}

// Terminal is where a person at a terminal of the hub's user answers what clients
// cannot ask.
func (h *Hub) Terminal() *approval.Terminal { return &h.terminal }
