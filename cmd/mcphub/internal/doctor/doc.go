// Package doctor examines what a hub needs on this machine: hub.json, the servers,
// the clients, the system, and the hubs that run. It reports what is wrong, and
// what mends it.
//
// Each server is started as serve would start it, by a Hub in this process, and
// asked for its tools. So what holds here holds for a client. Nothing is kept of
// what the servers offer.
//
// A [Finding] names its cure. If a command line does it, the Finding has that
// line; else it reports what to write, and where.
//
// Concurrency: [Examine] returns when everything that it has started has ended.
// A [Report] is a value.
//
// It refuses to mend anything itself, to show the value of a variable, and to
// call a tool.
package doctor
