// Package guardian keeps a process above the hub. When the hub has ended, in whatever
// way, it ends everything that the hub has left behind.
//
// Importing it is enough. On Linux, a process whose arguments name a command that runs a
// hub becomes the guardian while its packages are being initialized. It starts the same
// program again with the same arguments, which is the hub proper, and never reaches main.
// Go initializes packages in the order of their import paths, as far as imports allow.
// This package imports almost nothing, so it runs before the large packages do. That
// keeps the guardian small.
//
// No data passes through the guardian: the hub has the client's pipes itself. The
// guardian passes TERM, INT, HUP and QUIT on. It ends with the hub's status (128 plus the
// number of a signal). Before that it kills all descendants of the hub, which it inherits
// as a subreaper. If the guardian itself ends, the kernel sends TERM to the hub, which
// then stops in order. Without a terminal the hub has a process group of its own, so a
// signal to the guardian's group does not reach it.
//
// The hub knows that it is the hub by the variable MCPHUB_GUARDIAN, which holds its
// parent's id. The variable is removed from the environment at once. A process that forges
// it only loses the guardian.
//
// Concurrency: one goroutine waits for children, on the main thread. It must not leave that
// thread, because the kernel takes the thread's end for the guardian's. Another goroutine
// passes signals on.
//
// It does not start again what failed, reads and writes no byte of the protocol, and does
// nothing on other systems than Linux, because a process cannot inherit its descendants there.
package guardian
