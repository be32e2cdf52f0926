package offering

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"

	"mcphub/children/offers"
	"mcphub/hub/catalog"
	"mcphub/hub/configuration"
)

// Recall fills the catalogue with what is remembered. Lists and names that are not known
// wait for it: it takes milliseconds. If a reload comes in between, it starts again: what
// is remembered of a child that has changed is of no use.
//
// What a server offers depends on what the client can do, so that has to be
// known first. remembered is what a child offered last; nil if that is not known, or if the
// instance looks it up when the roots of the session are known.
func (o *Offering) Recall(ctx context.Context, clientKnown <-chan struct{}, remembered func(*configuration.Configuration, *configuration.Child) *offers.RawOffer) {
	defer close(o.recalled)
	select {
	case <-clientKnown:
	case <-ctx.Done():
		return
	}
	for {
		conf := o.current.AwaitInForce()
		if o.takeRecalled(conf, recallAll(conf, remembered)) {
			return
		}
	}
}

// recallAll reads what is remembered of the children of conf, in their order; nil
// if nothing is, or the rules deny the child.
func recallAll(conf *configuration.Configuration, remembered func(*configuration.Configuration, *configuration.Child) *offers.RawOffer) []*catalog.Offer {
	all := conf.Children
	found := make([]*catalog.Offer, len(all))
	var next atomic.Int32
	read := func() {
		for i := int(next.Add(1)) - 1; i < len(all); i = int(next.Add(1)) - 1 {
			if conf.IsDenied(all[i].Spec.Name) {
				continue
			}
			if raw := remembered(conf, &all[i]); raw != nil {
				found[i] = conf.KeepOffer(&all[i], raw)
			}
		}
	}
	var others sync.WaitGroup
	for range min(len(all), runtime.GOMAXPROCS(0)) - 1 {
		others.Go(read)
	}
	read()
	others.Wait()
	return found
}

// takeRecalled offers what was found of children that have told nothing yet;
// false if the session goes by another configuration than conf.
func (o *Offering) takeRecalled(conf *configuration.Configuration, found []*catalog.Offer) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.conf != conf {
		return false
	}
	for i, of := range found {
		name := conf.Children[i].Spec.Name
		if had := o.byChild[name]; of != nil && (had == nil || o.isReplacing(had)) {
			o.byChild[name] = of
			delete(o.told, name) // no instance has told it
			o.hurryLists()
			o.catalog.Store(nil)
		}
	}
	return true
}

// AwaitRecalled waits until what is remembered is in the catalogue.
func (o *Offering) AwaitRecalled(ctx context.Context) {
	select {
	case <-o.recalled:
	case <-ctx.Done():
	}
}
