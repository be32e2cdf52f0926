// Package assignment knows which instance of each child serves a session, and gives the
// children of that session their roots.
//
// # Sharing
//
// A session is served by its own instance of a child, by the one of its root set, or by everybody's. A root
// set is a digest of URIs, paths and labels in their order, so the roots of such an instance never change:
// other roots move the session to another instance. Only sessions of one principal with the same groups
// share it: rules may open the same directories to others otherwise. It joins the new one, then looks for
// it in every new call, then leaves the old one, where calls under way end. A child that serves everybody
// is served the configured roots. What is told about an instance goes to the sessions that it serves now.
//
// Sessions may go by different configurations. An offer is read by that of each session which
// an instance serves.
//
// # Who owns the state
//
// A [Table] has one mutex. Under it stand which sessions there are, which instance
// serves which of them, and what each instance said last; a reload replaces the configuration under it too.
// [AssignedSession.Run] is the one goroutine of a session that assigns it to instances and gives
// them roots. It tells [RootsDelivery] afterwards; calls wait there until their roots were
// given. An [Assignments] is an immutable value, so one load of it gives answers that
// belong together.
//
// # What it refuses to do
//
// It judges nothing and asks no client. Nothing counts as given before [RootsDelivery.Set] says so. Its
// goroutines are the goroutines of its callers.
package assignment
