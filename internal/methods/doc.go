// Package methods is the one table of what the protocol says about each method, in all its versions and with
// the extension for tasks: who answers it, which header repeats a member of it, and what its result may be.
//
// A new kind of request of clients is a row here, and its handler in hub/methods.go. What is judged has its own search of
// the params in package validate (validate/requests.go), and its steps in package hub/call.
//
// The table never changes, and may be read by any goroutine. It refuses to know anything of this hub: which
// function serves a method, and whether a client may use it, others say.
package methods
