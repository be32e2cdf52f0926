// Package jsonrpc is mcphub's data plane: JSON-RPC 2.0 frames as raw bytes.
//
// A frame is one line of JSON. It is read once, split into the members of its
// envelope without copying or decoding them, and written again with another
// id around the same bytes. Nothing that passes through is turned into a Go
// value, so nothing is rounded, reordered, renamed or dropped on the way.
//
// # Two kinds of peer
//
// A strict peer (the client) must send well-formed JSON, valid UTF-8 and unique names at every depth:
// what is judged later must have one reading. Its answers bear the id of the question as that was
// spelled. A lenient peer (a child) is relayed as it speaks: only the names of its envelope must be
// unique; bad UTF-8, lone surrogates and duplicate names below pass as sent. Its answers may bear the id
// as a string of its digits, or as floating point. A line with an id and neither a method, a result nor
// an error is one of a log, and is skipped. A lenient peer's line that is broken or too long ends the
// call whose id can still be found in it (package broken), with a [BrokenError]; without an id it is
// skipped and counted. A strict peer learns what was wrong.
//
// # Concurrency
//
// [NewConn] starts nothing. [Conn.Run] owns the read side: it alone reads,
// splits and hands out. A request of the peer is served on a goroutine of its
// own (or one that an earlier request has left, up to 64 wait), registered for
// cancellation before that goroutine sees it, at most
// ConnOptions.MaxRequests at a time; notifications are served in order on the read
// loop and must not block. The write side is a lines.Writer: ordered and
// bounded. Run returns when every goroutine that the
// Conn started has ended. One mutex guards the tables of a Conn; it is a leaf
// and never held while writing.
//
// A request is answered once, and whole. Its id stands in a table from when it is read (admitRequest) until its
// answer is known (freeID). A second request of this id is refused meanwhile, by an error with the same id. On the
// waiting path the goroutine of serveRequest answers, and nothing else. On the fast path the first caller of
// Responder.Answer does (claimAnswer). A method of ConnOptions.OnReadLoop (initialize) stands in no table, and the read loop
// answers it. Each answer is one frame of the lines.Writer, at which one goroutine at a time has the write turn.
// The answers to the requests of a batch are one frame together (batchResponse).
//
// A request of the peer may take the fast path instead (ConnOptions.Fast): on the
// read loop, without a goroutine. What the fast path sends is gathered in the
// read loop's lines.Batch while more lines wait in its buffer.
//
// # What it refuses to do
//
// Of the methods of MCP it knows notifications/cancelled, and initialize, which is never
// cancelled; a few other names are only kept from being copied. It keeps no sessions and
// retries nothing. Batches (one revision of MCP has them: 2025-03-26) are taken
// where ConnOptions.Batches says so, and never sent; elsewhere one of a strict peer is
// refused, one of a lenient peer is skipped.
package jsonrpc
