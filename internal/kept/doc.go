// Package kept holds the state of one attached session in memory that outlives the hub. The adapter makes the memory, a
// sealed memfd, and holds it. The hub maps it, and keeps in it what the next hub needs to go on after kill -9: what was read
// from the client and is no judged message yet, what was accepted for the client and has not left, the ids of open requests
// in both directions, and a record of the session (package hub decides what that holds).
//
// # Layout
//
//	header    words of 8 bytes
//	entries   one for each open request
//	records   two places for the record of the session
//	output    a ring of bytes that were accepted for the client
//	input     bytes that were read from the client
//
// # Order of the stores
//
// kill -9 may come between any two stores. All stores that were made count then, and no later one does. So each change
// ends with one store of one word that makes it count, its commit:
//
//   - The place in the input has two slots. A change is written to the slot that does not count, and then the selector is
//     stored. Before the hub reads, it clears the bytes behind the end and commits "reading". The kernel puts the bytes there
//     while the process may be killed, so the next hub looks for the last byte behind the end that is not 0. No message
//     holds a 0. After the read the new end is committed.
//   - A request has its entry written (id first, then the line that it stands in) before its line is committed as taken.
//     Until then the entry does not count, and the line is served by the next hub. From then on it counts, and the line
//     is never served again. Only then the request is served.
//   - A frame for the client is copied into the ring. Then the end of the frame is stored in the entries that it answers.
//     Then the end of the ring is stored, which is the commit of both. A frame that was committed is sent by this hub or by
//     the next one: a line is never torn, and an id never answered twice.
//   - How much has left is known without a store after the write. To a socket the hub writes with sendmmsg(2), for which
//     the kernel puts the number of bytes into the memory before the call returns. Into a pipe bytes come by splice(2) from
//     the memory itself, which the hub has opened again, and the kernel puts the place behind them into the memory in the same way.
//     Before Linux 6.6 that would lend pages to the pipe, which later frames would change. There bytes come by splice(2) from a pipe that
//     the adapter holds, too: what is left there has not left. That pipe is filled only when it is empty, between an attempt
//     that is committed as intended and one that is committed as made.
//   - The record has two places and a selector, as the place in the input has.
//
// A hub that goes on with the memory of another makes all changes in the same order. So it may be killed as well.
//
// # What it trusts
//
// Nothing. [Open] holds every number to its bounds, because another process may have written it. The seals keep the size,
// so that no access can fault. The hub can only read by the descriptor that it keeps for splice(2). The reader of the lines copies
// each one before it is judged, so that what is served is what was judged.
//
// # Concurrency
//
// Input (Reading, Read, Take, Skip) belongs to one goroutine. Send belongs to the one that has the turn to write. All other
// methods may be called by any; the mutex is a leaf.
//
// It makes no system call for a message but the calls that move its bytes. On systems without memfd there is no Memory.
package kept
