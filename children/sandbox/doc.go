// Package sandbox has the kernel hold a child to what it may open.
//
// A [Profile] describes what a confined process and all that it starts may do: paths with an [Access], the network, unix
// sockets. [Base] is what every program needs. A [Kernel] reports what this system can enforce, and [Kernel.Lacks] what it
// cannot. [Prepare] makes a [Ruleset] of a Profile. On Linux Ruleset.Enter confines the calling thread: the one who starts a
// process there has confined it. There is no other program in between, no setuid and no container. On macOS Ruleset.Wrap
// returns the command line that starts a program confined.
//
// # How it is enforced
//
// On Linux by Landlock (files, TCP ports, signals, abstract sockets, tracing), by
// NO_NEW_PRIVS, by a seccomp filter that everybody has who is confined (mounts, setuid
// bits, flags of files, clone3, unix sockets, what passes by Landlock's rules on ports, what
// programs share without a path, limits of other processes), and by giving up every
// capability. On macOS by Seatbelt: package seatbelt writes the profile, and package proof
// has tried before whether it holds. Elsewhere nothing is enforced, and Kernel says so. Package process
// gives who is confined a session of its own, without a terminal.
//
// Rules are added and never taken away: Landlock cannot except a directory from one
// that is allowed ([Boundary.Conflicts]). One folder is excepted all the same
// ([Profile].Except): all that lies beside the way to it is allowed by itself, so in the
// directories on the way nothing new can be made. Rules sit on inodes ([Place]) and on opening: what is open
// stays open, and names and sizes of files are not held. Modes, owners, times and
// attributes are where [Profile].Attributes says so: the kernel asks before each change,
// and the hub makes it, on what it has judged.
//
// # Files in closed folders
//
// A [File] lies in a folder that no rule opens, and its program makes others beside it. The kernel
// asks before each call that names a path. If the path leads to such a name in the folder, which is held and
// compared by what it is, the hub makes the call on a copy of the name, and hands over what it has opened. With other
// calls the kernel goes on: Landlock judges what it then opens, and has no rule for what the hub opens.
//
// One listener answers all that the kernel asks about one run, from Enter until [Ruleset.End]. Its thread has no capabilities.
//
// # What is recorded
//
// A [Recorder] notes what a process uses beyond its Profile: on Linux the kernel gives a
// notice of each system call before it makes it (seccomp), and goes on. The process is held
// meanwhile, unless the Recorder is free. The notes are for a person: between notice and
// call a process can change what the call is about.
//
// # What it refuses to do
//
// The zero Profile opens nothing. A path of a Profile is opened without following any link, so the one who makes one resolves
// it first; what is a link by then is left out. The package chooses no program, starts nothing, and reads no configuration.
//
// A Profile, a Kernel and a Boundary are values that do not change, but for what [Made] knows. A Ruleset belongs
// to the goroutine that has it, which ends it by End. Enter cannot be undone: its thread must end, and must
// not be the main one.
package sandbox
