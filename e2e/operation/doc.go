// Package operation tests how mcphub is run: its command line, its configuration and reloads, its record, its end, and what it costs.
//
// testdata/script has the command line as a person types it; testdata/printed what commands print. The documents are run too, command by
// command.
//
// Tests run in parallel, also with the ones of the other packages of e2e: each has a home, ports and sockets of its own (e2e/world).
//
// It refuses to prove anything with the hub's own code, as mcphub/e2e says.
package operation
