// Package guardian keeps a process above the hub that outlives it, whatever
// happens, for as long as it takes to end what the hub has left behind.
//
// Importing it is enough: on Linux, a process whose arguments name a command
// that runs a hub becomes the guardian while its packages are being
// initialized. It starts the same program again with the same arguments, the
// hub proper, and never reaches main. That it happens there and not in main
// keeps it small: packages are initialized in the order of their import paths
// as far as their imports allow (Go specification, Package initialization), so
// this one, which imports almost nothing, is done before the large ones begin.
//
// The guardian stands outside of the data path: the hub has the client's pipes
// themselves. It passes TERM, INT, HUP and QUIT on, ends with the hub's status
// (128 plus the number where a signal ended it), and before that ends by KILL
// all who descend from it: as a subreaper it inherits them. The hub is told of
// the guardian's own end by the kernel, by TERM, and stops in order. Where the
// hub has no terminal it has a process group of its own, so that who kills the
// guardian's group leaves the hub to do so.
//
// The hub knows itself by the variable MCPHUB_GUARDIAN, which holds its
// parent's id. The variable is taken out of the environment at once. One that
// is forged can only name the process that forges it, and then that one is
// trusted to watch: there is no guardian.
//
// Concurrency: one goroutine waits for children, on the main thread, which it
// must not leave: the kernel takes the end of that thread for the guardian's.
// One passes signals on.
//
// It refuses to start a second time what failed, to read or write a byte of
// the protocol, and to guard on other systems than Linux, where a process
// cannot inherit its descendants.
package guardian
