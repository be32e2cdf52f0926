// Package names reads the names of arguments and tools: which of them report that a string is a path, free text, a query
// or a command, and what a tool does with its paths. All it knows are lists of English words, which docs/findings.md
// prints.
//
// A [Buffer] belongs to one goroutine; everything else is immutable. A name alone never denies or allows a call: package
// validate/detect decides what is looked at.
package names
