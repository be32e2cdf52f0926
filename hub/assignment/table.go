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

// A Table knows which sessions each instance serves, and what was told about it last. S
// is the hub's own session. Supervisor is set before the first session enters.
type Table[S any] struct {
	Supervisor     *children.Supervisor
	RecordWritable func(dirs []string) error // puts directories on record before servers may write there, or they may not; nil: no one does
	current        *configuration.Current    // of the hub's own surroundings

	mu       sync.Mutex
	sessions map[string]*AssignedSession[S] // by id
	holders  map[spec.Key]map[*AssignedSession[S]]struct{}
	wanting  map[spec.Key]map[int]int // of each instance how many of them want what; see SetLevel
	known    map[spec.Key]knownInstance
}

// A knownInstance is the last that was told about an instance.
type knownInstance struct {
	status *children.Status // nil: of none
	raw    *offers.RawOffer // nil until it was listed
	read   []*catalog.Offer // raw, as the configurations of those whom it serves read it
}

// offerBy returns the offer as a configuration reads it; nil if it was not read by that.
func (i *knownInstance) offerBy(conf *configuration.Configuration) *catalog.Offer {
	for _, o := range i.read {
		if o.ReadBy(conf.CatalogBuilder) {
			return o
		}
	}
	return nil
}

// NewTable makes a Table without sessions.
func NewTable[S any](current *configuration.Current) *Table[S] {
	return &Table[S]{
		current: current, sessions: map[string]*AssignedSession[S]{}, holders: map[spec.Key]map[*AssignedSession[S]]struct{}{}, wanting: map[spec.Key]map[int]int{}, known: map[spec.Key]knownInstance{},
	}
}

// Enter takes in a session.
func (t *Table[S]) Enter(s *AssignedSession[S]) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s.followCurrent() // it was made under an older one
	t.sessions[s.ID] = s
}

// Follow has a session that has entered go by what its Current has become by itself.
func (t *Table[S]) Follow(s *AssignedSession[S]) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s.followCurrent()
}

// followCurrent adopts the configuration that counts for a session. The mutex of the table is held.
func (s *AssignedSession[S]) followCurrent() {
	if conf := s.Current.InForce(); s.Offering.Configuration() != conf {
		s.adoptConfiguration(conf, nil)
	}
}

// Leave ends a session's part in everything: its own children stop, shared
// ones go on without it.
func (t *Table[S]) Leave(s *AssignedSession[S]) {
	t.mu.Lock()
	delete(t.sessions, s.ID)
	at := s.assigned.Load().All()
	for _, p := range at {
		t.removeHolder(s, p.Key)
	}
	t.mu.Unlock()
	for _, p := range at {
		t.Supervisor.LeaveInstance(p.Key)
	}
	t.Supervisor.DropInstances(s.ID) // its own instances, from which a reload detached it
}

// UpdateInstance hands a change of one instance to the sessions that it serves. It is
// called by one goroutine for each instance; what takes time, reading a new offer, is
// done without the lock and once for each configuration, and again if a reload came
// in between. News of an instance that was replaced end here.
func (t *Table[S]) UpdateInstance(st children.Status, raw *offers.RawOffer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	known := knownInstance{status: &st, raw: raw}
	if was := t.known[st.Key]; was.raw == raw {
		known.read = was.read
	}
	for {
		confs := t.runningConfigurations(st.Key, st.Revision)
		if len(confs) == 0 && st.Variant == "" {
			return // of others it is kept for sessions that may come while it lives
		}
		if t.readBy(&known, confs) {
			break
		}
	}
	switch before := t.known[st.Key].status; {
	case before != nil && before.Serial > st.Serial:
		return // of an instance that another one has followed
	case st.Final:
		delete(t.known, st.Key)
	default:
		t.known[st.Key] = known
	}
	for s := range t.holders[st.Key] {
		if conf := s.Current.InForce(); runsInstance(conf, st.Key, st.Revision) {
			s.takeChange(&st, known.offerBy(conf))
		}
	}
}

// runningConfigurations returns the configurations in force by which an instance runs as it does: those of
// the sessions that it serves, or any if it serves none yet.
func (t *Table[S]) runningConfigurations(k spec.Key, revision uint64) (confs []*configuration.Configuration) {
	add := func(conf *configuration.Configuration) {
		if runsInstance(conf, k, revision) && !slices.Contains(confs, conf) {
			confs = append(confs, conf)
		}
	}
	if k.Variant == "" {
		add(t.current.InForce())
	}
	for s := range t.holders[k] {
		if s.Current.Common() != t.current {
			add(s.Current.Common().InForce())
		}
	}
	for _, s := range t.sessions {
		if len(confs) > 0 {
			break
		}
		if s.Current.Common() != t.current {
			add(s.Current.Common().InForce())
		}
	}
	return confs
}

// runsInstance reports whether a configuration runs an instance by this revision.
func runsInstance(conf *configuration.Configuration, k spec.Key, revision uint64) bool {
	c := conf.Child(k.Child)
	return c != nil && c.Spec.Revision == revision
}

// readBy reads what is known of an instance by these configurations, without the lock, which
// is held. done: nothing was missing, so the lock was held all the time.
func (t *Table[S]) readBy(known *knownInstance, confs []*configuration.Configuration) (done bool) {
	done = true
	for _, conf := range confs {
		if known.raw == nil || known.offerBy(conf) != nil {
			continue
		}
		done = false
		c := conf.Child(known.status.Child)
		t.mu.Unlock()
		o := conf.KeepOffer(c, known.raw).Whole()
		t.mu.Lock()
		known.read = append(slices.Clip(known.read), o)
	}
	return done
}

// moveSession enters a session at one instance instead of another, and tells it what
// is known of it. Both happen under one lock with UpdateInstance, so that the session
// misses no news and takes none of the former instance for that of the new one.
func (t *Table[S]) moveSession(s *AssignedSession[S], to Assignment, from spec.Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	conf, known := s.Current.InForce(), knownInstance{}
	for done := false; !done; {
		conf = s.Current.InForce()
		known = t.known[to.Key]
		if known.status == nil || known.status.Serial != to.Serial {
			known = knownInstance{status: &children.Status{Key: to.Key, Serial: to.Serial, Revision: to.Revision}}
		}
		done = !runsInstance(conf, to.Key, to.Revision) || t.readBy(&known, []*configuration.Configuration{conf})
		if !done && t.known[to.Key].status == known.status {
			t.known[to.Key] = known
		}
	}
	t.removeHolder(s, from)
	if t.holders[to.Key] == nil {
		t.holders[to.Key] = map[*AssignedSession[S]]struct{}{}
	}
	t.holders[to.Key][s] = struct{}{}
	t.countWanted(to.Key, s.logLevel, 1)
	if len(known.read) > maxReadings {
		t.forgetReadings(to, known)
	}
	s.replaceAssignment(to)
	s.takeChange(known.status, known.offerBy(conf))
}

// maxReadings is how many readings of one offer there may be before those are looked for that
// no one goes by any more.
const maxReadings = 8

// forgetReadings lets go of such readings. t.mu is held.
func (t *Table[S]) forgetReadings(at Assignment, known knownInstance) {
	if t.known[at.Key].status != known.status {
		return
	}
	confs := t.runningConfigurations(at.Key, at.Revision)
	known.read = slices.DeleteFunc(slices.Clone(known.read), func(o *catalog.Offer) bool {
		return !slices.ContainsFunc(confs, func(conf *configuration.Configuration) bool { return o.ReadBy(conf.CatalogBuilder) })
	})
	t.known[at.Key] = known
}

// detachSession takes a session from an instance whose child is configured no more, or denied.
func (t *Table[S]) detachSession(s *AssignedSession[S], from spec.Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.removeHolder(s, from)
	old := s.assigned.Load()
	s.assigned.Store(old.Without(from.Child))
	old.MarkReplaced()
}

// removeHolder expects the caller to hold mu.
func (t *Table[S]) removeHolder(s *AssignedSession[S], k spec.Key) {
	if _, holds := t.holders[k][s]; holds {
		t.countWanted(k, s.logLevel, -1)
	}
	delete(t.holders[k], s)
	if len(t.holders[k]) == 0 {
		delete(t.holders, k)
	}
}

// Replace puts configurations in force, each instead of a Current, and shows every session what
// follows. Offers are read again, for they may be judged or named otherwise; that takes time, and
// is done without the lock until none is missing.
func (t *Table[S]) Replace(next map[*configuration.Current]*configuration.Configuration) {
	renewed := renewals{}
	for {
		t.mu.Lock()
		missing := t.unreadOffers(next, renewed)
		if len(missing) == 0 {
			break
		}
		t.mu.Unlock()
		for conf, all := range missing {
			for raw, name := range all {
				renewed.putOffer(conf, conf.KeepOffer(conf.Child(name), raw))
			}
		}
	}
	defer t.mu.Unlock()
	for current, conf := range next {
		current.Set(conf)
	}
	for k, c := range t.known {
		confs := t.runningConfigurations(k, c.status.Revision)
		if len(confs) == 0 {
			delete(t.known, k)
			continue
		}
		c.read = nil
		for _, conf := range confs {
			if o := renewed[conf][c.raw]; o != nil {
				c.read = append(c.read, o)
			}
		}
		t.known[k] = c
	}
	for _, s := range t.sessions {
		s.adoptConfiguration(s.Current.InForce(), renewed[s.Current.Common().InForce()])
	}
}

// renewals are offers as they are read by the configurations of a reload.
type renewals map[*configuration.Configuration]map[*offers.RawOffer]*catalog.Offer

func (r renewals) putOffer(conf *configuration.Configuration, o *catalog.Offer) {
	if r[conf] == nil {
		r[conf] = map[*offers.RawOffer]*catalog.Offer{}
	}
	r[conf][o.Raw] = o
}

// unreadOffers returns, for each configuration in next, the offers that it wants and has not read, each
// with its child's name. They belong to children that go on. t.mu is held.
func (t *Table[S]) unreadOffers(next map[*configuration.Current]*configuration.Configuration, renewed renewals) map[*configuration.Configuration]map[*offers.RawOffer]string {
	missing := map[*configuration.Configuration]map[*offers.RawOffer]string{}
	note := func(conf *configuration.Configuration, k spec.Key, revision uint64, raw *offers.RawOffer) {
		if conf == nil || raw == nil || renewed[conf][raw] != nil || !runsInstance(conf, k, revision) {
			return
		}
		if missing[conf] == nil {
			missing[conf] = map[*offers.RawOffer]string{}
		}
		missing[conf][raw] = k.Child
	}
	for k, c := range t.known {
		note(next[t.current], k, c.status.Revision, c.raw)
		for s := range t.holders[k] {
			note(next[s.Current.Common()], k, c.status.Revision, c.raw)
		}
	}
	for _, s := range t.sessions {
		_, offers := s.Offering.Offers()
		for name, o := range offers {
			note(next[s.Current.Common()], spec.Key{Child: name}, o.Revision(), o.Raw)
		}
	}
	return missing
}

// adoptConfiguration makes conf what the session goes by. The mutex of the table is held.
func (s *AssignedSession[S]) adoptConfiguration(conf *configuration.Configuration, renewed map[*offers.RawOffer]*catalog.Offer) {
	s.Roots.Reconfigure(conf.Fallback, conf.RootsOf(s.Principal))
	before := s.Offering.Configuration()
	s.Restarted(s.Offering.Adopt(conf, renewed)...)
	for name, at := range s.assigned.Load().All() {
		if before.IsDenied(name) && !conf.IsDenied(name) { // it was not taken from its instance yet
			if known := s.table.known[at.Key]; known.status != nil {
				s.takeChange(known.status, known.offerBy(conf))
			}
		}
	}
}

// Owner returns the session that an instance belongs to alone; false for a shared one,
// and once the session has ended.
func (t *Table[S]) Owner(k spec.Key) (session S, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.sessions[k.Instance]
	if s == nil {
		return session, false
	}
	return s.Session, true
}

// SoleSession returns the one session that an instance serves; false if there are several or
// none.
func (t *Table[S]) SoleSession(k spec.Key) (session S, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.holders[k]) > 1 {
		return session, false
	}
	for s := range t.holders[k] {
		return s.Session, true
	}
	if s := t.sessions[k.Instance]; s != nil { // its own, which is only being assigned to it
		return s.Session, true
	}
	return session, false
}

// SetLevel sets the log level of a session (above zero). Levels returns the levels of the sessions
// of one instance, each once, in no order. Neither looks at other sessions: an instance may serve
// any number, and each says this when it begins.
func (t *Table[S]) SetLevel(s *AssignedSession[S], wants func() int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	was, what := s.logLevel, wants() // under the lock: of two that say it at once the later one counts
	s.logLevel = what
	for _, at := range s.assigned.Load().All() {
		if _, holds := t.holders[at.Key][s]; holds {
			t.countWanted(at.Key, was, -1)
			t.countWanted(at.Key, what, 1)
		}
	}
}

// Levels: see SetLevel.
func (t *Table[S]) Levels(k spec.Key) []int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Collect(maps.Keys(t.wanting[k]))
}

// countWanted counts a session that wants something of an instance, or does no more. t.mu is held.
func (t *Table[S]) countWanted(k spec.Key, what, more int) {
	if what == 0 {
		return
	}
	counts := t.wanting[k]
	if counts == nil {
		counts = map[int]int{}
		t.wanting[k] = counts
	}
	if counts[what] += more; counts[what] == 0 {
		delete(counts, what)
	}
	if len(counts) == 0 {
		delete(t.wanting, k)
	}
}

// Any returns one of the sessions that an instance serves; false if it serves none.
func (t *Table[S]) Any(k spec.Key) (session S, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for s := range t.holders[k] {
		return s.Session, true
	}
	return session, false
}

// SessionsOf returns the sessions that an instance serves.
func (t *Table[S]) SessionsOf(k spec.Key) []S {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make([]S, 0, len(t.holders[k]))
	for s := range t.holders[k] {
		all = append(all, s.Session)
	}
	return all
}

// SessionCount returns how many sessions an instance serves.
func (t *Table[S]) SessionCount(k spec.Key) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.holders[k])
}

// Sessions returns all sessions.
func (t *Table[S]) Sessions() []S {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make([]S, 0, len(t.sessions))
	for _, s := range t.sessions {
		all = append(all, s.Session)
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
		known := t.known[k]
		of := known.offerBy(t.current.InForce())
		if of == nil && len(known.read) > 0 {
			of = known.read[0]
		}
		if of != nil && offers[k.Child] == nil {
			offers[k.Child] = of
		}
	}
	return offers
}

// Size returns how many sessions there are, how many instances serve any, and how many are known.
func (t *Table[S]) Size() (sessions, serving, known int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.sessions), len(t.holders), len(t.known)
}
