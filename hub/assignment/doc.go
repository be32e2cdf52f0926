// Package assignment knows which instance of each child serves a session, and which
// roots the children of that session were given.
//
// # Who owns the state
//
// One goroutine of the session assigns it to instances and gives them roots. It
// tells [Served] afterwards; calls wait there until their roots were given. An
// [Assignments] is an immutable value, so one load of it gives answers that belong
// together.
//
// # What it refuses to do
//
// It starts no child and gives no child roots: the session does, by the supervisor of
// the children. It judges nothing. Nothing counts as given before [Served.Set] says so.
package assignment
