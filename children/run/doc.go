// Package run is one start of a child server, from its launch to its end.
//
// [Start] opens the connection. [Run.Connect] does the handshake, lists what the child offers, and waits until the child has applied its
// first roots. Then the run may be called: [Run.Call] waits for the answer, [Run.StartCall] does not. A call ends with its context, by
// its idle timeout, or with the child. In the last case its error reports what became of the child ([UnavailableError]), and package
// failure what the client is told about it. The timeout comes from the Spec that the run was started by: if a reload changes it,
// the run is retired, and calls under way keep theirs.
//
// [Run.Follow] reads a list again when the child states that it has changed, and one that failed after a pause that grows. A child may
// ask something too. The run answers ping and roots/list itself and passes other requests to the [Instance]. Calls of the run do not
// time out while such a request is open.
//
// A run belongs to the goroutine of its instance. Its exported methods for calls,
// requests and notifications may be called from any goroutine: what they share is a
// channel, an atomic, or guarded by a leaf mutex. [Start] starts one goroutine, which
// ends with the child. [Run.Stop] waits for it.
//
// The package does not restart, replace or evict a child, and does not choose its roots.
// No error quotes what a shared child wrote to stderr.
package run
