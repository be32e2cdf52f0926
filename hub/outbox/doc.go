// Package outbox passes on what a client tells children: in the order told, and not on the
// client's read loop.
//
// An [Outbox] belongs to one session, and has one leaf mutex. Its methods may be called by any
// goroutine. It starts a goroutine only while there is something to pass on.
//
// It refuses to hold more than its bounds say: what there is no room for is dropped, for a
// notification promises no one anything. It does not know to whom anything goes: the one who
// puts it in reports how it is passed on.
package outbox
