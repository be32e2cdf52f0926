package call

import (
	"context"
	"errors"

	"mcphub/hub/client"
	"mcphub/hub/configuration"
	"mcphub/hub/failure"
)

// awaitListed has the children to which something may belong report what they offer,
// the quick ways first, until it is found. down says about a child that cannot be
// asked why; "" where none is. ctx reports whether the caller still waits.
func (s *Sender) awaitListed(ctx context.Context, candidates func() []string, found func() bool) (ok bool, down string) {
	if found() {
		return true, ""
	}
	s.Offering.AwaitRecalled(ctx)
	if found() {
		return true, ""
	}
	back := s.ClientOf(ctx).AllowHubQuestions() // what the children wait for may be the roots
	owners, failures := candidates(), map[string]int{}
	for _, owner := range owners {
		failures[owner] = s.Offering.ChildStatus(owner).Failures
	}
	s.awaitStart(ctx, owners)
	back()
	if found() {
		return true, ""
	}
	for _, owner := range owners {
		if st := s.Offering.ChildStatus(owner); !st.Listed && st.Failures > failures[owner] && !(st.AsksLogin && client.RequestOf(ctx).OffersLogin) {
			return false, failure.NotReady(st, s.StderrOf(st)) // it has had its time to start
		}
		if down := s.reviveChild(ctx, owner); down != "" || ctx.Err() != nil {
			return false, down
		}
		if found() {
			return true, ""
		}
	}
	return false, ""
}

// reviveChild sees to it that a child which has not listed its tools in this
// session is started, or tried again, now that someone wants something that is
// not known; down reports why that did not help.
func (s *Sender) reviveChild(ctx context.Context, name string) (down string) {
	st := s.Offering.ChildStatus(name)
	if st.Listed || st.Unread {
		return ""
	}
	lease, err := s.Acquire(ctx, s.Current.InForce(), name)
	switch {
	case err == nil:
		lease.Release()
	case ctx.Err() != nil:
		return ""
	case errors.Is(err, configuration.ErrSuperseded): // the one that takes its place may list it
	case s.Current.InForce().IsDenied(name): // by a reload meanwhile: the denial names the rule
		return ""
	case failure.KindOf(ctx, err) == failure.NotAvailable:
		return failure.UnavailableText(err)
	default:
		return failure.NotReady(st, s.StderrOf(st))
	}
	s.awaitStart(ctx, []string{name})
	return ""
}
