package hub

import "mcphub/validate"

// explainedApproval is what a human has to do with a call that is explained.
type explainedApproval struct {
	Question string        `json:"question,omitempty"` // what a person would be asked before the call is made
	Unasked  string        `json:"unasked,omitempty"`  // why nobody could be asked, so that the call would be denied
	Grants   []grantReport `json:"grants,omitempty"`   // of the session, for this server
}

// explainApproval makes the question by the code that asks it, and asks nobody.
func (s *Session) explainApproval(c *Call, j *judgement) (e explainedApproval) {
	for _, g := range s.consent.report().Grants {
		if g.Server == j.child {
			e.Grants = append(e.Grants, g)
		}
	}
	if j.verdict.Decision != validate.Escalate {
		return e
	}
	q, why := s.inquire(s.petitionOf(c), j)
	if e.Unasked = why; why == "" {
		e.Question = q.text
	}
	return e
}
