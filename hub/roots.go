package hub

import (
	"context"
	"time"

	"mcphub/children"
	"mcphub/rootsmgr"
)

// This file gets the roots that a call is judged by, and says whose they are.

// boundary waits for the roots that this call is judged by, and until the
// children have been given them.
func (s *Session) boundary(ctx context.Context, patience *rootsmgr.Wait) (rootsmgr.View, error) {
	if p := parleyOf(ctx); p != nil {
		return p.boundary(ctx)
	}
	began := time.Now()
	defer lend(ctx)()
	view, err := patience.Await(ctx)
	if err != nil {
		return view, err
	}
	return s.of(ctx, view), s.awaitServed(ctx, view, s.hub.now().cfg.Roots.Timeout-time.Since(began))
}

// of says in a view whose roots it is about.
func (s *Session) of(ctx context.Context, view rootsmgr.View) rootsmgr.View {
	view.Client = s.capabilities().name
	if p := parleyOf(ctx); p != nil {
		view.Client = p.meta().caps.name
	}
	return view
}

// lookAgain returns what a call is judged by that would be denied: what the client
// answers when it is asked once more, else the roots with those that have come
// into being meanwhile (R11, R13). newer is false where there is nothing else.
func (s *Session) lookAgain(ctx context.Context, patience *rootsmgr.Wait, j *judgement) (view rootsmgr.View, newer bool, err error) {
	if parleyOf(ctx) == nil {
		view, newer, err = patience.Reconsider(ctx)
		if newer && err == nil {
			err = s.awaitServed(ctx, view, j.gen.cfg.Roots.Timeout)
		}
	}
	if err != nil || newer || !s.roots.LookAgain(ctx, j.view, j.verdict.Refused()...) {
		return s.of(ctx, view), newer, err
	}
	view, err = s.boundary(ctx, patience)
	return view, true, err
}

// noRoots says why an instance is served no roots, for the answer to its
// roots/list. One that several sessions share is told of none of them.
func (h *Hub) noRoots(k children.Key) string {
	if s := h.owner(k); s != nil {
		return s.of(context.Background(), s.roots.View()).Meaning()
	}
	for _, s := range h.holding(k) {
		if k.Instance != "" {
			return s.roots.View().Meaning()
		}
	}
	return "This server is shared by all clients, and no roots are configured for it: " +
		"start mcphub with --roots DIR, set MCPHUB_ROOTS or roots.fallback in hub.json, or leave out \"share\"."
}

// places are the directories beside the session's roots that its children may
// write in: a root that is a link in one is not followed out of it (R13).
func (s *Session) places() []string {
	return append(s.hub.now().cfg.Checker.Places(), s.consent.directories()...)
}
