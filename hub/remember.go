package hub

import (
	"context"
	"runtime"
	"sync"

	"mcphub/hub/catalog"
	"mcphub/hub/configuration"
)

// This file is about what children offered last: a session is shown it
// before any of them has started, and no call is made by it alone.

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
		g := s.hub.current.Followed()
		if s.takeRecalled(g, s.recallAll(g)) {
			return
		}
	}
}

// recallAll reads what is remembered of the children of g, in their order; nil
// where nothing is.
func (s *Session) recallAll(g *configuration.Configuration) []*catalog.Offer {
	all := g.Children
	found := make([]*catalog.Offer, len(all))
	next := make(chan int)
	var readers sync.WaitGroup
	for range min(len(all), runtime.GOMAXPROCS(0)) {
		readers.Go(func() {
			for i := range next {
				if raw := s.hub.sup.Recall(s.keyFor(&all[i], nil)); raw != nil {
					found[i] = g.KeepOffer(&all[i], raw)
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
