// Package e2e is the folder of what proves mcphub end to end: the binary as users run it, in front of real child servers and behind
// real clients.
//
// The tests are in packages by subject: clients, servers, protocol, kernel, consent, operation, tolerance and windows, which runs the Windows program under Wine. What they share is in world.
// Beside them lie
// ide, a fake editor that speaks raw JSON-RPC; recorder, a child that writes down every line that reaches it; fixture, a child
// that offers what the official conformance suite asks of a server; opener, a child that opens whatever a call names, and engines,
// one that runs SQL, for what a sandbox must hold; agents, authserver, compat, everyday, peers and, beside the tests, servers, which pin
// packages of npm.
//
// It refuses to prove anything with the hub's own code: no package of the hub is imported here. A test that expects a refusal
// also shows that the forbidden thing works without the hub, or that the witness would have seen it.
package e2e
