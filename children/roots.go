package children

import (
	"mcphub/children/sandbox"
	"mcphub/children/spec"
	"mcphub/rootsmgr/guard"
)

// This file is how instances are told about the roots that they are to have, and of the boundary.

// WithBoundary returns the Supervisor for the caller that has this boundary: what it says
// about roots says with them what the kernel is to hold a confined instance to.
func (s *Supervisor) WithBoundary(b sandbox.Boundary) BoundedSupervisor {
	return BoundedSupervisor{s: s, boundary: b}
}

// A BoundedSupervisor is a Supervisor and a boundary.
type BoundedSupervisor struct {
	s        *Supervisor
	boundary sandbox.Boundary
	whose    string
	looks    *sandbox.LstatCache
}

// WithLooks returns the BoundedSupervisor for one of several instances that are told at the same time. The instances that start then
// look once at each path.
func (b BoundedSupervisor) WithLooks(looks *sandbox.LstatCache) BoundedSupervisor {
	b.looks = looks
	return b
}

// ForPrincipal returns the BoundedSupervisor for sessions of those who have the same rights: what is listed for them is shown to no one else.
func (b BoundedSupervisor) ForPrincipal(whose string) BoundedSupervisor {
	b.whose = whose
	return b
}

// PrestartInstance starts the instance although the first roots are not known yet. One that needs them to start waits
// for [BoundedSupervisor.EnsureInstance] or [BoundedSupervisor.SetRoots]; another is replaced once then, if they give
// it another working directory, other arguments or another environment. What EnsureInstance says about lazy ones holds
// here too.
func (s *Supervisor) PrestartInstance(k spec.Key) {
	if child := s.instanceOf(k); child != nil {
		child.noteShouldRun()
	}
}

// EnsureInstance sees to it that the instance runs with these roots, of which there may be
// none. An instance that starts lazily, and whose offer is known, waits for a call. It
// returns at once. A Key without a Spec is ignored. What a confined instance may open of
// its roots is what the boundary holds.
func (b BoundedSupervisor) EnsureInstance(k spec.Key, roots []guard.Root) {
	if child := b.s.instanceOf(k); child != nil {
		child.shareLooks(b.looks)
		child.setRoots(roots, b.boundary, b.whose, true)
	}
}

// AssumeRoots sees to it that the instance runs with these roots until the first ones are
// known. An instance that needs roots to start is started too. What happens when the
// first roots are known is the same as after PrestartInstance.
func (b BoundedSupervisor) AssumeRoots(k spec.Key, roots []guard.Root) {
	if child := b.s.instanceOf(k); child != nil {
		child.shareLooks(b.looks)
		child.assumeRoots(roots, b.boundary, b.whose)
	}
}

// SetRoots tells an instance of a change of roots. Calls acquired
// from now on wait, bounded, until the child has applied it.
func (b BoundedSupervisor) SetRoots(k spec.Key, roots []guard.Root) {
	if child := b.s.childOf(k); child != nil {
		child.setRoots(roots, b.boundary, b.whose, false)
	}
}
