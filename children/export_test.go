package children

import (
	"mcphub/children/offers"
	"mcphub/children/sandbox"
	"mcphub/children/spec"
	"mcphub/rootsmgr/guard"
)

// Ensure calls BoundedSupervisor.EnsureInstance for tests in which the kernel holds no one to a boundary.
func (s *Supervisor) Ensure(k spec.Key, roots []guard.Root) {
	s.WithBoundary(sandbox.Boundary{}).EnsureInstance(k, roots)
}

// Recall calls BoundedSupervisor.RecallOffer, as Ensure does, for a session without roots.
func (s *Supervisor) Recall(k spec.Key) *offers.RawOffer {
	return s.WithBoundary(sandbox.Boundary{}).RecallOffer(k, nil)
}

// SetRoots calls BoundedSupervisor.SetRoots, as Ensure does.
func (s *Supervisor) SetRoots(k spec.Key, roots []guard.Root) {
	s.WithBoundary(sandbox.Boundary{}).SetRoots(k, roots)
}
