// Package exit holds the exit statuses of the program and the error that
// carries one. The one who finds out why a command cannot go on says with
// which status it ends; main alone ends the process.
//
// Concurrency: values and pure functions. The package refuses to print and to
// call os.Exit.
package exit
