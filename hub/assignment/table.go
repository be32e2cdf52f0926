package assignment

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"mcphub/children"
	"mcphub/children/offers"
	"mcphub/children/spec"
	"mcphub/hub/catalog"
	"mcphub/hub/configuration"
)

// A Table knows which sessions each instance serves, and what was told of it last. S is
// the hub's own session. Supervisor is set before the first session enters.
type Table[S any] struct {
	Supervisor *children.Supervisor
	Reaches    func(dirs []string) error // puts directories on record before servers may write there, or they may not; nil: nobody does
	current    *configuration.Current

	mu      sync.Mutex
	members map[string]*Member[S] // by id
	holders map[spec.Key]map[*Member[S]]struct{}
	known   map[spec.Key]instance
}

// An instance is the last that was told of one.
type instance struct {
	status *children.Status // nil: of none
	offer  *catalog.Offer   // nil until it was listed
}

// NewTable makes a Table without sessions.
func NewTable[S any](current *configuration.Current) *Table[S] {
	return &Table[S]{
		current: current, members: map[string]*Member[S]{}, holders: map[spec.Key]map[*Member[S]]struct{}{}, known: map[spec.Key]instance{},
	}
}

// Enter takes in a session.
func (t *Table[S]) Enter(m *Member[S]) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if conf := t.current.Now(); m.Offering.Configuration() != conf { // it was made under an older one
		m.adopt(conf, nil)
	}
	t.members[m.ID] = m
}

// Leave ends a session's part in everything: its own children stop, shared
// ones go on without it.
func (t *Table[S]) Leave(m *Member[S]) {
	t.mu.Lock()
	delete(t.members, m.ID)
	at := m.assigned.Load().All()
	for _, p := range at {
		t.unhold(m, p.Key)
	}
	t.mu.Unlock()
	for _, p := range at {
		t.Supervisor.Leave(p.Key)
	}
	t.Supervisor.Drop(m.ID) // those of its own that a reload detached it from
}

// Told hands a change of one instance to the sessions that it serves. It is
// called by one goroutine for each instance; what takes time, reading a new
// offer, is done without the lock and once for each offer, and again where a
// reload came in between. News of an instance that was replaced end here.
func (t *Table[S]) Told(st children.Status, raw *offers.Offer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	offer := t.known[st.Key].offer
	for {
		conf := t.current.Now()
		c := conf.Child(st.Child)
		if c == nil || c.Spec.Revision != st.Revision {
			return
		}
		if raw == nil {
			offer = nil
			break
		}
		if offer != nil && offer.By(conf.Offers) && offer.Raw == raw {
			break
		}
		t.mu.Unlock()
		offer = conf.KeepOffer(c, raw)
		t.mu.Lock()
	}
	switch before := t.known[st.Key].status; {
	case before != nil && before.Serial > st.Serial:
		return // of an instance that another one has followed
	case st.Final:
		delete(t.known, st.Key)
	default:
		t.known[st.Key] = instance{&st, offer}
	}
	for m := range t.holders[st.Key] {
		m.changed(&st, offer)
	}
}

// move enters a session at one instance in place of another, and tells it what
// is known of it. Both happen under one lock with Told, so that the session
// misses no news and takes none of the former instance for that of the new one.
func (t *Table[S]) move(m *Member[S], to Assignment, from spec.Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unhold(m, from)
	if t.holders[to.Key] == nil {
		t.holders[to.Key] = map[*Member[S]]struct{}{}
	}
	t.holders[to.Key][m] = struct{}{}
	m.reassign(to)
	known := t.known[to.Key]
	if known.status == nil || known.status.Serial != to.Serial {
		known = instance{status: &children.Status{Key: to.Key, Serial: to.Serial, Revision: to.Revision}}
	}
	m.changed(known.status, known.offer)
}

// detach takes a session from an instance whose child is configured no more.
func (t *Table[S]) detach(m *Member[S], from spec.Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unhold(m, from)
	old := m.assigned.Load()
	m.assigned.Store(old.Without(from.Child))
	old.Replaced()
}

// unhold is for callers that hold mu.
func (t *Table[S]) unhold(m *Member[S], k spec.Key) {
	delete(t.holders[k], m)
	if len(t.holders[k]) == 0 {
		delete(t.holders, k)
	}
}

// Replace puts conf in force and shows every session what follows. Offers are read
// anew, for conf may judge or name them otherwise; that takes time, and is done
// without the lock until none is missing.
func (t *Table[S]) Replace(conf *configuration.Configuration) {
	renewed := map[*offers.Offer]*catalog.Offer{}
	for {
		t.mu.Lock()
		missing := t.unread(conf, renewed)
		if len(missing) == 0 {
			break
		}
		t.mu.Unlock()
		for raw, name := range missing {
			renewed[raw] = conf.KeepOffer(conf.Child(name), raw)
		}
	}
	defer t.mu.Unlock()
	t.current.Set(conf)
	for k, c := range t.known {
		if now := conf.Child(k.Child); now == nil || now.Spec.Revision != c.status.Revision {
			delete(t.known, k)
		} else if c.offer != nil {
			c.offer = renewed[c.offer.Raw]
			t.known[k] = c
		}
	}
	for _, m := range t.members {
		m.adopt(conf, renewed)
	}
}

// unread returns the offers of children that go on which were not read by conf
// yet, with the child's name. t.mu is held.
func (t *Table[S]) unread(conf *configuration.Configuration, renewed map[*offers.Offer]*catalog.Offer) map[*offers.Offer]string {
	missing := map[*offers.Offer]string{}
	note := func(name string, revision uint64, o *catalog.Offer) {
		if o == nil || renewed[o.Raw] != nil {
			return
		}
		if now := conf.Child(name); now != nil && now.Spec.Revision == revision {
			missing[o.Raw] = name
		}
	}
	for k, c := range t.known {
		note(k.Child, c.status.Revision, c.offer)
	}
	for _, m := range t.members {
		_, offers := m.Offering.Offers()
		for name, o := range offers {
			note(name, o.Revision(), o)
		}
	}
	return missing
}

// adopt makes conf what the session goes by. t.mu is held.
func (m *Member[S]) adopt(conf *configuration.Configuration, renewed map[*offers.Offer]*catalog.Offer) {
	m.Roots.Reconfigure(conf.Fallback, conf.Roots)
	m.Restarted(m.Offering.Adopt(conf, renewed)...)
}

// Owner returns the session that an instance belongs to alone; false for a shared one,
// and once the session has ended.
func (t *Table[S]) Owner(k spec.Key) (s S, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	m := t.members[k.Instance]
	if m == nil {
		return s, false
	}
	return m.Session, true
}

// Only returns the one session that an instance serves; false where there are several
// or none.
func (t *Table[S]) Only(k spec.Key) (s S, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.holders[k]) > 1 {
		return s, false
	}
	for m := range t.holders[k] {
		return m.Session, true
	}
	if m := t.members[k.Instance]; m != nil { // its own, which is only being assigned to it
		return m.Session, true
	}
	return s, false
}

// Served returns the sessions that an instance serves.
func (t *Table[S]) Served(k spec.Key) []S {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make([]S, 0, len(t.holders[k]))
	for m := range t.holders[k] {
		all = append(all, m.Session)
	}
	return all
}

// Sharing returns how many sessions an instance serves.
func (t *Table[S]) Sharing(k spec.Key) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.holders[k])
}

// Sessions returns all sessions.
func (t *Table[S]) Sessions() []S {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make([]S, 0, len(t.members))
	for _, m := range t.members {
		all = append(all, m.Session)
	}
	return all
}

// Offers returns what each child offers, by its name: of several instances the first by
// their keys.
func (t *Table[S]) Offers() map[string]*catalog.Offer {
	t.mu.Lock()
	defer t.mu.Unlock()
	offers := map[string]*catalog.Offer{}
	for _, k := range slices.SortedFunc(maps.Keys(t.known), func(a, b spec.Key) int { return cmp.Compare(a.String(), b.String()) }) {
		if of := t.known[k].offer; of != nil && offers[k.Child] == nil {
			offers[k.Child] = of
		}
	}
	return offers
}

// Size is how many sessions there are, how many instances serve any, and how many are known.
func (t *Table[S]) Size() (sessions, serving, known int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.members), len(t.holders), len(t.known)
}
