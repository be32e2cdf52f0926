// Package layout is how the command line lays out what it prints: tables,
// durations, optional parts of a line, JSON.
//
// Concurrency: pure functions, and writes to the writer given. A [Table] belongs
// to one goroutine. The package refuses to let a text make up a line, a column or a
// colour: the colours of states are its own, and what is not a format of its caller goes through internal/printable here,
// at the one place where the command line writes.
package layout
