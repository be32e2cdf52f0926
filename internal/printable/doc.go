// Package printable makes text that others wrote fit to be read by people and
// by models, in a terminal, a log or a chat.
//
// There are two ways. [Clean] is for prose: descriptions, instructions, error texts,
// what a child writes to stderr. It removes what no reader sees and a terminal or a
// model would obey. [Escape] is for names and paths, of which it matters what exactly
// stands there: it removes nothing and shows everything, on one line. [Line] is for
// what may be either and must not make up a line: honest prose stays, all else is
// escaped. [JSON] does for JSON text what Escape does for a name, and loses nothing.
//
// Concurrency: all functions are pure. The package refuses nothing and never
// fails; it knows no markup, which is for those who show such.
package printable
