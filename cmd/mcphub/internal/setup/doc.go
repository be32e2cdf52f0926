// Package setup turns hub.json into what a Hub is made of. It is the only
// place that sees both: config.File on one side; hub.Config, the Checker, the
// fallback roots and the options of the HTTP front on the other.
//
// [Source.Read] is the whole way: find and load the file, then build. A reload
// takes the two steps by themselves, and [Source.Check] goes on to look for
// what would not work, without starting anything. One reading tells everything
// that is wrong: each problem with its line, warnings if they stop nothing,
// errors with an exit status if they do.
//
// The folders of the hub itself (state, logs, audit log, sockets) are chosen
// here as well, so that the Checker protects them from every call.
//
// Concurrency: a Source is used by one goroutine at a time. Results are values;
// nothing is started, and no file is kept open.
//
// It refuses to guess: what hub.json says and this package does not understand
// is an error, and a configuration that is unusable in part of its policy is
// unusable as a whole.
package setup
