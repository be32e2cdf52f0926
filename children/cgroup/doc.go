// Package cgroup bounds the memory and the processes of the one who is started in a control
// group (version 2) below the hub's own.
//
// [OpenDelegated] makes a [Tree] of the control group that this process is in. That group must
// belong to the hub alone: no one else may be in it, and where systemd manages it, systemd
// must have delegated it (Delegate=yes). A control group that has members cannot hand
// controllers to groups below it, so the hub and its guardian move into a group below first.
// [Tree.New] makes a [Group], into which a process is started by its descriptor
// (CLONE_INTO_CGROUP): it is never outside of it.
//
// The kernel holds the bounds of a Group. A process that asks for memory beyond the bound has
// everybody in the group killed (memory.oom.group); one more process than the bound is refused
// to the process that forks. Both are counted, and [Group.Exceeded] says so.
//
// What it cannot promise: a process of the same user that nothing else holds may write to
// these files, as the hub does, and leave its group, or start a process in another one by
// clone3. A server that the kernel confines to its boundary (package sandbox) can do neither.
//
// Concurrency: a Tree is immutable. A Group may be used by any goroutine until Remove.
// The package starts no process, ends none but by [Group.Kill], and never moves a process
// that is neither the hub's own nor its guardian.
package cgroup
