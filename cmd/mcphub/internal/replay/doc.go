// Package replay asks the rules of another policy about a recorded decision.
//
// [Judge] goes by what the record holds: server, tool, and the targets of the
// call led. What a record does not hold is said in [Verdict].Unknowns and not
// guessed: what a person would answer, places that were left out, directories
// that are not there now. What is protected stays denied.
//
// Concurrency: pure functions. The package refuses to look at the file system:
// the paths of a record are taken as they were.
package replay
