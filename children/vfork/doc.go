// Package vfork starts a process that makes system calls of the caller's choice before it executes a program.
//
// Package os/exec has the same fork. But a process of os/exec makes only the calls that os/exec knows. One that is to give up a right that
// its parent needs in order to start it must make a call of its own in between: see package process, which starts servers in control groups.
//
// [Start] makes the process share the memory of this one, and halts the calling thread until the process executes a program or ends (clone3
// with CLONE_VM and CLONE_VFORK). So it costs what os/exec costs, however much memory this process has. Of this process the new one runs one
// function, which makes the calls and does nothing else: it takes no memory, and no signal interrupts it.
//
// [Files] is the limit on open files that this process was started with. The Go runtime raises that limit, and os/exec gives what it
// starts the former one. Who starts something by this package has to do that too. The package imports nothing: so it is initialized before
// package syscall, which raises the limit (the language's specification, "Package initialization").
//
// The package decides nothing: it makes the calls that it is given. It exists for Linux on amd64 and arm64; elsewhere [Known] is false.
package vfork
