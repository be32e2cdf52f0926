// Package run is one start of a child server, from its launch to its end.
//
// [Start] opens the [link.Link]; [Run.Connect] does the handshake, lists what the child
// offers and sees the first roots applied. From then on the run may be called:
// [Run.Call] waits for the answer, [Run.StartCall] does not. A call ends with its
// context, with the idle timeout of its server, or with the child, and its error then
// says what became of the child. [Run.Follow] lists anew what the child says has
// changed. What the child asks is answered here where it is ping or roots/list, and
// goes to the [Instance] otherwise; while it waits for that no call times out.
//
// A run belongs to the goroutine of its instance. Calls, requests and notifications
// come from any: what they touch is a channel, an atomic, or under a mutex that is a
// leaf. [Start] starts one goroutine, which ends with the child; [Run.Stop] waits for
// it.
//
// The package decides nothing about the life of an instance: it does not restart,
// replace or evict, and does not choose roots. It quotes what a child that others share
// wrote to stderr in no error.
package run
