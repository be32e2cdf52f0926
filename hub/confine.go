package hub

import (
	"mcphub/children/sandbox"
	"mcphub/hub/configuration"
	"mcphub/rootsmgr"
)

// This file is about the kernel, which holds a child to the boundary of its calls.

// kernelReport says how far the kernel holds a child. It is JSON; both are left out of a
// child that is not to be confined.
type kernelReport struct {
	Kernel string   `json:"kernel,omitempty"`      // held, partial or none
	Lacks  []string `json:"kernelLacks,omitempty"` // what it does not hold, and why
}

func reportKernel(r sandbox.Report) kernelReport {
	if r.Mode == sandbox.Off {
		return kernelReport{}
	}
	return kernelReport{Kernel: r.State.String(), Lacks: r.Lacks}
}

// rootsAreCurrent reports whether the children have been given the roots that the client has
// announced last.
func (s *Session) rootsAreCurrent() bool {
	view, ok := s.roots.Ready()
	now, _ := s.served.Now()
	return ok && now.Given && now.Roots >= view.Snapshot.Generation() && now.Configuration == s.Configuration().Number
}

// boundaryOf is what the kernel is to hold a child to that is served roots from a view:
// the boundary by which its calls are judged. roots are what it is served.
func (s *Session) boundaryOf(g *configuration.Configuration, c *Child, view rootsmgr.View, roots []rootsmgr.Root) sandbox.Boundary {
	switch {
	case c.Spec.Sandbox.Mode == sandbox.Off:
		return sandbox.Boundary{}
	case s.stateless && view.Ceiling == nil:
		return sandbox.Boundary{Open: "each request of this client brings roots of its own, and its token has no ceiling (http.tokens)"}
	case s.stateless: // every call stays within, and none makes it wider
		return g.Boundary(c, view.Ceiling.Roots(), nil, nil)
	case view.Open:
		return sandbox.Boundary{Open: view.Meaning()}
	}
	return g.Boundary(c, view.Snapshot.Roots(), roots, s.approvals.Served(&c.Spec))
}
