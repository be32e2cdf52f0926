// Package nesting counts how deep JSON nests before anything recursive reads
// it: a stack that overflows ends the program, and cannot be caught.
//
// Concurrency: its one function is pure and takes no stack of its own. It
// refuses to report whether a text is JSON; a text that is none may have any
// answer up to the place at which every parser gives up.
package nesting
