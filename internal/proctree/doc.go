// Package proctree reads which processes descend from one, and ends them.
//
// On Linux a [Table] is one look at /proc, immutable; a [Process] in it is named by its id together with the
// time it started, so that a signal never goes to someone who was given the id later. [Family.End] ends a
// whole family, even one that resists: everybody is stopped before anybody is killed, so that none can fork,
// or lose the parent by which it is recognised, while the others go. [Subreaper] makes the kernel hand over to
// this process all processes below it that lose their parents.
//
// Concurrency: all functions may be called from any goroutine; none starts
// anything, and only Mark keeps state: what this process was before.
//
// It refuses to decide who is to be ended, and imports next to nothing: the guardian runs before the rest of
// the program is set up. It sends signals to no one outside the set it is given. On Windows it has
// [JoinServers] and [IsServer] alone, which tell servers of hubs from other processes by a job object. On
// other systems it has [Written] alone, which returns 0.
package proctree
