package hub

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/rs/zerolog"

	"mcphub/children"
	"mcphub/validate"
)

// This file is about what children offered last (C6): a session is shown it
// before any of them has started, and no call is made by it alone.

// read returns a child's offer as the hub sees it under g, from the last reading
// where it is the same one.
func (h *Hub) read(g *generation, child *Child, raw *children.Offer) *childOffer {
	h.mu.Lock()
	last := g.lastRead[child]
	h.mu.Unlock()
	if last != nil && last.raw == raw {
		return last
	}
	return g.readOffer(child, raw)
}

// readAndKeep is read, for an offer that others will want too.
func (h *Hub) readAndKeep(g *generation, child *Child, raw *children.Offer) *childOffer {
	o := h.read(g, child, raw)
	h.mu.Lock()
	defer h.mu.Unlock()
	if last := g.lastRead[child]; last != nil && last.raw == raw {
		return last // of two readings at a time the first counts
	}
	g.lastRead[child] = o
	o.warn(g.cfg.Log)
	return o
}

// mostNamed is how much of what is not offered one warning names.
const mostNamed = 10

// warn logs what a child defines and is not offered.
func (o *childOffer) warn(log zerolog.Logger) {
	if len(o.odd) == 0 {
		return
	}
	what := zerolog.Arr()
	for _, odd := range o.odd[:min(len(o.odd), mostNamed)] {
		what = what.Str(shown(odd.Tool, 100) + ": " + shown(odd.Reason, 300))
	}
	log.Warn().Str("child", o.child).Int("count", len(o.odd)).Array("what", what).Msg("not everything that the server defines is offered")
}

// recall fills the catalogue with what is remembered. Lists and names that are
// not known wait for it: it takes milliseconds. Where a reload comes in between,
// it begins anew: what is remembered of a child that has changed is of no use.
//
// What a server offers depends on what the client can do, so that has to be
// known first.
func (s *Session) recall(ctx context.Context) {
	defer close(s.recalled)
	select {
	case <-s.introduced:
	case <-ctx.Done():
		return
	}
	for {
		g := s.hub.inForce()
		if s.takeRecalled(g, s.recallAll(g)) {
			return
		}
	}
}

// recallAll reads what is remembered of the children of g, in their order; nil
// where nothing is.
func (s *Session) recallAll(g *generation) []*childOffer {
	all := g.cfg.Children
	found := make([]*childOffer, len(all))
	next := make(chan int)
	var readers sync.WaitGroup
	for range min(len(all), runtime.GOMAXPROCS(0)) {
		readers.Go(func() {
			for i := range next {
				if raw := s.hub.sup.Recall(s.keyFor(&all[i], nil)); raw != nil {
					found[i] = s.hub.readAndKeep(g, &all[i], raw)
				}
			}
		})
	}
	for i := range all {
		next <- i
	}
	close(next)
	readers.Wait()
	return found
}

// takeRecalled offers what was found of children that have told nothing yet;
// false where the session goes by another generation than g.
func (s *Session) takeRecalled(g *generation, found []*childOffer) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tab.gen != g {
		return false
	}
	for i, o := range found {
		name := g.cfg.Children[i].Spec.Name
		if had := s.tab.offers[name]; o != nil && (had == nil || s.isGhost(had)) {
			s.tab.offers[name] = o
			s.catalog.Store(nil)
		}
	}
	return true
}

// awaitRecalled waits until what is remembered is in the catalogue.
func (s *Session) awaitRecalled(ctx context.Context) {
	select {
	case <-s.recalled:
	case <-ctx.Done():
	}
}

// A changedToolError says that the running child defines a tool otherwise than
// the catalogue by which a call was judged.
type changedToolError struct{ now *offered }

func (e *changedToolError) Error() string {
	return fmt.Sprintf("the server %q changes the definition of %q again and again; ask tools/list and try once more", e.now.child, e.now.remote)
}

// A missingToolError says that the running child does not offer a tool that it
// offered before.
type missingToolError struct{ server, tool, reason string }

func (e *missingToolError) Error() string {
	if e.reason != "" {
		return fmt.Sprintf("The tool %q of server %q is not offered any more: %s", e.tool, e.server, e.reason)
	}
	return fmt.Sprintf("The server %q does not offer the tool %q any more: it did when it was listed before. tools/list shows what it has now.", e.server, e.tool)
}

// fits reports whether a tool is as the child of the lease defines it. A call
// that was scanned by another definition must not be made: the error is a
// *changedToolError with the tool to judge by, or a *missingToolError.
func (s *Session) fits(tool *offered, lease *children.Lease) error {
	raw := lease.Offer()
	if raw == tool.from {
		return nil
	}
	now := s.hub.read(tool.gen, tool.gen.byName[tool.child], raw)
	for _, o := range now.tools {
		switch {
		case o.remote != tool.remote:
		case raw.ServerName == tool.from.ServerName && bytes.Equal(o.entry, tool.entry):
			return nil
		default:
			return &changedToolError{o}
		}
	}
	for _, odd := range now.odd {
		if odd.Tool == tool.remote {
			return &missingToolError{tool.child, tool.remote, odd.Reason}
		}
	}
	return &missingToolError{server: tool.child, tool: tool.remote}
}

// confirm is asked before a call is refused by a tool's schema: while the child
// has not listed its tools in this session, that may be one of an earlier time.
// It returns the refusal, the error of fits, or errSuperseded.
func (s *Session) confirm(ctx context.Context, tool *offered, refusal error) error {
	if s.hub.superseded(tool.gen.byName[tool.child]) {
		return errSuperseded
	}
	if st, _, _, _ := s.childStatus(tool.child); st.Listed || !errors.As(refusal, new(*validate.SchemaError)) {
		return refusal
	}
	lease, err := s.acquire(ctx, tool.gen, tool.child)
	switch {
	case errors.Is(err, errSuperseded):
		return err
	case err != nil:
		return refusal
	}
	defer lease.Release()
	if err := s.fits(tool, lease); err != nil {
		return err
	}
	return refusal
}

// mostDefinitions is by how many definitions, one after the other, a call is
// judged.
const mostDefinitions = 4

// consider judges a call by the definition that the child which would run it
// has now: where it turns out to be another than the one in the catalogue, the
// call is judged again from the start. See considerBy.
func (s *Session) consider(ctx context.Context, c toolCall) (*judgement, error) {
	for n := 1; ; n++ {
		j, err := s.considerBy(ctx, c)
		changed, ok := errors.AsType[*changedToolError](err)
		if !ok || n == mostDefinitions {
			return j, err
		}
		s.log.Info().Str("child", c.tool.child).Str("tool", c.tool.remote).Msg("the tool is defined otherwise than it was listed; the call is judged anew")
		c.tool, c.scanned, c.current = changed.now, nil, true
	}
}
