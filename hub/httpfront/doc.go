// Package httpfront serves MCP clients over Streamable HTTP: those of the handshake (2025-03-26
// to 2025-11-25), who have sessions, and clients of 2026-07-28, who have none. It admits
// requests, reads their messages, delivers these to a session of a [Hub], and writes what the
// session answers and says.
//
// # A request
//
//	admission  host, origin and token of the request (package admission)
//	routing    POST, GET and DELETE, by session and version (front.go)
//	body       one message, or a batch, bounded in bytes and time (body.go, batch.go)
//	delivery   to the session, when the request has its turn (exchange.go, modern_post.go)
//	answer     as JSON, or at the end of a stream of events (answer.go, exchange.go, package events)
//
// The answer becomes a stream when something has to be said before it, when it takes
// long, or when the client prefers that. A stream of a session is kept for a while, so
// that a client whose connection broke gets the rest of it (Last-Event-ID).
//
// # Two eras
//
// A client of the handshake opens a session with initialize. Its [FrontSession] is what the
// hub speaks to outside of requests: on the stream that the client opened with GET.
// The end of a connection does not end the request that came on it.
//
// A request of 2026-07-28 says for itself what it needs, so all that come with one
// token are served by one [ModernSession] (modern_post.go). Their headers are compared
// with their bodies (package headers). The end of a connection ends the request.
//
// # Concurrency
//
// [Front.Serve] starts everything and returns when all of it has ended. One mutex guards the
// tables of the front, one each [PostExchange], one the tables of each [FrontSession], and one each stream. They
// are taken in this order. None is held while a message is served. The mutex of the front is held while
// [Hub.OpenModern] makes a session, so that must not wait. A message is served on the
// goroutine of its POST. If the client polls, or has no handshake (hub/modern), that one waits
// for another goroutine. A stream is written by a goroutine of its own.
//
// # What it refuses to do
//
// It knows no method of MCP but initialize, subscriptions/listen and
// notifications/cancelled, judges no call, and decodes nothing that passes through.
// It reads no body of a request that is not admitted. It keeps no more for a client than
// its limits say, whatever the client announces, reads or leaves unread.
package httpfront
