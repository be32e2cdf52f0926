package assignment

import (
	"context"
	"time"

	"mcphub/children"
	"mcphub/children/run"
	"mcphub/children/spec"
	"mcphub/hub/configuration"
	"mcphub/rootsmgr"
)

// TryAcquire returns the right to call a child as conf describes it if that takes
// no waiting; nil if it does.
func (s *AssignedSession[S]) TryAcquire(conf *configuration.Configuration, name string) *children.Lease {
	c := conf.Child(name)
	at, _ := s.assigned.Load().Lookup(name)
	if c == nil || at.Revision != c.Spec.Revision || conf.IsDenied(name) {
		return nil
	}
	lease, ok := s.table.Supervisor.TryAcquire(at.Key)
	switch {
	case !ok:
		return nil
	case lease.Revision() != c.Spec.Revision:
		lease.Release()
		return nil
	}
	return lease
}

// awaitAssignment returns the instance that serves the session now. A child that is
// shared by roots has none before the roots are known.
func (s *AssignedSession[S]) awaitAssignment(ctx context.Context, conf *configuration.Configuration, name string) (spec.Key, error) {
	c := conf.Child(name)
	if conf.IsDenied(name) {
		return spec.Key{}, &run.UnavailableError{Child: name, Reason: "the policy of hub.json denies all of it here, and it is not started"}
	}
	if p, ok := s.assigned.Load().Lookup(name); ok && p.Revision == c.Spec.Revision {
		return p.Key, nil
	}
	over := time.NewTimer(conf.Roots.Timeout)
	defer over.Stop()
	replaced := conf.Replaced()
	for {
		now := s.assigned.Load()
		if p, ok := now.Lookup(name); ok && p.Revision == c.Spec.Revision {
			return p.Key, nil
		}
		if s.Current.IsSuperseded(conf, name) {
			return spec.Key{}, configuration.ErrSuperseded
		}
		select {
		case <-now.Next():
		case <-replaced:
			replaced = nil // by one in which this child is the same
		case <-over.C:
			return spec.Key{}, &run.UnavailableError{Child: name, Reason: "the client has not said which folders are open, and they decide which process serves it; call again in a moment"}
		case <-ctx.Done():
			return spec.Key{}, &run.UnavailableError{Child: name, Reason: "it is not started for this session yet", Err: context.Cause(ctx)}
		}
	}
}

// Acquire waits for the right to call a child as conf describes it, within its time
// to start. If the session moves meanwhile, it is that to call the instance it
// moved to. The error is ErrSuperseded if a reload has replaced the child.
func (s *AssignedSession[S]) Acquire(ctx context.Context, conf *configuration.Configuration, name string) (*children.Lease, error) {
	c := conf.Child(name)
	if c == nil {
		return nil, configuration.ErrSuperseded
	}
	lease, err := s.acquireAssigned(ctx, conf, name)
	switch {
	case err != nil && s.Current.IsSuperseded(conf, name):
		return nil, configuration.ErrSuperseded
	case err != nil:
		return nil, err
	case lease.Revision() != c.Spec.Revision:
		lease.Release()
		return nil, configuration.ErrSuperseded
	}
	return lease, nil
}

func (s *AssignedSession[S]) acquireAssigned(ctx context.Context, conf *configuration.Configuration, name string) (*children.Lease, error) {
	ctx, cancel := context.WithTimeout(ctx, conf.StartLimit(name))
	defer cancel()
	for {
		key, err := s.awaitAssignment(ctx, conf, name)
		if err != nil {
			return nil, err
		}
		lease, err := s.table.Supervisor.Acquire(ctx, key)
		at := s.assigned.Load()
		p, ok := at.Lookup(name)
		switch {
		case !ok, ctx.Err() != nil, p.Key == key && (err == nil || s.table.Supervisor.ServingKey(key) == key):
			return lease, err
		case p.Key == key: // the session is about to move from there
			select {
			case <-at.Next():
			case <-ctx.Done():
				return nil, err
			}
		}
		if err == nil {
			lease.Release()
		}
	}
}

// Plan returns where a child would work that does not run, and with which roots; false
// if it runs, or that cannot be told. With a view it reports that of any child that was
// given the roots of the view.
func (s *AssignedSession[S]) Plan(conf *configuration.Configuration, child string, rootsView *rootsmgr.RootsView) (cwd string, served []string, ok bool) {
	c := conf.Child(child)
	at, assigned := s.assigned.Load().Lookup(child)
	switch {
	case !assigned || at.Revision != c.Spec.Revision:
		return "", nil, false
	case rootsView != nil:
		return s.table.Supervisor.PlanWorkplaceWith(at.Key, s.RootsFor(conf, c, *rootsView))
	}
	return s.table.Supervisor.PlanWorkplace(at.Key)
}
