package offering

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"mcphub/children"
	"mcphub/children/offers"
	"mcphub/hub/catalog"
	"mcphub/hub/configuration"
)

// An Offering is what one session is offered: what is known of its children, what they
// offer, and the catalogue of that, made under one configuration. Its methods may be
// called by any goroutine.
type Offering struct {
	current *configuration.Current
	moved   func(child string) bool // another instance serves the session, which has not listed its tools yet

	catalog  atomic.Pointer[Catalog] // nil when an offer has come: see Catalog
	recalled chan struct{}           // closed when what is remembered is in the catalogue

	mu       sync.Mutex
	conf     *configuration.Configuration // that the session goes by: its catalogue is made under it
	byChild  map[string]*catalog.Offer
	told     map[string]bool             // what is in byChild was told by an instance
	statuses map[string]*children.Status // shared by all whom the instance serves
	changed  chan struct{}               // told or offers; closed and replaced at each change
	until    time.Time                   // until when lists wait for starting children; zero before the first
	brief    bool                        // it is remembered what some offer, so lists hardly wait for others
}

// New makes the Offering of a session under conf. moved reports whether another
// instance of a child serves the session by now, which has not listed its tools yet.
func New(conf *configuration.Configuration, current *configuration.Current, moved func(child string) bool) *Offering {
	return &Offering{
		current: current, moved: moved, recalled: make(chan struct{}), changed: make(chan struct{}),
		conf: conf, byChild: map[string]*catalog.Offer{}, told: map[string]bool{}, statuses: map[string]*children.Status{},
	}
}

// Configuration returns the one that the session goes by.
func (o *Offering) Configuration() *configuration.Configuration {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.conf
}

// Offers returns what the children offer, and the configuration that the session
// goes by.
func (o *Offering) Offers() (*configuration.Configuration, map[string]*catalog.Offer) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.conf, maps.Clone(o.byChild)
}

// Take takes in what is told about the instance that serves the session. restarted: it
// is ready again; changed: it offers something else. st is kept, and must not be
// changed.
func (o *Offering) Take(st *children.Status, offer *catalog.Offer) (restarted, changed bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.conf.IsDenied(st.Child) { // the session is about to be taken from it
		return false, false
	}
	offer = o.conf.CatalogBuilder.Show(offer)
	before := o.statuses[st.Child]
	restarted = st.State == children.Ready && (before == nil || before.State != children.Ready || st.Renewed != before.Renewed)
	o.statuses[st.Child] = st
	had := o.byChild[st.Child]
	switch {
	case offer != nil && had.Whole() != offer.Whole():
		o.byChild[st.Child], o.told[st.Child] = offer, true
		if st.State == children.Cold {
			o.hurryLists()
		}
		o.catalog.Store(nil)
		changed = true
	case offer == nil && had != nil && o.isReplacing(had) && isSettled(*st, true, false):
		delete(o.byChild, st.Child) // the one that was to take its place has failed
		o.catalog.Store(nil)
		changed = true
	case offer == nil && had != nil && !o.isReplacing(had) && o.told[st.Child]:
		delete(o.byChild, st.Child) // it is of other roots
		delete(o.told, st.Child)
		o.until = time.Time{} // the next list waits for the new one
		o.catalog.Store(nil)
		changed = true
	}
	o.wakeWaiters()
	return restarted, changed
}

// wakeWaiters has all who wait look again. mu is held.
func (o *Offering) wakeWaiters() {
	close(o.changed)
	o.changed = make(chan struct{})
}

// Adopt makes conf what the session goes by. Offers that conf reads otherwise are in
// renewed. replaced are the children of which nothing is known any more.
func (o *Offering) Adopt(conf *configuration.Configuration, renewed map[*offers.RawOffer]*catalog.Offer) (replaced []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for name, of := range o.byChild {
		c := conf.Child(name)
		switch {
		case c == nil, conf.IsDenied(name):
			delete(o.byChild, name)
		case c.Spec.Revision == of.Revision() && renewed[of.Raw] != nil:
			o.byChild[name] = conf.CatalogBuilder.Show(renewed[of.Raw])
		case !of.NamesAlike(conf.CatalogBuilder):
			delete(o.byChild, name)
		default:
			o.byChild[name] = conf.CatalogBuilder.Show(of) // other toolsets may show other parts of it
		}
	}
	for name, st := range o.statuses {
		if c := conf.Child(name); c == nil || c.Spec.Revision != st.Revision || conf.IsDenied(name) {
			delete(o.statuses, name)
			replaced = append(replaced, name)
		}
	}
	o.conf = conf
	o.until = time.Time{} // what is new has its time, too
	o.catalog.Store(nil)
	o.wakeWaiters()
	return replaced
}

// Catalog returns the session's catalogue, made again where an offer has come
// since: when many children start, their offers come in one after the other, and no
// one looks at what is between.
func (o *Offering) Catalog() *Catalog {
	if c := o.catalog.Load(); c != nil {
		return c
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.catalogNow()
}

// catalogNow works like Catalog for callers that hold mu.
func (o *Offering) catalogNow() *Catalog {
	if c := o.catalog.Load(); c != nil {
		return c
	}
	l := &Catalog{o.conf.CatalogBuilder.Catalog(o.byChild).For(o.conf.Checker), o.conf}
	o.catalog.Store(l)
	return l
}

// isReplacing reports an offer of a child that is being replaced. mu is held.
func (o *Offering) isReplacing(of *catalog.Offer) bool { return !of.ReadBy(o.conf.CatalogBuilder) }

// ChildStatus returns one child as this session sees it.
func (o *Offering) ChildStatus(name string) children.Status {
	st, _, _, _ := o.stateOf(name)
	return st
}

// stateOf reports what awaitChildren waits for, of one child. offered: the instance
// that serves the session now has listed its tools, or what it offers is
// remembered.
func (o *Offering) stateOf(name string) (st children.Status, known, offered bool, changed <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	st, known = o.lastStatus(name)
	return st, known, o.isOffered(name), o.changed
}

// StatusAndOffer returns one child as this session sees it, with the offer of the instance
// that serves the session now or what is remembered of it; nil if there is none.
func (o *Offering) StatusAndOffer(name string) (children.Status, *catalog.Offer) {
	o.mu.Lock()
	defer o.mu.Unlock()
	st, _ := o.lastStatus(name)
	if !o.isOffered(name) {
		return st, nil
	}
	return st, o.byChild[name]
}

// IsUnread reports whether a child may have what it has not listed: its list of a kind could not be read.
func (o *Offering) IsUnread(name string, k offers.ListKind) bool {
	_, of := o.StatusAndOffer(name)
	return of != nil && of.Raw.IsUnread(k)
}

// lastStatus returns what was told about a child last. The caller holds mu.
func (o *Offering) lastStatus(name string) (st children.Status, known bool) {
	if told := o.statuses[name]; told != nil {
		return *told, true
	}
	return st, false
}

// isSettled reports whether it is known what a child offers, or will not be soon.
func isSettled(st children.Status, known, offered bool) bool {
	return offered || known && isResting(st)
}

// hasListed reports whether a child has listed its tools since it was started for
// this session, or will not soon.
func hasListed(st children.Status, known, offered bool) bool {
	return (st.Listed || st.Unread) && offered || known && isResting(st)
}

// isResting reports whether a child waits for a call, or has failed.
func isResting(st children.Status) bool {
	return st.State == children.BackingOff || st.State == children.Stopped || st.State == children.Cold
}

// hasStarted reports whether there is anything to tell about a child: its life
// has begun, and it is settled.
func hasStarted(st children.Status, known, offered bool) bool {
	return known && st.State != children.Configured && isSettled(st, known, offered)
}

// AwaitStarted waits until there is something to tell about every child, within
// the time that a list has.
func (o *Offering) AwaitStarted(ctx context.Context) {
	conf := o.current.InForce()
	ctx, cancel := context.WithTimeout(ctx, conf.Limits.ListWait)
	defer cancel()
	o.awaitChildren(ctx, conf.ServedNames(), hasStarted)
}

// awaitChildren waits until every named child is as wanted, or ctx ends. A
// child that is not yet configured to run counts as one to wait for.
func (o *Offering) awaitChildren(ctx context.Context, names []string, wanted func(st children.Status, known, offered bool) bool) {
	o.awaitChildrenUntil(ctx, nil, names, wanted)
}

// awaitChildrenUntil is awaitChildren with a time at which it gives up. That may come nearer while it waits.
func (o *Offering) awaitChildrenUntil(ctx context.Context, until func() time.Time, names []string, wanted func(st children.Status, known, offered bool) bool) {
	for _, name := range names {
		for {
			st, known, offered, changed := o.stateOf(name)
			if wanted(st, known, offered) || o.isGone(name) {
				break
			}
			if !awaitOne(ctx, until, changed) {
				return
			}
		}
	}
}

// awaitOne waits for a change; false: it is late.
func awaitOne(ctx context.Context, until func() time.Time, changed <-chan struct{}) bool {
	var late <-chan time.Time
	if until != nil {
		timer := time.NewTimer(time.Until(until()))
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-changed:
		return true
	case <-late:
	case <-ctx.Done():
	}
	return false
}

// isGone reports whether there is no child of this name to wait for.
func (o *Offering) isGone(name string) bool {
	now := o.current.InForce()
	return now.Child(name) == nil || now.IsDenied(name)
}

// AwaitOffers gives the children that are still starting their time, and no more:
// a list is answered with what there is by then. The client is told about what
// comes later.
func (o *Offering) AwaitOffers(ctx context.Context) {
	conf := o.current.InForce()
	ctx, cancel := context.WithTimeout(ctx, conf.Limits.ListWait)
	defer cancel()
	o.AwaitRecalled(ctx)
	until := func() time.Time { return o.listsBy(conf.Limits.ListWait) }
	o.awaitChildrenUntil(ctx, until, conf.ServedNames(), isSettled)
}

// briefWait is how long lists wait for starting children if it is remembered what
// others offer: enough for a server that is quick to start.
const briefWait = 500 * time.Millisecond

// AwaitCatalog works like AwaitOffers, and returns the catalogue of that moment. An offer may be withdrawn right after it was waited for:
// another instance serves the session then, and is waited for, too.
func (o *Offering) AwaitCatalog(ctx context.Context) *Catalog {
	for {
		o.AwaitOffers(ctx)
		conf := o.current.InForce()
		if l, settled := o.catalogAndWhether(conf.ServedNames()); settled || ctx.Err() != nil || !time.Now().Before(o.listsBy(conf.Limits.ListWait)) {
			return l
		}
	}
}

// catalogAndWhether returns the catalogue, and whether it is known by it what each of the children offers, or will not be soon.
func (o *Offering) catalogAndWhether(names []string) (l *Catalog, settled bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	settled = !slices.ContainsFunc(names, func(name string) bool {
		st, known := o.lastStatus(name)
		return !isSettled(st, known, o.isOffered(name)) && !o.isGone(name)
	})
	return o.catalogNow(), settled
}

// isOffered reports whether the instance that serves the session now has listed its tools, or what it offers is remembered. mu is held.
func (o *Offering) isOffered(name string) bool {
	offer := o.byChild[name]
	return offer != nil && !o.isReplacing(offer) && !o.moved(name)
}

// listsBy returns the time when the session's lists have waited for starting
// children for long enough: a child that hangs delays the first of them, and not
// every one. Where something is remembered, it hardly delays that one either.
func (o *Offering) listsBy(wait time.Duration) time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.until.IsZero() {
		if o.brief {
			wait = min(wait, briefWait)
		}
		o.until = time.Now().Add(wait)
	}
	return o.until
}

// hurryLists shortens the wait for lists, because something is remembered. mu is held.
func (o *Offering) hurryLists() {
	if o.brief {
		return
	}
	o.brief = true
	if soon := time.Now().Add(briefWait); o.until.After(soon) {
		o.until = soon
	}
}

// AwaitAllListed waits until every child that starts without a call has listed its tools or
// failed, within the time that a list has.
func (o *Offering) AwaitAllListed(ctx context.Context) {
	conf := o.current.InForce()
	ctx, cancel := context.WithTimeout(ctx, conf.Limits.ListWait)
	defer cancel()
	o.AwaitRecalled(ctx)
	o.AwaitListed(ctx, conf.ServedNames())
}

// AwaitListed waits until these children have listed their tools, or will not soon.
func (o *Offering) AwaitListed(ctx context.Context, names []string) {
	o.awaitChildren(ctx, names, hasListed)
}
