// Command opener is the most obliging child server there can be: whatever a call names, it opens, reads, lists, writes and
// makes, in every way that the name may be read. It shows what a sandbox holds if no one has read the arguments before.
//
// It has two tools. open takes any arguments and answers with a JSON array of what it could open: the real path, as the kernel
// tells it, and what it could do there. shell runs a command line with /bin/bash and answers with what that writes.
// It does not start if that is missing.
//
// The environment says what to do with care, for the runs that no sandbox holds: OPENER_ZONE lists the directories in which it
// may change something, and OPENER_FREE says that it is free, and is to open nothing for writing elsewhere. OPENER_NEEDLE is a
// secret in hexadecimal, so that the environment does not hold it: where it is found, the answer says so.
//
// Called as "opener do WHAT ARGS" it does one thing that a debugger would do to another process, and prints what it got: see
// attacks_linux.go. A shell calls it so.
//
// It speaks raw JSON-RPC with the standard library alone. One goroutine does all.
package main
