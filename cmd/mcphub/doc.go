// Command mcphub is one MCP endpoint in front of many MCP servers: it learns
// which directories the client has put in scope, tells the servers, and judges
// every call against that boundary before it reaches one.
//
// main.go holds the command tree. Each command has a file of its own; audit and console have
// several. flags.go, log_flags.go, output.go, running.go, hubs.go, paths.go and servers.go are shared. What hub.json becomes is in cmd/mcphub/internal/setup, the process around a hub in
// cmd/mcphub/internal/service, and the client of call, explain, tools, learn and demo in cmd/mcphub/internal/client. On
// Linux the process that runs main for serve, call, explain, demo, warm, tools, learn and doctor is
// the second: the first has become its guardian before that (cmd/mcphub/internal/guardian).
//
// Concurrency: a command runs on the main goroutine. Standard output belongs to
// the protocol (serve, files) or to the command's result; the log and
// everything else goes to standard error.
package main
