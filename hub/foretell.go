package hub

import (
	"context"

	"mcphub/rootsmgr"
	"mcphub/validate"
)

// This file judges requests for children that do not run, so that one that is not
// allowed starts nothing.

// place is where the child works that would run the request, and with which roots.
func (j *judgement) place() (cwd string, served []string) {
	if j.lease == nil {
		return j.cwd, j.served
	}
	return j.lease.Where()
}

// foretell judges a request for a child that does not run by how it would be
// started: what is not allowed so starts nothing. over: the request ends here.
func (s *Session) foretell(ctx context.Context, wait *rootsmgr.Wait, j *judgement) (over bool, err error) {
	if !s.foresee(j) {
		return false, nil
	}
	if err := s.judge(ctx, wait, j); err != nil {
		return true, err
	}
	return j.verdict.Decision != validate.Allow, nil
}

// foresee notes how the child would be started; false where it runs, or that
// cannot be told.
func (s *Session) foresee(j *judgement) (ok bool) {
	at, assigned := s.assigned.Load().Of(j.child)
	if !assigned || at.Revision != j.gen.Child(j.child).Spec.Revision {
		return false
	}
	j.cwd, j.served, ok = s.hub.sup.Foresee(at.Key)
	return ok
}
