// Command mcphub is one MCP endpoint in front of many MCP servers: it learns
// which directories the client has put in scope, tells the servers, and judges
// every call against that boundary before it reaches one.
//
// main.go holds the command tree, wire.go turns a
// config.File into a hub.Config and is the only file that sees both, serve.go
// orders starting and stopping, reload.go brings changes of the file to a Hub
// that runs (one goroutine owns that), client.go is the client of call and demo,
// and there is one file for each command. On Linux the process that runs main for
// serve, call, explain, demo and warm is the second: the first has become its
// guardian before that (internal/guardian).
//
// Concurrency: a command runs on the main goroutine; serve, call and demo run
// the Hub on a second one and return when both have ended, and warm runs a
// Supervisor so. Standard output belongs to the protocol (serve, files) or to
// the command's result; the log and everything else goes to standard error.
package main
