// Package service runs a Hub in a process.
//
// [Run] orders starting and stopping: the the Hub runs before the front is served, and its children
// are stopped after the front has ended; what they left behind is ended last. [Serve] is all of
// mcphub serve: the Hub, its front (standard input and output, or HTTP), the audit log, the
// children's logs, the socket of mcphub status, and the reload of hub.json. On Linux the process
// that runs it has a guardian above it (cmd/mcphub/internal/guardian).
//
// Concurrency: Serve returns when everything that it started has ended. One goroutine, the
// reloader's, reads hub.json again and applies it; the socket and SIGHUP only ask it to.
//
// Of a hub.json that a server could have written it uses only what a person has accepted, less what
// the change takes away, and keeps the former configuration if the new one cannot be used. Standard
// output belongs to the protocol: all else that is said goes to the log.
package service
