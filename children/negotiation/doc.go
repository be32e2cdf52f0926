// Package negotiation starts to speak to a child server, and finds out in which era of
// the protocol: with a handshake (2024-11-05 to 2025-11-25), or without one
// (2026-07-28).
//
// The caller of [Start] names the era that it prefers. A child that has both is spoken
// to in that one. The first message decides, because servers of both eras take it as a
// choice for the whole connection:
//
//   - Handshake preferred: the child is sent initialize. Only if it refuses, it is asked
//     for server/discover.
//   - No handshake preferred: the child is asked for server/discover. It has no handshake
//     if the result names a version of ours, or if it answers with an error of that era.
//     After any other answer initialize follows at once; without an answer it follows
//     after two seconds. The question stays open meanwhile, so a slow server finds both.
//
// A server that only answered server/discover too late is marked (Offer.Both). At its
// next start it may be spoken to without a handshake.
//
// The handshake proposes the newest version that has one. A child that refuses it is
// offered the ones that its refusal names, then the older ones, over the same connection,
// unless the caller has pinned one. What was agreed on by an older proposal is marked
// (Offer.Proposed), so that the next start can begin with it. What the child said of
// itself is also kept as raw bytes.
//
// The package has no state. It starts no child, does not remember what it found out, and
// lists nothing.
package negotiation
