package hub

import (
	"context"
	"runtime"
	"sync"

	"github.com/rs/zerolog"

	"mcphub/children"
	"mcphub/hub/catalog"
)

// This file is about what children offered last: a session is shown it
// before any of them has started, and no call is made by it alone.

// read returns a child's offer as the hub sees it under g, from the last reading
// where it is the same one.
func (h *Hub) read(g *generation, child *Child, raw *children.Offer) *catalog.Offer {
	h.mu.Lock()
	last := g.lastRead[child]
	h.mu.Unlock()
	if last != nil && last.Raw == raw {
		return last
	}
	return g.offers.Read(child.Spec.Name, raw)
}

// readAndKeep is read, for an offer that others will want too.
func (h *Hub) readAndKeep(g *generation, child *Child, raw *children.Offer) *catalog.Offer {
	o := h.read(g, child, raw)
	h.mu.Lock()
	defer h.mu.Unlock()
	if last := g.lastRead[child]; last != nil && last.Raw == raw {
		return last // of two readings at a time the first counts
	}
	g.lastRead[child] = o
	warnOmitted(o, g.cfg.Log)
	return o
}

// mostNamed is how much of what is not offered one warning names.
const mostNamed = 10

// warnOmitted logs what a child defines and is not offered.
func warnOmitted(o *catalog.Offer, log zerolog.Logger) {
	if len(o.Omitted) == 0 {
		return
	}
	what := zerolog.Arr()
	for _, left := range o.Omitted[:min(len(o.Omitted), mostNamed)] {
		what = what.Str(shown(left.Name, 100) + ": " + shown(left.Reason, 300))
	}
	log.Warn().Str("child", o.Child()).Int("count", len(o.Omitted)).Array("what", what).Msg("not everything that the server defines is offered")
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
	case <-s.clientKnown:
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
func (s *Session) recallAll(g *generation) []*catalog.Offer {
	all := g.cfg.Children
	found := make([]*catalog.Offer, len(all))
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
