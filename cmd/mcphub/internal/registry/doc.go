// Package registry reads a registry of MCP servers and reports what an entry of it means in
// hub.json. The API is the API of the official registry (/v0.1/servers), entries are
// server.json of 2025-12-11.
//
// [Client] asks one registry. [Server.Install] makes an entry of hub.json of what the registry
// answers. Nothing is run, nothing is written and no secret is looked up here: the caller shows
// the result to a person first.
//
// The one who runs or fills a registry may be hostile. So an answer is bounded in bytes, pages
// and time, comes from the host that was asked, and is about the server that was asked for. An
// entry may report which version of which package is run, and its arguments and variables. It
// may not say the origin of the package, how its launcher behaves, which path of this machine
// is opened, or anything that hub.json would expand. What is not understood is refused, never
// left out: an entry is taken as its author meant it, or not at all.
//
// What this cannot promise: that a package does what its description says. Its name is all
// that the registry knows of it.
//
// Concurrency: a Client may be used by several goroutines; all else are values and pure
// functions.
package registry
