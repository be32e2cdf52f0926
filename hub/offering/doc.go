// Package offering knows what one session is offered: how its children stand, what they
// offer, and the catalogue that is made of it under one configuration.
//
// What children offered in an earlier run with the same roots is shown before any of them has started
// ([Offering.Recall]). No call is made by that alone: the running child's own list
// decides.
//
// # Who owns the state
//
// An [Offering] has one leaf mutex. Its catalogue is an immutable value behind an atomic pointer,
// made again when someone looks at it after a change. The hub tells it of changes of the one instance
// that serves the session; all who wait here are woken then.
//
// # What it refuses to do
//
// It starts no child and asks none. It does not tell the client of changes: it reports whether there
// is one. No one waits here longer than their context or the bounds of the configuration say.
package offering
