// Package limits bounds how many child servers start and run at a time.
//
// A [Turn] is the right to start: so many start at a time, and of them only as many
// load their programs as the processors can do. It ends early for a child that takes
// long. A place is the right to run: where all of the [Places] are taken, the longest
// idle [Tenant] that may be evicted is asked to leave, and where there is none the
// start fails with [ErrBusy].
//
// Turns are channels and Places a mutex that is a leaf: no Tenant is asked under it.
// The package starts and stops nobody itself, and does not know what a child is.
package limits
