// Package protocol tests what the hub says and passes on: every message of both eras, over both transports.
//
// It holds that nothing is changed that need not be, that calls are judged by the roots of the moment, and that hostile clients and
// children get nowhere. Two hubs, of two revisions, can be compared call by call (TestDifferential).
//
// Tests run in parallel, also with the ones of the other packages of e2e: each has a home, ports and sockets of its own (e2e/world).
//
// It refuses to prove anything with the hub's own code, as mcphub/e2e says.
package protocol
