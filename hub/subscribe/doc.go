// Package subscribe tells clients what changes: resources that they subscribed to,
// and lists of what is on offer. A client of the handshake subscribes with
// resources/subscribe and is told on its connection. One of 2026-07-28 names what
// it wants with subscriptions/listen (basic/patterns/subscriptions) and is told on
// that request's stream.
//
// # Ownership
//
// A [Table] has the subscriptions of all sessions of a hub, by instance and resource.
// A shared instance is told to unsubscribe when no session wants the resource any more.
// A [Notifier] belongs to one session. It knows the session's streams, and the lists
// that its client has seen. It announces changed lists on a goroutine of its own,
// which runs between Start and Stop.
//
// The mutexes of a Table and of a stream are leaves. The mutex of a Notifier is held
// while the session makes its lists. So a session must not call a Notifier while it
// holds a lock that making lists takes.
//
// # What it refuses to do
//
// It judges nothing: whether a resource may be subscribed to is for the [ResourceSource]
// that is asked. It never blocks a child's read loop. Updates of a resource are
// dropped if the client does not read, but a changed list is always announced.
package subscribe
