package assignment

import (
	"sync/atomic"
	"time"

	"mcphub/children"
	"mcphub/children/offers"
	"mcphub/children/sandbox"
	"mcphub/children/spec"
	"mcphub/hub/approval"
	"mcphub/hub/catalog"
	"mcphub/hub/configuration"
	"mcphub/hub/offering"
	"mcphub/internal/worker"
	"mcphub/rootsmgr"
	"mcphub/rootsmgr/guard"
)

// startAfter is how long after notifications/initialized a child may be started
// before the first roots are known.
const startAfter = time.Second

// AssignedSessionOptions say whose an AssignedSession is.
type AssignedSessionOptions[S any] struct {
	Session    S
	ID         string
	Principal  string                 // whom the session belongs to, as principal.Principal.Key tells
	Rights     string                 // and what rules know of it, as principal.Principal.RightsKey tells
	Caller     string                 // and whose tokens servers are called by, as admission.Caller.Owner tells
	Current    *configuration.Current // what it goes by
	PerRequest bool                   // it serves requests that have nothing in common but their token
	Offering   *offering.Offering
	Approvals  *approval.Queue
	Restarted  func(children ...string) // learns that children are ready again; must not block
	Changed    func()                   // learns that something else is on offer; must not block
}

// An AssignedSession is one session, as instances are assigned to it. Its methods may be called by
// any goroutine.
type AssignedSession[S any] struct {
	AssignedSessionOptions[S]
	Roots *rootsmgr.Manager // set before Run

	table    *Table[S]
	assigned atomic.Pointer[Assignments] // stored under Table.mu
	served   *RootsDelivery
	logLevel int           // see Table.SetLevel; guarded by Table.mu
	barred   bool          // what a server may write could not be put on record; only Run uses it
	yielded  chan struct{} // an instance has ended that another one stands in for
	// modernFirst: what came first that needs children was of 2026-07-28, and a child
	// that has both eras is spoken to in that one.
	modernFirst atomic.Bool
}

// NewAssignedSession makes the AssignedSession of a session, which no instance serves yet.
func (t *Table[S]) NewAssignedSession(o AssignedSessionOptions[S]) *AssignedSession[S] {
	s := &AssignedSession[S]{AssignedSessionOptions: o, table: t, served: NewRootsDelivery(), yielded: make(chan struct{}, 1)}
	s.assigned.Store(None())
	return s
}

// SetModernFirst notes whether a child that has both eras is spoken to in that
// of 2026-07-28. It is settled when the session starts.
func (s *AssignedSession[S]) SetModernFirst(first bool) { s.modernFirst.Store(first) }

// Assignments returns which instances serve the session.
func (s *AssignedSession[S]) Assignments() *Assignments { return s.assigned.Load() }

// replaceAssignment replaces one assignment; the caller holds Table.mu.
func (s *AssignedSession[S]) replaceAssignment(to Assignment) {
	old := s.assigned.Load()
	s.assigned.Store(old.With(to))
	old.MarkReplaced()
}

// takeChange takes in what is told about one instance. The
// caller holds Table.mu.
func (s *AssignedSession[S]) takeChange(st *children.Status, offer *catalog.Offer) {
	at, assigned := s.assigned.Load().Lookup(st.Child)
	if !assigned || at.Key != st.Key || st.Serial < at.Serial {
		return // another instance serves the session now
	}
	if at.AwaitsList && offer != nil {
		at.AwaitsList = false
		s.replaceAssignment(at)
	}
	restarted, changed := s.Offering.Take(st, offer)
	if st.OtherEra {
		worker.Signal(s.yielded)
	}
	switch {
	case restarted:
		s.Restarted(st.Child)
	case changed:
		s.Changed()
	}
}

// AwaitsList reports whether another instance has come to serve the session, which has not
// listed its tools yet.
func (s *AssignedSession[S]) AwaitsList(child string) bool {
	return s.assigned.Load().AwaitsList(child)
}

// KeyFor names the instance that a session with these roots is served by. A child
// that is to have both eras, by hub.json, is spoken to in the session's.
func (s *AssignedSession[S]) KeyFor(c *configuration.Child, roots []guard.Root) spec.Key {
	k := spec.Key{Child: c.Spec.Name, Variant: c.Spec.Variant}
	if c.Spec.Era == spec.EraAuto && s.modernFirst.Load() {
		k.Era = spec.EraModern
	}
	switch {
	case c.Spec.Auth.Exchange:
		k.Principal = s.Caller // one principal may have tokens of different rights
	case c.Spec.IsPersonal():
		k.Principal = s.Principal
	}
	switch {
	case c.Spec.Share == spec.ShareAll:
	case s.ByRoots(c):
		// The same directories are not the same rights: rules for some people open them otherwise, the kernel holds an
		// instance to what one session may, and what a server has read is in its memory.
		k.Instance = rootsmgr.RootSetID(s.Rights, roots)
	default:
		k.Instance = s.ID
	}
	return s.table.Supervisor.ServingKey(k)
}

// RootsFor returns the roots that a child is served: the session's, and after
// them the directories of the policy and of grants; but for a child that
// serves everybody none of any one session.
func (s *AssignedSession[S]) RootsFor(conf *configuration.Configuration, c *configuration.Child, rootsView rootsmgr.RootsView) []guard.Root {
	if c.Spec.Share == spec.ShareAll {
		return conf.CommonRoots()[c.Spec.Name]
	}
	rootsView = conf.RootsViewFor(c, rootsView)
	return c.UsableRoots(rootsView.Snapshot.With(conf.FS, rootsView.Ceiling, conf.ExtraDirectories(c.Spec.Name, s.Approvals.Served(&c.Spec))))
}

// Recall returns what a child offered last to a session for which the same was open as is by a view; nil if
// that is not known. It starts nothing.
func (s *AssignedSession[S]) Recall(conf *configuration.Configuration, c *configuration.Child, rootsView rootsmgr.RootsView) *offers.RawOffer {
	roots := s.RootsFor(conf, c, rootsView)
	return s.supervisorFor(c, s.boundaryOf(conf, c, rootsView, roots)).RecallOffer(s.KeyFor(c, roots), roots)
}

// RecallOrManner works like Recall. If the offer is not known, it returns what Manner does.
func (s *AssignedSession[S]) RecallOrManner(conf *configuration.Configuration, c *configuration.Child, rootsView rootsmgr.RootsView) *offers.RawOffer {
	roots := s.RootsFor(conf, c, rootsView)
	return s.supervisorFor(c, s.boundaryOf(conf, c, rootsView, roots)).RecallOfferOrManner(s.KeyFor(c, roots), roots)
}

// Manner returns what a child is able to do, as it was last, with whatever roots; nil if that is not known.
func (s *AssignedSession[S]) Manner(c *configuration.Child) *offers.RawOffer {
	return s.table.Supervisor.RecallManner(s.KeyFor(c, nil))
}

// supervisorFor returns the Supervisor for a child within a boundary. A server that all users share is listed once for all.
func (s *AssignedSession[S]) supervisorFor(c *configuration.Child, boundary sandbox.Boundary) children.BoundedSupervisor {
	of := s.table.Supervisor.WithBoundary(boundary)
	if c.Spec.Share == spec.ShareAll {
		return of
	}
	return of.ForPrincipal(s.Rights)
}

// RecallAs works like Recall for an entry that is not in force yet.
func (s *AssignedSession[S]) RecallAs(conf *configuration.Configuration, c *configuration.Child, rootsView rootsmgr.RootsView) *offers.RawOffer {
	roots := s.RootsFor(conf, c, rootsView)
	return s.supervisorFor(c, s.boundaryOf(conf, c, rootsView, roots)).RecallOfferAs(c.Spec, s.KeyFor(c, roots), roots)
}

// ByRoots reports whether the session's roots decide which process serves it:
// then every call of the child has to know them, one without a path as well. A
// stateless session has no roots of its own, so it has a process of its own.
func (s *AssignedSession[S]) ByRoots(c *configuration.Child) bool {
	return c.Spec.Share == spec.ShareRoots && !s.PerRequest
}
