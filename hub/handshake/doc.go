// Package handshake is the adapter for clients of the era of the handshake (2025-11-25
// and before): they say once what they can do, and are asked and told at any time.
//
// A [Client] is the client of one request, as a call sees it; package modern has the
// other one. [ClientRootsSource] asks it for its roots. Answers of children without a handshake
// are given the shape of this era.
//
// # Who owns the state
//
// There is none: what the client declared and its roots belong to the session, which is the
// [Host]. All methods may be called by any goroutine.
//
// # What it refuses to do
//
// It asks nothing that no one wants to know, judges nothing, and changes no answer but for
// members that only the other era has.
package handshake
