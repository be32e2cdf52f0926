package hub

import (
	"context"
	"time"

	"mcphub/children"
	"mcphub/hub/assignment"
	"mcphub/hub/call"
	"mcphub/hub/configuration"
	"mcphub/internal/jsonrpc"
	"mcphub/rootsmgr"
)

// callInstances is a Session as its calls see it.
type callInstances struct{ *Session }

var _ call.Instances = callInstances{}

func (s callInstances) ByRoots(c *Child) bool { return s.byRoots(c) }

func (s callInstances) RootsAreCurrent() bool { return s.rootsAreCurrent() }

func (s callInstances) Ready(by *configuration.Configuration, child string) *children.Lease {
	return s.ready(by, child)
}

func (s callInstances) Acquire(ctx context.Context, by *configuration.Configuration, child string) (*children.Lease, error) {
	return s.acquire(ctx, by, child)
}

func (s callInstances) Foresee(by *configuration.Configuration, child string) (cwd string, served []string, ok bool) {
	at, assigned := s.assigned.Load().Of(child)
	if !assigned || at.Revision != by.Child(child).Spec.Revision {
		return "", nil, false
	}
	return s.hub.sup.Foresee(at.Key)
}

func (s callInstances) Moved(child string) bool { return s.assigned.Load().Moved(child) }

func (s callInstances) RootsFor(by *configuration.Configuration, c *Child, view rootsmgr.View) []rootsmgr.Root {
	return s.rootsFor(by, c, view)
}

func (s callInstances) AwaitGrants(ctx context.Context, limit time.Duration, version uint64) error {
	return s.awaitGiven(ctx, limit, func(now assignment.State) bool { return now.Grants >= version })
}

func (s callInstances) AdoptTask(ctx context.Context, lease *children.Lease, a jsonrpc.Answer, drop func()) jsonrpc.Answer {
	return s.tasks.Adopt(ctx, taskSession{s.Session}, lease, a, drop)
}

// RootsGiven reports whether a child is served the roots that came with calls: those
// of another call may be on their way to it.
func (s callInstances) RootsGiven(child string) bool {
	if !s.stateless {
		if !s.roots.Given() {
			return true
		}
		view := s.roots.View()
		now, _ := s.served.Now()
		return !view.Assumed && now.Given && now.Roots >= view.Snapshot.Generation()
	}
	return s.served.GivenBrought(child)
}

// AwaitRootsGiven waits until that is so.
func (s callInstances) AwaitRootsGiven(ctx context.Context, child string) {
	for {
		news := s.roots.Updates()
		_, again := s.served.Now()
		if s.RootsGiven(child) {
			return
		}
		select {
		case <-news:
		case <-again:
		case <-ctx.Done():
			return
		}
	}
}
