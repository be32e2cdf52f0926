package assignment

import (
	"maps"

	"mcphub/children/spec"
)

// Assignments describe where one session is served, by the name of the child.
// They are immutable: another value takes their place.
type Assignments struct {
	by   map[string]*Assignment // which are immutable too
	next chan struct{}
}

// An Assignment is one session's place at one instance.
type Assignment struct {
	Key    spec.Key
	Serial uint64 // what is told about instances before this one is late news
	// Revision of the Spec that the instance runs by: a reload replaces it.
	Revision uint64
	// AwaitsList: this instance has not listed its tools yet, and those on offer are
	// from the one that served the session before.
	AwaitsList bool
}

// None returns the Assignments of a session that no instance serves.
func None() *Assignments { return &Assignments{nil, make(chan struct{})} }

// Lookup returns the assignment to an instance of a child; false where none serves the
// session.
func (a *Assignments) Lookup(child string) (Assignment, bool) {
	at := a.by[child]
	if at == nil {
		return Assignment{}, false
	}
	return *at, true
}

// Key returns the instance that serves the session; the zero Key where none does.
func (a *Assignments) Key(child string) spec.Key {
	at, _ := a.Lookup(child)
	return at.Key
}

// AwaitsList reports whether the instance that serves the session has not listed its tools
// yet.
func (a *Assignments) AwaitsList(child string) bool {
	at, _ := a.Lookup(child)
	return at.AwaitsList
}

// All returns the assignments by the name of the child. None of it must be changed.
func (a *Assignments) All() map[string]*Assignment { return a.by }

// Next returns a channel that is closed when other Assignments have taken the place of these.
func (a *Assignments) Next() <-chan struct{} { return a.next }

// MarkReplaced closes Next. The session calls it once, when others are in place.
func (a *Assignments) MarkReplaced() { close(a.next) }

// With returns assignments with one of them changed.
func (a *Assignments) With(at Assignment) *Assignments {
	by := make(map[string]*Assignment, len(a.by)+1)
	maps.Copy(by, a.by)
	by[at.Key.Child] = &at
	return &Assignments{by, make(chan struct{})}
}

// Without returns assignments without that to an instance of a child.
func (a *Assignments) Without(child string) *Assignments {
	by := maps.Clone(a.by)
	delete(by, child)
	return &Assignments{by, make(chan struct{})}
}
