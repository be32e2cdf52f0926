// Package kernel tests what the kernel holds servers to: what a confined server may read, write and reach, that none of it is left, and that
// what one session leaves opens nothing to the next.
//
// It tries to break out with whole corpora of paths, shell lines and SQL, swaps links meanwhile, kills processes at any moment, and holds
// that what the documents say is not held is as they say.
//
// Tests run in parallel, also with the ones of the other packages of e2e: each has a home, ports and sockets of its own (e2e/world).
//
// It refuses to prove anything with the hub's own code, as mcphub/e2e says.
package kernel
