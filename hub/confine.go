package hub

import (
	"mcphub/children/sandbox"
	"mcphub/hub/configuration"
	"mcphub/rootsmgr"
)

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
