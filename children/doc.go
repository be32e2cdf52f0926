// Package children keeps child MCP servers running and speaks to them.
//
// A [Spec] says how to run one child, a [Key] names one instance of it, the
// [Supervisor] owns the set of instances, and a [Lease] is the right to call
// one that is ready. What a child offers and answers stays raw bytes; only the
// handshake goes through mcp-go.
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
//	Ready ------no answer---> Hung        to its calls, nor whether it is there (pulse.go)
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
//	BackingOff -its delay---> Waiting     see below
//
// The delay grows from 250 ms to a minute with the failures in a row, spread
// by jitter; a run that was ready for 30 s clears them. A child that has been
// ready before is started again when it is called, not sooner. One that never
// was is tried again by itself, until five failures in a row open the circuit:
// then it, too, waits for a call. A call waits for a delay of up to a second
// and is refused at once with the reason when it is longer.
//
// # What a child is shown, and asks
//
// [Options.Client] tells whom an instance serves: its capabilities are shown to
// the child as they are, and the level of its log is set before the child is
// ready. Requests of a child go to the [Observer], all but roots/list and ping.
// While one is being answered no call of the run times out. roots/list may wait
// for [Options.Roots], which is told of each before it is answered; a run that
// has waited so is not replaced because the first roots came after it had started.
//
// # Two eras
//
// A child is spoken to by the handshake (2024-11-05 to 2025-11-25), or without
// one (2026-07-28), as Spec.Era says. EraAuto takes the era of the clients, which
// is part of the [Key], where the child has it: what comes first on a connection is
// of that era, for servers of both eras take it for a choice that lasts.
//
// For clients of the handshake it is greeted, and asked for server/discover only
// where it refuses that. For the others it is asked for server/discover first. A
// result that names a version of ours, or an error of the modern era, settles it;
// any other answer has initialize follow at once on the same connection, and so
// has no answer within two seconds. Nothing is taken back meanwhile: a server that
// is still loading finds both. One that ends because of what came first is started
// once more, the other way. What was found out stays in the offer that is
// remembered for the Key, and is doubted only when it fails; a server that was too
// slow for the question, and would have known the answer, is spoken to without a
// handshake from its next start on. An instance that sessions share ends where the
// child has only the other era: [Supervisor.Home] tells who serves them.
//
// To the rest of the program the two differ little. A link without a handshake
// (modern.go) puts the version, this program and what the client can do into the
// _meta of each request, by splicing the raw params: that of [WithClient], else
// that of [Options.Client]. Members of _meta that are of one hop give way, all
// other bytes stay. Over HTTP (link_stateless.go) the headers that mirror a
// request are computed from the bytes that are sent; a tool whose marks for that
// break the rules is not offered. Closing the answer cancels. There is no
// session, no GET, and an answer that broke off is lost: it is asked for again by
// nobody here, and other calls go on.
//
// resources/subscribe and logging/setLevel are answered here: the resources go,
// with the tasks of [Lease.WatchTask], into subscriptions/listen, which is kept open for the lists as well (listen.go)
// and opened again when it breaks, with everything looked at that may have
// changed meanwhile; the level goes with each request. Its notifications come as
// in the other era. ttlMs is heeded where a child does not announce its changes:
// then it is listed again when its word is over, but not within a minute.
// What it says of the life of its lists stands in Status.Lives.
//
// A result of an unknown resultType is a broken answer, but to a method of an
// extension. One that asks for input
// comes raw from [Lease.Call]: whoever called sees it through, with the roots of
// [Lease.Roots], for such a child is told of no change and keeps none. Requests
// that it sends all the same are refused.
//
// # What is remembered
//
// What a child offered last is kept, in memory and where [Options.Cache] names a
// folder in a file, under a digest of its Spec, the capabilities shown to it, its
// program and the version of the hub: so a list can be answered before anything has started, and a child
// with [StartLazy] starts when it is first called. It is a hint: the child is
// listed each time it starts, what differs replaces what was remembered, and
// [Lease.Offer] is what the running child said. A file that is damaged, of
// another format, or open to others counts as absent. Values of variables are
// in no file; they only go into the digest.
//
// # Sharing
//
// A [Key] says which sessions share a process; who makes keys decides that.
// [Supervisor.Join] and [Supervisor.Leave] count the sessions that an instance
// serves. With the last one gone, an instance of ShareSession is dropped at
// once. Any other takes its calls under way to their end, is kept warm for its
// IdleTimeout (15 minutes where that is never) and is forgotten then; one that
// is not ready when the last session leaves is not kept. Instances of one Key
// that follow each other differ in Status.Serial, and the last that is told of
// each is Final.
//
// At most Options.MaxChildren processes run. A start beyond that has the
// longest idle one stopped that is nobody's own: shared, unheld, or allowed to
// idle. Where all others have calls under way or are somebody's own, the start
// fails and says so; that counts as no failure of the child.
//
// # Hung or slow
//
// While a call waits and nothing is heard of the child, the instance asks it
// whether it is there (pulse.decide, a pure function). A child that says anything
// is slow, and left alone. One that does not is shown as Hung, and where that lasts
// it is stopped, which ends its calls, and started again.
//
// # Roots
//
// [Supervisor.SetRoots] gives a change a generation. The instance decides what
// it means to the run (rootsChange.decide, a pure function): nothing, a
// notifications/roots/list_changed, or a replacement. [Supervisor.Acquire]
// gives no lease before the run has applied the generation that was current
// when it was called: a child that is told must ask roots/list again, and
// where a probe is known, the probe must show exactly the paths served. All
// that is bounded by 3 s. It is told of one change at a time, and not while it is
// asking: of two answers a server may apply the older last. Afterwards a child whose arguments hold the roots is
// replaced, and another is called all the same, marked in its Status: then the
// hub's own judgement is what holds.
//
// # Concurrency
//
// [NewSupervisor] starts nothing. Run starts one goroutine for each instance
// and returns when they have ended. That goroutine alone changes the
// instance's state; others ask (want, a kick) and see immutable views, each
// with a channel that is closed when the next one is there. A process is
// waited for by the one goroutine that started it. The mutexes are leaves:
// nothing is called, sent or waited for under one. An [Observer] is called
// from these goroutines and must not block.
//
// # What it refuses to do
//
// It judges no call and knows no boundary. It passes no variable of the hub's
// environment on that is not listed. It starts no program out of a working
// directory that may be somebody else's clone, or out of a folder of PATH inside
// a root, unless the Spec says Local (tame.go; [Spec.Doubt] says of what that
// cannot be told). It gives no batch file an argument that cmd.exe would read
// (batch.go). It quotes what a shared child wrote to stderr in no error. It
// trusts nothing that a child says: lines, lists, pages, stderr and rates are
// bounded, and one odd entry of a list spoils no other.
//
// # What ends with a child
//
// Everybody who descends from it, on Linux as on Windows, also those who left
// its process group, lost their parent or ignore TERM. On Linux that needs a
// program that calls [AdoptOrphans] and has no other children; who belongs to
// which child is told by the process tree, by MCPHUB_INSTANCE in the
// environment, and where both are gone by age: an orphan that nothing tells
// apart ends with the last child that is older.
//
// What it cannot promise: on macOS and the BSDs whoever leaves the process
// group outlives the stop ladder, unless it heeds the end of its stdin. A
// kill -9 of the hub reaches each child itself on Linux and Windows; what the
// child has started is ended on Windows, and on Linux by the guardian that
// the program has above it. Nowhere is reached what somebody else has started
// on a child's behalf, or what has become another user's.
package children
