// Package modern speaks to child servers without a handshake (2026-07-28).
//
// [New] puts a [Link] on top of one that carries messages. It puts the version, this
// program and what the client can do into the _meta of each request, by splicing the
// raw params: that of [WithClient], else that of the [Owner]. Members of _meta that
// are of one hop give way, all other bytes stay. A result of an unknown resultType is
// a broken answer, but to a method of an extension; one that asks for input comes raw
// from Call. [Link.Discover] asks what the child is, and sorts what it answers.
//
// What exists only in the era of the handshake is emulated, so that to the rest of the
// program the two differ little. resources/subscribe and logging/setLevel are answered
// here: the resources go, with the tasks of [Link.WatchTask], into
// subscriptions/listen, which is kept open for the lists as well and opened again when
// it breaks, with everything looked at that may have changed meanwhile; the level goes
// with each request. Notifications come as in the other era.
//
// Each stream of subscriptions is kept by a goroutine of its own; a mutex guards what
// they share. All end with [Link.End].
//
// The package does not choose the era, and tells of no change of roots: such a child
// keeps none, and asks with the call that needs them.
package modern
