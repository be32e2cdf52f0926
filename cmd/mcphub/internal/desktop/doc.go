// Package desktop shows a person at this desktop that something waits for them, by the
// notifications of freedesktop.org (org.freedesktop.Notifications, version 1.2) on the
// session bus.
//
// A notification informs. It has no buttons, and whatever comes back from the desktop is
// not read, so it answers nothing.
//
// # Concurrency
//
// [New] starts nothing. [Notifier.Run] works on the goroutine of its caller until its
// context ends, and owns the connection to the bus. [Notifier.Tell] may be called by any
// goroutine and never waits: what comes faster than the desktop takes it is left out.
//
// # What it refuses to do
//
// It starts no bus and no program. It speaks to a bus on a socket of this machine alone,
// and on Linux alone. If there is none, nothing is shown.
package desktop
