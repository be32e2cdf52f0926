// Package layout is how the command line lays out what it prints: tables,
// durations, optional parts of a line, JSON.
//
// Concurrency: pure functions, and writes to the writer given. A [Table] belongs
// to one goroutine. The package refuses to make text of others fit to be read:
// internal/printable does that, before.
package layout
