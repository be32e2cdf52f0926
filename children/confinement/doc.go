// Package confinement decides what the kernel opens to a child: which folders and files it
// may read, run and write, and why. [Host.Confine] returns a [Confinement], which
// children/sandbox enforces. This package itself holds nothing and starts nothing.
//
// A [Host] is the machine and the session: the user's home folder and environment, what the
// kernel can hold, and what the policy and the roots open. A [Child] is one start, as launch
// has planned it. Confine opens, in this order: what the entry opens for writing; folders of
// the child's own; what is known of a well-known server (known.go); the paths that the entry
// names (named.go); what a trial has recorded and a person has confirmed (recorded.go); the repositories of the roots (git.go); and what every program needs, with
// the child's own program, and what that is made of (linked.go).
//
// # Where names lead
//
// Servers of other sessions, and of other hubs, may write where links lie. So a name opens
// only what it opened when it was first used. More than that waits for a person's answer.
// All hubs of a user keep this in one file (memory.go), through children/consent. One mutex
// guards it. The only other state that changes is what was seen a moment ago (sandbox.LstatCache, baseLooks), and the
// list of what the other entries run ([Host.SetExecuted]). A Host is a value that any goroutine may use.
//
// # What it refuses
//
// No link leads to keys, to the configuration of clients, or to the hub's own folders, whatever made it. What children may write tells nothing: not which server
// it is, not what it needs. A folder is opened for writing only if nothing in it is run, loaded or obeyed. An entry whose sandbox is required does not start if
// the kernel cannot hold all of it.
package confinement
