// Package subscribe tells clients what changes: resources that they subscribed to,
// and lists of what is on offer. A client of the handshake subscribes with
// resources/subscribe and is told on its connection. One of 2026-07-28 names what
// it wants with subscriptions/listen (basic/patterns/subscriptions) and is told on
// that request's stream.
//
// # Ownership
//
// A [Table] has the subscriptions of all sessions of a hub, by instance and
// resource: a shared instance is asked to stop when nobody wants the resource any
// more. A [Notifier] belongs to one session and knows its streams, and the lists
// that its client has seen. What it tells of lists it tells on its own goroutine,
// which runs between Start and Stop.
//
// The mutex of a Table and that of a stream are leaves. The mutex of a Notifier is
// held while the session makes its lists, so a session must not hold a lock of its
// own that this takes when it calls a Notifier.
//
// # What it refuses to do
//
// It judges nothing: whether a resource may be subscribed to is for the [Place]
// that is asked. It never blocks a child's read loop. What a client does not take
// of a resource's updates is dropped, but a changed list is told surely.
package subscribe
