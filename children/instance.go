package children

import (
	"context"

	"mcphub/children/link"
	"mcphub/children/offers"
	"mcphub/children/run"
	"mcphub/children/servedroots"
	"mcphub/internal/jsonrpc"
)

// runInstance is a childInstance as its run sees it.
type runInstance struct{ *childInstance }

// WantedRoots returns the roots that the child is to have now.
func (i runInstance) WantedRoots() servedroots.WantedRoots { return i.currentWanted().WantedRoots }

// FetchRoots returns who is to get the roots before a roots/list is answered.
func (i runInstance) FetchRoots(ctx context.Context) func(ctx context.Context) {
	if i.common.Roots == nil {
		return nil
	}
	return i.common.Roots(ctx, i.key)
}

// ClientProfile returns what the child is shown of the client that it serves.
func (i runInstance) ClientProfile() link.ClientProfile {
	to := i.common.clientProfile(i.key)
	if i.common.Level != nil {
		to.Level = i.common.Level(i.key)
	}
	return to
}

// Current reports whether this is the run that may be called.
func (i runInstance) Current(r *run.Run) bool { return i.snapshot.Load().run == r }

// Request answers what the child asks.
func (i runInstance) Request(ctx context.Context, m *jsonrpc.Message) jsonrpc.Answer {
	if i.common.Request == nil {
		return jsonrpc.RefuseMethod("nobody here answers this")
	}
	return i.common.Request(ctx, i.key, m)
}

// ListsChanged hands on that the child has announced a change of lists.
func (i runInstance) ListsChanged(which offers.Lists) {
	if i.common.ListsChanged != nil {
		i.common.ListsChanged(i.key, which)
	}
}

// Notification hands on what else the child announces.
func (i runInstance) Notification(ctx context.Context, m *jsonrpc.Message) {
	if i.common.Notification != nil {
		i.common.Notification(ctx, i.key, m)
	}
}

// NoRoots returns why the child is served none.
func (child *childInstance) NoRoots() string {
	if child.common.NoRoots == nil {
		return ""
	}
	return child.common.NoRoots(child.key)
}
