// Package clients tests the hub behind real clients: the SDKs, the Inspector, Claude Code and other agents, on stdio and over HTTP.
//
// It holds what such a client sees and is asked, how the hub is registered in it, who may call over HTTP, and how a person logs in
// to servers. The programs beside the tests are clients written with the TypeScript SDK.
//
// Tests run in parallel, also with the ones of the other packages of e2e: each has a home, ports and sockets of its own (e2e/world).
//
// It refuses to prove anything with the hub's own code, as mcphub/e2e says.
package clients
