// Package children keeps child MCP servers running and hands out the right to call
// them.
//
// A [Spec] says how to run one child, a [Key] names one instance of it, the
// [Supervisor] owns the set of instances, and a [Lease] is the right to call
// one that is ready. What a child offers and answers stays raw bytes. How a process
// starts and runs, how servers are spoken to over HTTP and in which era, and what they
// offer is in the packages below this one; each has a page of its own.
//
// # The life of an instance
//
//	Configured --asked for--> Waiting     for its turn among those that start,
//	                                      or for roots that it cannot start without
//	Configured --known------> Cold        lazy, and what it offers is remembered
//	Cold -------called------> Waiting
//	Waiting ----its turn----> Starting    process, handshake, tools/list, first roots
//	Starting ---in time-----> Ready       leases are given
//	Starting ---failed------> BackingOff
//	Ready ------died--------> BackingOff  calls under way fail with its last words
//	Ready ------no answer---> Hung        to its calls, nor whether it is there
//	Hung -------heard of----> Ready
//	Hung -------still not---> BackingOff  and started again; calls under way fail
//	Ready ------replaced----> Draining    other roots, which it does not follow
//	Ready ------idle--------> Draining
//	Ready ------evicted-----> Draining    another needs its place
//	Ready ------dropped-----> Draining    its session, or the hub, has ended
//	Ready ------retired-----> Draining    its Spec has changed or gone; calls under way take their time
//	Draining ---replaced----> Waiting     started again at once
//	Draining ---idle--------> Stopped     started by the next call; so when evicted
//	Draining ---dropped-----> Stopped     for good
//	Draining ---retired-----> Stopped     for good
//	BackingOff -its delay---> Waiting
//
// A child that has been ready before is started again when it is called, not sooner.
// One that never was is tried again by itself, until five failures in a row open the
// circuit: then it, too, waits for a call. A call waits for a delay of up to a second
// and is refused at once with the reason when it is longer.
//
// # What a child is shown, and asks
//
// [Options.Client] tells whom an instance serves: its capabilities are shown to the
// child as they are, and the level of its log is set before the child is ready.
// Requests of a child go to the [Observer], all but roots/list and ping; while one is
// being answered no call of the run times out. roots/list may wait for
// [Options.Roots]; a run that has waited so is not replaced because the first roots
// came after it had started.
//
// In which era a child was spoken to stays in the offer that is remembered for the
// Key, and is doubted only when it fails. An instance that sessions share ends where
// the child has only the other era: [Supervisor.Home] tells who serves them.
//
// # Sharing
//
// A [Key] says which sessions share a process; who makes keys decides that.
// [Supervisor.Join] and [Supervisor.Leave] count the sessions that an instance
// serves. With the last one gone, an instance of ShareSession is dropped at once. Any
// other takes its calls under way to their end, and is kept warm for its IdleTimeout
// (15 minutes where that is never). Instances of one Key that follow each other differ
// in Status.Serial, and the last that is told of each is Final.
//
// # Roots
//
// [Supervisor.SetRoots] gives a change a generation, and [Supervisor.Acquire] gives no
// lease before the run has applied the one that was current when it was called,
// bounded by 3 s. A child is told of one change at a time, and not while it is asking:
// of two answers a server may apply the older last. Afterwards a child whose arguments
// hold the roots is replaced, and another is called all the same, marked in its
// Status: then the hub's own judgement is what holds.
//
// # Who owns its state
//
// [NewSupervisor] starts nothing. Run starts one goroutine for each instance
// and returns when they have ended. That goroutine alone changes the
// instance's state; others ask (want, a kick) and see immutable views, each
// with a channel that is closed when the next one is there. The mutexes are leaves:
// nothing is called, sent or waited for under one. An [Observer] is called
// from these goroutines and must not block.
//
// # What it refuses to do
//
// It judges no call and knows no boundary. It quotes what a shared child wrote to
// stderr in no error. It trusts nothing that a child says: lines, lists, pages, stderr
// and rates are bounded, and one odd entry of a list spoils no other.
package children
