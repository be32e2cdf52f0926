// Package servers tests the hub before real servers: those of npm, PyPI and others, as people have them in their configurations.
//
// A server does through the hub what it does without it, confined by the kernel too, and what people ask of it works. Folders of
// e2e pin them; testdata/everyday has small servers for the ones that cannot be had.
//
// Tests run in parallel, also with the ones of the other packages of e2e: each has a home, ports and sockets of its own (e2e/world).
//
// It refuses to prove anything with the hub's own code, as mcphub/e2e says.
package servers
