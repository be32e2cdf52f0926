package assignment

import (
	"mcphub/children/sandbox"
	"mcphub/hub/configuration"
	"mcphub/rootsmgr"
)

// This file is about children that the kernel holds to the boundary of their calls.

// RootsAreCurrent reports whether the children have been given the roots that the client has
// announced last.
func (m *Member[S]) RootsAreCurrent() bool {
	view, ok := m.Roots.Ready()
	now, _ := m.served.Now()
	return ok && now.Given && now.Roots.Covers(view) && now.Configuration == m.table.current.Now().Number
}

// boundaryOf is what the kernel is to hold a child to that is served roots from a view:
// the boundary by which its calls are judged. roots are what it is served.
func (m *Member[S]) boundaryOf(g *configuration.Configuration, c *configuration.Child, view rootsmgr.View, roots []rootsmgr.Root) sandbox.Boundary {
	switch {
	case !c.Spec.Sandbox.Confines():
		return sandbox.Boundary{}
	case m.Stateless && view.Ceiling == nil:
		return sandbox.Boundary{Open: "each request of this client brings roots of its own, and its token has no ceiling (http.tokens)"}
	case m.Stateless: // every call stays within, and none makes it wider
		return g.Boundary(c, view.Ceiling.Roots(), nil, nil)
	case view.Open:
		return sandbox.Boundary{Open: view.Meaning()}
	}
	return g.Boundary(c, view.Snapshot.Roots(), roots, m.Approvals.Served(&c.Spec))
}
