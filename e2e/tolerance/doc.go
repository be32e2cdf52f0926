// Package tolerance proves that what works directly works behind the hub: servers that are odd, old or broken in a way that official
// clients bear.
//
// Each case is a stub that is bent in one way. The official clients speak to it, and then through the hub: what works directly works
// through the hub, and what one server breaks harms no other server. There are controls that fail both ways, and a case in which the
// hub refuses what a client takes gives the reason. The programs beside the tests are clients written with the official SDKs. A
// new oddity of a server belongs into quirks_test.go.
//
// Tests run in parallel, also with the ones of the other packages of e2e: each has a home, ports and sockets of its own (e2e/world).
//
// It refuses to prove anything with the hub's own code, as mcphub/e2e says.
package tolerance
