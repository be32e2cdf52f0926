// Package rawio reads and writes descriptors without telling the runtime's scheduler, if
// that pays: on Linux, for short transfers that the kernel does at once.
//
// An ordinary system call announces itself, so that the processor it runs on can be given to
// others should it block. That costs little, but in a program that was idle a moment ago it
// also wakes the runtime's monitor thread, which then looks around every 20 us for nothing:
// a tenth to a fifth of all that a relayed message costs. Nothing is lost if a call cannot
// block, or not for longer than it takes to copy a few pages.
//
//   - [Reader] and [Descriptor] are for pipes and sockets that do not block. Where
//     there is nothing to read the runtime's poller waits, as always. They ask the
//     kernel not to block by the call itself, and not by a flag of the descriptor
//     that other processes share: a call that blocked unannounced would hold up
//     the collector. A kernel that cannot be asked so (before 5.12 for sockets,
//     6.4 for pipes, or so) gets ordinary calls.
//   - A [PassedStream] is for what another process has handed over: a socket that blocks for
//     others who share it, and a pipe that was opened again. It never waits in the
//     kernel itself.
//   - [Listener] wraps a listener so that its connections do the same.
//   - An [Appender] writes to a regular file, which may block: while the disk
//     makes writers wait, or if the file is not on a disk of this machine, it
//     announces its writes.
//   - [Look] reports what a path leads to, if the kernel has the way in memory.
//
// Elsewhere than on Linux, and for anything larger or of another kind, all of
// them are what os and golang.org/x/sys/unix do.
//
// # Concurrency
//
// A Reader and an Appender are used by one goroutine at a time; closing the
// stream below is safe at any time, and ends a Reader that waits. Connections
// are as safe as others.
//
// # What it refuses to do
//
// It buffers nothing, retries nothing but interrupted calls, and makes no error
// of its own: what went wrong is told by the ordinary call, made after it.
package rawio
