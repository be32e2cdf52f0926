// Package remote speaks to child servers over HTTP: Streamable HTTP from
// 2025-03-26 on, HTTP with SSE of 2024-11-05, and the requests without a
// handshake of 2026-07-28.
//
// [Open] takes a [Server] and returns a [link.Link]. Where the Server leaves the
// transport open, initialize finds it out. Each Link has an HTTP client and a pool of
// connections of its own, which end with its Run. One mutex guards the session, and
// one goroutine reads each stream.
//
// A request is a POST; what the server says on account of it comes with the answer,
// and what belongs to none on a stream of the server's own, which is kept open. A
// stream that breaks is taken up again where it was, if the server gave an id to do
// so. A session that the server has forgotten is started again by one call while the
// others wait; the Handler is told by SessionRenewed. Without a handshake there is
// no session: closing the answer cancels, and an answer that broke off is lost.
//
// Where a [Login] gives a token, each request carries it. One that the server refuses
// is sent again with another token, if the Login has one.
//
// The package sends credentials to no other host than the one that is written in
// hub.json, shows addresses in no error, and bounds answers, events, the requests of
// a server at a time, and the pauses that one may ask for. It judges nothing, and
// knows neither the instance that it serves nor the roots.
package remote
