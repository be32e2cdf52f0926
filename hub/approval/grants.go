package approval

import (
	"slices"
	"time"

	"mcphub/children/spec"
	"mcphub/validate"
	"mcphub/validate/policy"
)

// A grant is one directory or file that a person has opened for one child of one
// session. Immutable.
type grant struct {
	child    string
	revision uint64            // of the child's Spec: another program of the same name was not allowed anything
	name     string            // of the tool or method that was asked about
	checker  *validate.Checker // by whose policy it holds
	offer    offeredGrant
	approval *Approval
	since    time.Time
	perCall  bool // it lives for the request that it was given for, else for the session
}

// isFor reports whether a grant is one of this child as it is configured now.
func (g *grant) isFor(child *spec.Spec) bool {
	return g.child == child.Name && g.revision == child.Revision
}

// Grants returns the grants that a request to a child is judged by; a is the
// approval of that very request, nil for none.
func (q *Queue) Grants(child *spec.Spec, a *Approval) (list []policy.Grant) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, g := range q.grants {
		if g.isFor(child) && (!g.perCall || g.approval == a) {
			list = append(list, g.offer.Grant)
		}
	}
	return list
}

// Served returns the grants whose directories a child is served, and the files that the
// kernel has to open to it, whatever request they were given for. What is a link by now
// is left out: it would open what it leads to.
func (q *Queue) Served(child *spec.Spec) (list []policy.Grant) {
	if child.Share != spec.ShareSession {
		return nil
	}
	q.mu.Lock()
	all := slices.Clone(q.grants)
	q.mu.Unlock()
	for _, g := range all {
		if g.offer.affectsChild() && g.isFor(child) && g.offer.isStillValid(q.fs) {
			list = append(list, g.offer.Grant)
		}
	}
	return list
}

// Directories returns the directories that are granted, to whichever child.
func (q *Queue) Directories() (list []string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, g := range q.grants {
		if !g.offer.File {
			list = append(list, g.offer.Path)
		}
	}
	return list
}

// Version returns the version of the directories that children are served, and a
// channel that is closed when there is another one.
func (q *Queue) Version() (n uint64, changed <-chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.version, q.changed
}

// addGrants enters grants and returns the version by which children are served them.
func (q *Queue) addGrants(list []*grant) (version uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.grants = append(q.grants, list...)
	close(q.granted)
	q.granted = make(chan struct{})
	if slices.ContainsFunc(list, func(g *grant) bool { return g.offer.affectsChild() }) {
		q.signalChange()
	}
	return q.version
}

// revokeGrants takes back the grants of an approval.
func (q *Queue) revokeGrants(a *Approval) {
	q.mu.Lock()
	defer q.mu.Unlock()
	serves := false
	q.grants = slices.DeleteFunc(q.grants, func(g *grant) bool {
		serves = serves || g.approval == a && g.offer.affectsChild()
		return g.approval == a
	})
	if serves {
		q.signalChange()
	}
}

// signalChange wakes all who wait for another version. It is called with mu held.
func (q *Queue) signalChange() {
	q.version++
	close(q.changed)
	q.changed = make(chan struct{})
}

// Done ends what an approval has opened for one request only, when that request
// has ended; nil is fine.
func (q *Queue) Done(a *Approval) {
	if a != nil && q.perCall {
		q.revokeGrants(a)
	}
}

// Prune forgets the grants of children that a reload has replaced or taken away,
// and the ones that the rules in force would ask no one about.
func (q *Queue) Prune(now Rules) {
	q.mu.Lock()
	defer q.mu.Unlock()
	serves := false
	var left []*grant
	for _, g := range q.grants {
		revision, ok := now.Revision(g.child)
		switch {
		case !ok || revision != g.revision:
		case g.checker == now.Checker:
			left = append(left, g)
			continue
		case now.Checker.UpholdsGrant(g.child, g.name, g.offer.Grant): // looks at the disk, after a reload only
			again := *g
			again.checker = now.Checker
			left = append(left, &again)
			continue
		}
		serves = serves || g.offer.affectsChild()
	}
	q.grants = left
	if serves {
		q.signalChange()
	}
}
