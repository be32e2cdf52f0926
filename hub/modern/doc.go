// Package modern serves clients of version 2026-07-28: no handshake, no session,
// no request from the server. Each request says in its _meta what its client can
// do. A client is asked something by the result of its request, which it sends
// again with the answers (multi round trip requests, MRTR).
//
// A [Client] is the client of one request, over all round trips. The work on the
// request asks and tells it as it would any client. There are three ways to ask:
//
//   - End. The roots are asked for by ending the work, which holds nothing. The
//     retry starts it again, and brings the roots (roots.go).
//   - Pass on. What a child of the same era asks goes to the client, with the
//     child's requestState sealed inside the hub's. Nothing is held (child.go).
//   - Suspend. A child of the handshake's era waits for its answer, and so does an
//     approval. The work waits, the client is answered with the questions, and the
//     retry, which may come once, hands the answers over (client.go, suspended.go).
//     So it is where such a child asks for roots in the middle of a call (roots_query.go).
//
// Every requestState is sealed, and bound to method, params, client and time
// (state.go). What does not come again within [StateTime] is given up, and how many
// calls are suspended, and how many bytes they hold, is bounded.
//
// Over HTTP each call may bring other roots to the same instance of a child. Calls with
// other roots follow one another (roots_gate.go). A suspended call that is admitted gives way after
// [GivesWayAfter] to the ones that wait for it, and its retry starts again.
//
// # Concurrency
//
// [NewServer] starts nothing. Work that may wait for a client runs on a goroutine of
// its own, which [Server.Close] waits for. A Client's state is guarded by its mutex;
// the calls of a Server, its gates and its roots queries have one each, all leaves.
//
// # What it refuses to do
//
// It asks no client for what that request did not declare. It resumes nothing but
// the very request that was asked. It decides nothing: verdicts come from the work.
// It never decodes what passes through.
package modern
