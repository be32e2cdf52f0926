package children

import (
	"context"

	"mcphub/children/link"
	"mcphub/children/run"
	"mcphub/children/served"
	"mcphub/internal/jsonrpc"
)

// instance is a child as its run sees it.
type instance struct{ *child }

// Wanted are the roots that the child is to have now.
func (c instance) Wanted() served.Wanted { return c.wanted().Wanted }

// NoRoots says why the child is served none.
func (c instance) NoRoots() string { return c.noRoots() }

// FetchRoots tells who is to get the roots before a roots/list is answered.
func (c instance) FetchRoots(ctx context.Context) func(ctx context.Context) {
	if c.common.Roots == nil {
		return nil
	}
	return c.common.Roots(ctx, c.key)
}

// Client is whom the instance serves.
func (c instance) Client() link.ClientProfile {
	to := c.common.client(c.key)
	if c.common.Level != nil {
		to.Level = c.common.Level(c.key)
	}
	return to
}

// Current reports whether this is the run that may be called.
func (c instance) Current(r *run.Run) bool { return c.view.Load().run == r }

// Request answers what the child asks.
func (c instance) Request(ctx context.Context, m *jsonrpc.Message) jsonrpc.Answer {
	if c.common.Request == nil {
		return jsonrpc.ErrorAnswer(jsonrpc.CodeMethodNotFound, "nobody here answers this")
	}
	return c.common.Request(ctx, c.key, m)
}

// Notification hands on what the child announces.
func (c instance) Notification(ctx context.Context, m *jsonrpc.Message) {
	if c.common.Notification != nil {
		c.common.Notification(ctx, c.key, m)
	}
}

// noRoots says why the child is served none.
func (c *child) noRoots() string {
	if c.common.NoRoots == nil {
		return ""
	}
	return c.common.NoRoots(c.key)
}
