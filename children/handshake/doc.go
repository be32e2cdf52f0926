// Package handshake starts to speak to a child server, and finds out in which era of
// the protocol: by the handshake (2024-11-05 to 2025-11-25), or without one
// (2026-07-28).
//
// Of a child that has both, [Start] takes the one that its caller names first: what
// comes first on a connection is of that era, for servers of both eras take it for a
// choice that lasts. For clients of the handshake a child is sent initialize, and
// asked for server/discover only where it refuses that. For the others it is asked
// for server/discover first. A result that names a version of ours, or an error of the
// modern era, settles it; any other answer has initialize follow at once on the same
// connection, and so has no answer within two seconds. Nothing is taken back
// meanwhile: a server that is still loading finds both. One that was only too slow for
// the question is marked (Offer.Both), and may be spoken to without a handshake from
// its next start on.
//
// Versions and their negotiation are mcp-go's; what the child said of itself stays
// raw beside what mcp-go made of it.
//
// The package has no state and starts no child. It does not remember what it found
// out, and lists nothing.
package handshake
