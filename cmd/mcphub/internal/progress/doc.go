// Package progress shows on a terminal which steps of a command run, and for how long: one
// line for each step, drawn again in place. If there is no terminal, or one that cannot
// move its cursor, it writes nothing.
//
// The lines stand below everything else: a [Board] takes them away before anything is
// written through [Board.Over], and when the steps are over. A line that is wider than the
// terminal is cut, and not wrapped. Names and phases may come from servers, so they are
// made printable here.
//
// Concurrency: a Board may be used by several goroutines. [Board.Watch] runs one goroutine,
// which has ended when the function that Watch returns has.
package progress
