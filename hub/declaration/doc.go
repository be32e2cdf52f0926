// Package declaration reads what a client says about itself: its name and
// capabilities, which log messages it wants, and its roots. Clients of both eras
// say so in the same words, once in the handshake or with each request.
//
// Everything here is a value that is read from raw JSON. There is no state, and
// no goroutine.
//
// It does not guess. A capability of an odd shape counts as not declared, and a
// client is asked for nothing that it did not declare.
package declaration
