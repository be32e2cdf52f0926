// Package layout is how the command line lays out what it prints: tables,
// durations, optional parts of a line, JSON.
//
// Concurrency: pure functions, and writes to the writer given. It refuses to
// make text of others fit to be read: internal/printable does that, before.
package layout
