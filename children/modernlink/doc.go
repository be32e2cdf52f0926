// Package modernlink speaks to child servers without a handshake (2026-07-28).
//
// [New] puts a [ModernConnection] on top of one that carries messages. The ModernConnection writes the _meta of
// each request: the version, this program, and what the client can do. The latter is that
// of [link.WithClient], otherwise that of the [ConnectionOwner]. All other bytes of the params stay. A
// result that asks for input is returned as it came. A result of an unknown resultType is
// a broken answer, except to a method of an extension. [ModernConnection.Discover] asks what the child
// is.
//
// The ModernConnection also answers what exists only in the era of the handshake, so that the rest of
// the program sees little difference:
//
//   - resources/subscribe adds to what is asked for by subscriptions/listen, as does
//     [ModernConnection.WatchTask]. That stream is kept open for list changes too. When it breaks it is
//     opened again, and everything that may have changed meanwhile is read again.
//   - logging/setLevel is kept, and the level goes with each request.
//
// Each stream is read by a goroutine of its own; a mutex guards what they share. All end
// with [ModernConnection.End].
//
// The package does not choose the era. It tells the child of no change of roots: such a
// child keeps none, and asks for them in the calls that need them.
package modernlink
