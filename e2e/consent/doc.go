// Package consent tests what only a person may allow: changes of what servers start, wider boundaries, and single calls.
//
// It holds that the person is asked in words that show all, at a terminal or through a client, and that no server, link, environment
// file or stranger can answer instead.
//
// Tests run in parallel, also with the ones of the other packages of e2e: each has a home, ports and sockets of its own (e2e/world).
//
// It refuses to prove anything with the hub's own code, as mcphub/e2e says.
package consent
