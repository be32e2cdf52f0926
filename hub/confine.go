package hub

import (
	"fmt"

	"mcphub/children"
	"mcphub/children/sandbox"
	"mcphub/hub/configuration"
	"mcphub/rootsmgr"
	"mcphub/validate"
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

// heldToRoots reports whether every call of a child has to wait for the roots that the
// client has announced, one without a path too: the kernel holds the child to them.
func (s *Session) heldToRoots(c *Child, from client) bool {
	return c.Spec.Sandbox.Mode != sandbox.Off && !from.BringsRoots()
}

// rootsGiven reports whether the children have been given the roots that the client has
// announced last.
func (s *Session) rootsGiven() bool {
	view, ok := s.roots.Ready()
	now, _ := s.served.Now()
	return ok && now.Given && now.Roots >= view.Snapshot.Generation() && now.Configuration == s.Configuration().Number
}

// tooNarrow is the error of a call that is allowed, and needs what its running server
// was not started for: its entry says that it is not ended for that.
func (j *judgement) tooNarrow() error {
	spec := &j.gen.Child(j.child).Spec
	if !spec.Sandbox.Refuse || j.lease == nil || j.verdict.Decision != validate.Allow {
		return nil
	}
	for i := range j.verdict.Findings {
		f := &j.verdict.Findings[i]
		if f.Leads == "" || j.lease.Opens(f.Leads, configuration.AccessOf(validate.Roles(f.Role))) {
			continue
		}
		return &children.UnavailableError{Child: j.child, Reason: fmt.Sprintf("it was started when %s was not open, and its entry says \"widen\": \"refuse\". To have it opened run: mcphub restart %s. To have it started anew each time write \"sandbox\": {\"widen\": \"restart\"}", shown(f.Leads, 200), j.child)}
	}
	return nil
}

// kernelWord is the word of a record for what the kernel holds of whom a lease is for;
// "" where nobody runs, or it is not to be confined.
func kernelWord(l *children.Lease) string {
	if l == nil {
		return ""
	}
	return reportKernel(l.Kernel()).Kernel
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
