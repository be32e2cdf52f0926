package assignment

import (
	"context"
	"time"

	"mcphub/children"
	"mcphub/children/sandbox"
	"mcphub/children/spec"
	"mcphub/hub/configuration"
	"mcphub/rootsmgr"
	"mcphub/rootsmgr/guard"
)

// This file starts the children of a session, gives them roots, and moves the session to
// another instance when its roots change.

// Run starts the children once their roots are known, or after a second the ones that need
// none to start, and serves every later change down. It alone assigns the session to
// instances and sets roots for it, so all that comes in order.
func (s *AssignedSession[S]) Run(ctx context.Context, started <-chan struct{}) {
	select {
	case <-started:
	case <-ctx.Done():
		return
	}
	s.Offering.AwaitRecalled(ctx) // or the first thing they tell would be read twice
	s.serveAll()
	timer := time.NewTimer(startAfter)
	defer timer.Stop()
	for known := false; !known; {
		select {
		case <-s.Roots.First():
			known = true
		case <-timer.C:
			s.prestartOwn()
		case <-s.yielded:
			s.serveAll()
		case <-ctx.Done():
			return
		}
	}
	for first := true; ; first = false {
		updates, grants, next := s.serveRootsNow(ctx, first)
		select {
		case <-updates:
		case <-s.served.Wanted():
		case <-s.yielded:
		case <-grants:
		case <-next:
		case <-s.retryTimer():
		case <-ctx.Done():
			return
		}
	}
}

// serveRootsNow serves the roots as they stand. The channels tell when to do so
// again. It is a function of its own because a session waits without its variables:
// the stack of an idle session stays small.
//
//go:noinline
func (s *AssignedSession[S]) serveRootsNow(ctx context.Context, first bool) (updates, grants, next <-chan struct{}) {
	conf := s.Current.AwaitInForce()
	updates = s.Roots.Updates()
	rootsView := s.Roots.RootsView()
	if ctx.Err() != nil {
		return // what a session knows when it has ended is no change of its roots
	}
	s.Approvals.Prune(conf.ApprovalRules())
	fromCalls := s.served.LastFromCalls()
	granted, grants := s.Approvals.Version()
	s.serveChildren(conf, rootsView, first)
	s.served.Set(DeliveredRoots{Given: true, Configuration: conf.Number, Roots: rootsView.Mark(), Grants: granted, FromCalls: fromCalls})
	return updates, grants, conf.Replaced()
}

// serveAll starts the children that serve everybody: their roots are known.
func (s *AssignedSession[S]) serveAll() {
	conf, looks := s.Current.AwaitInForce(), sandbox.NewLstatCache()
	for i := range conf.Children {
		if c := &conf.Children[i]; c.Spec.Share == spec.ShareAll && !conf.IsDenied(c.Spec.Name) {
			roots, boundary := conf.CommonRoots()[c.Spec.Name], conf.CommonBoundary(c)
			s.serveChild(c, roots, s.supervisorFor(c, s.recordWritable(c, boundary, roots)).WithLooks(looks), true, false)
		}
	}
}

// prestartOwn starts the session's own children before its roots are known.
// One that is shared by roots has to wait: they name its instance.
func (s *AssignedSession[S]) prestartOwn() {
	conf := s.Current.AwaitInForce()
	for i := range conf.Children {
		if c := &conf.Children[i]; c.Spec.Share == spec.ShareSession && !conf.IsDenied(c.Spec.Name) {
			k := s.KeyFor(c, nil)
			if b := s.recordWritable(c, sandbox.Boundary{}); b.Barred != "" {
				continue // it is told when its roots are known
			}
			s.attachTo(c, k, func() { s.table.Supervisor.PrestartInstance(k) })
		}
	}
}

// serveChildren has every child of conf that is not denied serve the session with the roots of a
// view, and no other.
func (s *AssignedSession[S]) serveChildren(conf *configuration.Configuration, rootsView rootsmgr.RootsView, first bool) {
	looks := sandbox.NewLstatCache() // those that start now need the same paths
	for i := range conf.Children {
		c := &conf.Children[i]
		if conf.IsDenied(c.Spec.Name) {
			continue
		}
		its := rootsView
		if b, ok := s.fromCalls(c); ok {
			its = b.RootsView
		}
		roots := s.RootsFor(conf, c, its)
		boundary := s.boundaryOf(conf, c, its, roots)
		if c.Spec.Share == spec.ShareAll {
			s.serveChild(c, roots, s.supervisorFor(c, s.recordWritable(c, boundary, roots)).WithLooks(looks), first, false)
			continue
		}
		boundary = s.recordWritable(c, boundary, conf.RootsViewFor(c, its).Snapshot.Roots(), roots)
		s.serveChild(c, roots, s.supervisorFor(c, boundary).WithLooks(looks), first, its.Assumed)
	}
	for name, at := range s.assigned.Load().All() {
		if conf.Child(name) == nil || conf.IsDenied(name) {
			s.table.detachSession(s, at.Key)
			s.table.Supervisor.LeaveInstance(at.Key)
		}
	}
}

// serveChild gives a child new roots; where other roots mean another instance,
// it moves the session there. assumed: the roots stand in for those to come.
func (s *AssignedSession[S]) serveChild(c *configuration.Child, roots []guard.Root, sup children.BoundedSupervisor, first, assumed bool) {
	k := s.KeyFor(c, roots)
	at, assigned := s.assigned.Load().Lookup(k.Child)
	if assumed {
		s.attachTo(c, k, func() { sup.AssumeRoots(k, roots) })
		return
	}
	if first || !assigned || at.Key != k || at.Revision != c.Spec.Revision {
		s.attachTo(c, k, func() { sup.EnsureInstance(k, roots) })
		return
	}
	sup.SetRoots(k, roots)
}

// attachTo moves the session to an instance: calls that look for it from now on go
// there, those under way end where they are. start is called while the instance
// is held and before any call reaches it.
func (s *AssignedSession[S]) attachTo(c *configuration.Child, k spec.Key, start func()) {
	old, assigned := s.assigned.Load().Lookup(k.Child)
	if assigned && old.Key == k && old.Revision == c.Spec.Revision {
		start()
		return
	}
	serial := s.table.Supervisor.JoinBy(k, &c.Spec)
	start()
	s.table.moveSession(s, Assignment{Key: k, Serial: serial, Revision: c.Spec.Revision, AwaitsList: assigned && old.Key != k}, old.Key)
	s.table.Supervisor.UpdateLevel(k) // others may have begun it
	if assigned {
		s.table.Supervisor.LeaveInstance(old.Key)
	}
}
