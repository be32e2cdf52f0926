// Package entry reads which paths an entry of hub.json names.
//
// [Names] reads the program and its arguments, the values of the variables and the
// working directory, and gives for each path where it stands, how the server would open
// it, and a [Use]: whether it is data, or something that is run, loaded or obeyed. What a
// command line means to the program that reads it is told by a function of the caller's;
// the text that a shell runs is parsed.
//
// A text that is filled in later names nothing: one with ${root} or the like, one with a
// mark of a secret, and one that the caller says is replaced. Nor does a relative path
// where the working directory is not the entry's own.
//
// The package looks at no file, and decides nothing: package confinement decides what becomes of a
// name. It has no state. Its functions may be called by any goroutine.
package entry
