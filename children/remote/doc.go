// Package remote speaks to child servers over HTTP: Streamable HTTP from 2025-03-26 on,
// HTTP with SSE of 2024-11-05, and requests without a handshake of 2026-07-28.
//
// [Open] takes a [Server] and returns a [link.ChildConnection]. If the Server does not name its
// transport, initialize finds it out. Each ChildConnection has an HTTP client and a pool of
// connections, which end with its Run. One mutex guards the session, and one goroutine
// reads each stream.
//
// A request is a POST. What the server says because of that request comes with the answer.
// Everything else comes on the server's own stream, which is kept open. If the server only
// accepts a request, its answer may come there too. A stream that
// breaks is continued where it was, if the server gave its events ids. If the server has
// forgotten the session, one call starts a new one while the others wait, and the Handler
// is told by SessionRenewed. Without a handshake there is no session: closing the answer
// cancels the request, and an answer that broke off is lost.
//
// If a [Login] gives a token, each request carries it. A request that the server refuses
// is sent again with another token, if the Login has one.
//
// The package sends credentials only to the host that is written in hub.json. It shows
// addresses in no error. It bounds answers, events, requests of the server, and the pauses
// that the server may ask for. It judges nothing, and knows neither instances nor roots.
package remote
