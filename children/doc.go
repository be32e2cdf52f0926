// Package children keeps the servers of hub.json running and hands out the right to
// call them. A server that the hub runs is called a child.
//
// A [spec.Spec] describes how to run one child. A [spec.Key] names one instance of it, because sessions may have instances
// of their own. The [Supervisor] owns the set of instances. A [Lease] is the right to call an instance that is ready.
// Package run is one start of a child; the other packages below report how a process starts, how a server is spoken to, and
// what it offers.
//
// # The life of an instance
//
// Each state is a constant in state.go, and Status shows it:
//
//	Configured, Cold      it does not run. Cold: what it offers is known from before
//	Waiting, Starting     it waits for its turn to start; it starts
//	Ready                 it may be called
//	Hung                  it answers neither its calls nor a ping, and is restarted soon
//	Draining              it takes no new calls, and ends after those under way
//	BackingOff            it failed, and is started again after a delay
//	Stopped               it has ended. The next call may start it
//
// A child that has been ready before starts again with the next call. One that never was
// is tried again by itself, five times in a row at most; then it waits for a call. A call
// waits for a delay of up to a second. If the delay is longer, the call fails at once with
// the reason.
//
// # Roots
//
// [BoundedSupervisor.SetRoots] gives a child its roots. [Supervisor.Acquire] gives a lease only
// when the child has applied the roots that were current when Acquire was called. It
// waits at most 3 s. After that a child that takes the roots as arguments is replaced,
// and any other is called all the same, because the hub judges every call by itself.
//
// # Who owns its state
//
// [NewSupervisor] starts nothing. Run starts one goroutine for each instance, and returns when all have ended. An instance
// at rest has no goroutine; the next request for it starts one. Only that goroutine changes the state of the instance. An
// exception is an instance that never started: the one who removes it sets its last state. All others read immutable views.
// The leases of a run are under a mutex. All mutexes are leaves. The functions in [SupervisorOptions] say on which goroutine they are
// called; most must not block.
//
// # What it refuses to do
//
// It judges no call, knows no boundary, and does not choose who shares a process: the one who makes the keys does. It
// quotes what a shared child wrote to stderr in no error. It trusts nothing that a child sends: everything is bounded, and
// a bad entry spoils no other.
package children
