// Package limits bounds how many child servers start and run at a time.
//
// A [StartSlot] is the right to start. Only so many children start at a time, and fewer of
// them load their programs at once: as many as there are processors. A child that takes
// long gives its slot back early. The owner that has the fewest slots gets the next one.
//
// A place is the right to run. If all [Places] are taken, the [Tenant] that has been idle longest and may be evicted is asked to leave. If there is none, and
// another owner has more places, a session of that one that no one uses ends. Else the start fails with [ErrBusy]. An owner may also be held to a part of the
// places ([ErrOwnerBusy]).
//
// StartSlots and places are guarded by leaf mutexes, and no Tenant is called under one. The package starts and stops no one itself, and does not
// know what a child is.
package limits
