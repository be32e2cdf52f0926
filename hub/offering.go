package hub

import (
	"context"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"mcphub/children"
	"mcphub/hub/catalog"
	"mcphub/hub/configuration"
)

// An onOffer is what one session is offered: what is known of its children, what they
// offer, and the catalogue of that, made under one configuration. It knows of the
// session only what its functions tell. Its methods may be called by any goroutine.
type onOffer struct {
	latest func() *configuration.Configuration // of the hub
	moved  func(child string) bool             // another instance serves the session, which has not listed its tools yet

	catalog  atomic.Pointer[listing] // nil when an offer has come: see tools
	recalled chan struct{}           // closed when what is remembered is in the catalogue

	mu      sync.Mutex
	gen     *configuration.Configuration // that the session goes by: its catalogue is made under it
	offers  map[string]*catalog.Offer
	told    map[string]children.Status
	changed chan struct{} // told or offers; closed and replaced at each change
	until   time.Time     // until when lists wait for starting children; zero before the first
}

func newOnOffer(g *configuration.Configuration, latest func() *configuration.Configuration, moved func(child string) bool) *onOffer {
	return &onOffer{
		latest: latest, moved: moved, recalled: make(chan struct{}), changed: make(chan struct{}),
		gen: g, offers: map[string]*catalog.Offer{}, told: map[string]children.Status{},
	}
}

// configuration is the one that the session goes by.
func (o *onOffer) configuration() *configuration.Configuration {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.gen
}

// offersNow returns what the children offer, and the configuration that the session
// goes by.
func (o *onOffer) offersNow() (*configuration.Configuration, map[string]*catalog.Offer) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.gen, maps.Clone(o.offers)
}

// take takes in what is told of the instance that serves the session. restarted: it is
// ready anew; changed: it offers something else.
func (o *onOffer) take(st children.Status, offer *catalog.Offer) (restarted, changed bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	before := o.told[st.Child]
	restarted = st.State == children.Ready && (before.State != children.Ready || st.Renewed != before.Renewed)
	o.told[st.Child] = st
	had := o.offers[st.Child]
	switch {
	case offer != nil && had != offer:
		o.offers[st.Child] = offer
		o.catalog.Store(nil)
		changed = true
	case offer == nil && had != nil && o.replacing(had) && settled(st, true, false):
		delete(o.offers, st.Child) // the one that was to take its place has failed
		o.catalog.Store(nil)
		changed = true
	}
	o.wake()
	return restarted, changed
}

// wake has whoever waits look again. mu is held.
func (o *onOffer) wake() {
	close(o.changed)
	o.changed = make(chan struct{})
}

// adopt makes g what the session goes by. Offers that g reads otherwise are in
// renewed. replaced are the children of which nothing is known any more.
func (o *onOffer) adopt(g *configuration.Configuration, renewed map[*children.Offer]*catalog.Offer) (replaced []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for name, of := range o.offers {
		c := g.Child(name)
		switch {
		case c == nil:
			delete(o.offers, name)
		case c.Spec.Revision == of.Revision() && renewed[of.Raw] != nil:
			o.offers[name] = renewed[of.Raw]
		case !of.NamesAlike(g.Offers):
			delete(o.offers, name)
		}
	}
	for name, st := range o.told {
		if c := g.Child(name); c == nil || c.Spec.Revision != st.Revision {
			delete(o.told, name)
			replaced = append(replaced, name)
		}
	}
	o.gen = g
	o.until = time.Time{} // what is new has its time, too
	o.catalog.Store(nil)
	o.wake()
	return replaced
}

// tools returns the session's catalogue, made anew where an offer has come since:
// when many children start, their offers come in one after the other, and nobody
// looks at what is between.
func (o *onOffer) tools() *listing {
	if c := o.catalog.Load(); c != nil {
		return c
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.toolsNow()
}

// toolsNow is tools for callers that hold mu.
func (o *onOffer) toolsNow() *listing {
	if c := o.catalog.Load(); c != nil {
		return c
	}
	l := &listing{o.gen.Offers.Catalog(o.offers), o.gen}
	o.catalog.Store(l)
	return l
}

// replacing reports an offer of a child that is being replaced. mu is held.
func (o *onOffer) replacing(of *catalog.Offer) bool { return !of.By(o.gen.Offers) }

// childStatus is one child as this session sees it. offered: the instance that
// serves the session now has listed its tools, or what it offers is remembered.
func (o *onOffer) childStatus(name string) (st children.Status, known, offered bool, changed <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	st, known = o.told[name]
	offer := o.offers[name]
	return st, known, offer != nil && !o.replacing(offer) && !o.moved(name), o.changed
}

// ownOffer is one child as this session sees it, with the offer of the instance that
// serves the session now or what is remembered of it; nil where there is none.
func (o *onOffer) ownOffer(name string) (children.Status, *catalog.Offer) {
	o.mu.Lock()
	defer o.mu.Unlock()
	of := o.offers[name]
	if of == nil || o.replacing(of) || o.moved(name) {
		return o.told[name], nil
	}
	return o.told[name], of
}

// settled reports whether it is known what a child offers, or will not be soon.
func settled(st children.Status, known, offered bool) bool {
	return offered || known && (st.State == children.BackingOff || st.State == children.Stopped)
}

// listed reports whether a child has listed its tools since it was started for
// this session, or will not soon.
func listed(st children.Status, known, offered bool) bool {
	return st.Listed && offered || known && (st.State == children.BackingOff || st.State == children.Stopped || st.State == children.Cold)
}

// started reports whether there is anything to tell of a child: its life has
// begun, and it is settled.
func started(st children.Status, known, offered bool) bool {
	return known && st.State != children.Configured && settled(st, known, offered)
}

// awaitStarted waits until there is something to tell of every child, within the
// time that a list has.
func (o *onOffer) awaitStarted(ctx context.Context) {
	g := o.latest()
	ctx, cancel := context.WithTimeout(ctx, g.Limits.ListWait)
	defer cancel()
	o.awaitChildren(ctx, g.ChildNames(), started)
}

// awaitChildren waits until every named child is as wanted, or ctx ends. A
// child that is not yet configured to run counts as one to wait for.
func (o *onOffer) awaitChildren(ctx context.Context, names []string, wanted func(st children.Status, known, offered bool) bool) {
	for _, name := range names {
		for {
			st, known, offered, changed := o.childStatus(name)
			if wanted(st, known, offered) || o.latest().Child(name) == nil {
				break
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
		}
	}
}

// awaitOffers gives the children that are still starting their time, and no
// more: a list is answered with what there is by then.
func (o *onOffer) awaitOffers(ctx context.Context) {
	g := o.latest()
	ctx, cancel := context.WithDeadline(ctx, o.listsBy(g.Limits.ListWait))
	defer cancel()
	o.awaitRecalled(ctx)
	o.awaitChildren(ctx, g.ChildNames(), settled)
}

// listsBy is when the session's lists have waited for starting children for long
// enough: a child that hangs delays the first of them, and not every one.
func (o *onOffer) listsBy(wait time.Duration) time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.until.IsZero() {
		o.until = time.Now().Add(wait)
	}
	return o.until
}

// takeRecalled offers what was found of children that have told nothing yet;
// false where the session goes by another configuration than g.
func (o *onOffer) takeRecalled(g *configuration.Configuration, found []*catalog.Offer) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.gen != g {
		return false
	}
	for i, of := range found {
		name := g.Children[i].Spec.Name
		if had := o.offers[name]; of != nil && (had == nil || o.replacing(had)) {
			o.offers[name] = of
			o.catalog.Store(nil)
		}
	}
	return true
}

// awaitRecalled waits until what is remembered is in the catalogue.
func (o *onOffer) awaitRecalled(ctx context.Context) {
	select {
	case <-o.recalled:
	case <-ctx.Done():
	}
}
