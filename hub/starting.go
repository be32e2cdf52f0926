package hub

import (
	"context"
	"errors"
	"time"

	"mcphub/children"
	"mcphub/hub/call"
	"mcphub/hub/configuration"
)

// await has the children to which something may belong tell what they offer, the
// quick ways first, until it is found. down says of a child that cannot be asked
// why; "" where none is. ctx tells whether the caller still waits.
func (s *Session) await(ctx context.Context, owners []string, found func() bool) (ok bool, down string) {
	s.AwaitRecalled(ctx)
	if found() {
		return true, ""
	}
	back := s.calls.ClientOf(ctx).Lend() // what the children wait for may be the roots
	failures := map[string]int{}
	for _, owner := range owners {
		st, _, _, _ := s.ChildStatus(owner)
		failures[owner] = st.Failures
	}
	s.awaitStart(ctx, owners)
	back()
	if found() {
		return true, ""
	}
	for _, owner := range owners {
		if st, _, _, _ := s.ChildStatus(owner); !st.Listed && st.Failures > failures[owner] {
			return false, s.downText(st) // it has had its time to start
		}
		if down := s.revive(ctx, owner); down != "" || ctx.Err() != nil {
			return false, down
		}
	}
	return found(), ""
}

// awaitStart waits until these children have listed their tools or failed, but
// not longer than the slowest of them may take to start.
func (s *Session) awaitStart(ctx context.Context, names []string) {
	var limit time.Duration
	g := s.hub.now()
	for _, name := range names {
		limit = max(limit, g.StartLimit(name))
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if len(names) > 0 {
		defer call.Waiting(ctx, names[0])()
	}
	s.AwaitListed(ctx, names)
}

// revive sees to it that a child which has not listed its tools in this
// session is started, or tried again, now that somebody wants something that is
// not known; down says why that did not help.
func (s *Session) revive(ctx context.Context, name string) (down string) {
	st, _, _, _ := s.ChildStatus(name)
	if st.Listed {
		return ""
	}
	lease, err := s.acquire(ctx, s.hub.now(), name)
	var gone *children.UnavailableError
	switch {
	case err == nil:
		lease.Release()
	case ctx.Err() != nil:
		return ""
	case errors.Is(err, configuration.ErrSuperseded): // the one that takes its place may list it
	case errors.As(err, &gone):
		return gone.Error()
	default:
		return s.downText(st)
	}
	s.awaitStart(ctx, []string{name})
	return ""
}
