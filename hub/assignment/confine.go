package assignment

import (
	"slices"
	"time"

	"mcphub/children/sandbox"
	"mcphub/children/spec"
	"mcphub/hub/configuration"
	"mcphub/rootsmgr"
	"mcphub/rootsmgr/guard"
)

// This file is about children that the kernel holds to the boundary of their calls.

// RootsAreCurrent reports whether the children have been given the roots that the client has
// announced last.
func (s *AssignedSession[S]) RootsAreCurrent() bool {
	rootsView, ok := s.Roots.TryAwait()
	now, _ := s.served.Now()
	return ok && now.Given && now.Roots.Covers(rootsView) && now.Configuration == s.Current.InForce().Number
}

// boundaryOf returns what the kernel is to hold a child to that is served roots from a
// view: the boundary by which its calls are judged. roots are what it is served.
func (s *AssignedSession[S]) boundaryOf(conf *configuration.Configuration, c *configuration.Child, rootsView rootsmgr.RootsView, roots []guard.Root) sandbox.Boundary {
	switch {
	case c.Spec.Share == spec.ShareAll:
		return conf.CommonBoundary(c)
	case !c.Spec.Sandbox.Confines():
		return sandbox.Boundary{}
	case len(c.Roots) > 0:
		return conf.Boundary(c, conf.RootsViewFor(c, rootsView).Snapshot.Roots(), roots, s.Approvals.Served(&c.Spec))
	case s.PerRequest && rootsView.Ceiling != nil: // every call stays within, and none makes it wider
		return conf.Boundary(c, rootsView.Ceiling.Roots(), nil, nil)
	case s.PerRequest && conf.RootsOf(s.Principal).When.Denied:
		return conf.Boundary(c, nil, nil, nil)
	case s.PerRequest:
		return sandbox.Boundary{WhyOpen: "each request of this client brings roots of its own, and its token has no ceiling (http.tokens)"}
	case rootsView.Open:
		return sandbox.Boundary{WhyOpen: rootsView.Meaning()}
	}
	return conf.Boundary(c, rootsView.Snapshot.Roots(), roots, s.Approvals.Served(&c.Spec))
}

// againAfter is when what could not be put on record is tried again.
const againAfter = 5 * time.Second

// recordWritable puts on record the places that a child may write from now on: in the boundary of its
// calls, also if the kernel does not hold it to that, and in what the kernel opens beyond.
// The boundary that it returns bars the child if that cannot be.
func (s *AssignedSession[S]) recordWritable(c *configuration.Child, boundary sandbox.Boundary, roots ...[]guard.Root) sandbox.Boundary {
	if s.table.RecordWritable == nil {
		return boundary
	}
	dirs := slices.Clone(c.Spec.Sandbox.Write)
	for _, list := range roots {
		for _, r := range list {
			dirs = append(dirs, r.Path)
		}
	}
	for _, r := range boundary.Areas {
		if r.Access&sandbox.Write != 0 {
			dirs = append(dirs, r.Path)
		}
	}
	if len(dirs) == 0 {
		return boundary
	}
	if err := s.table.RecordWritable(dirs); err != nil {
		s.barred = true
		return sandbox.Boundary{Barred: err.Error()}
	}
	return boundary
}

// retryTimer returns when to serve the roots again because not all could be put on record; nil:
// never.
func (s *AssignedSession[S]) retryTimer() <-chan time.Time {
	if !s.barred {
		return nil
	}
	s.barred = false
	return time.After(againAfter)
}
