// Package lookup finds what a request of the client names, and has a [call.Call] made of
// it: the first step of a call.
//
// A name is looked up in the session's catalogue (package offering), an immutable value
// which may hold what children offered in an earlier run. A name that may belong to a
// child which has not listed its tools yet waits for that child. A resource whose owner
// is not known is asked of the children in turn; each request is judged first. What the
// protocol does not know goes to the child that has the extension. What a reload
// overtakes before it is sent is looked up again.
//
// # Who owns the state
//
// There is none: a [Session] is the session's calls, and what serves the hub's own
// tools. All methods may be called by any goroutine.
//
// # What it refuses to do
//
// It judges nothing and sends nothing: the Call does. No name is guessed: one that
// several children have is refused with the names that tell them apart.
package lookup
