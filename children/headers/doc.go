// Package headers runs the program that prints the headers of the requests to a server, and reads what it printed.
//
// [Command.Run] finds the program, looks whether a server could have written it, runs it and returns the headers. The
// program runs as the hub's user: the kernel holds it to nothing, and it has the user's environment. So it must be the
// user's own. A program, a path in its arguments, or a folder of PATH that a server may write is refused or left out, as
// [Command].Written tells. A variable that names such a place is not passed on. There is no shell, and the program starts
// in the root of the file system, if it finds nothing by a relative name.
//
// What it prints is a JSON object of strings, bounded in size and time. It is secret: no error quotes it, nor what the
// program writes to stderr.
//
// Concurrency: a Command is a value, and Run may be called by any goroutine. It returns once the program and all that it
// has started have ended. The package remembers nothing: who asks decides how long headers hold.
//
// It refuses names and values that no HTTP header can have, and two headers of one name.
package headers
