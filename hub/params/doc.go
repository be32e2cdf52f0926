// Package params reads members of the params of a request, and refuses the ones that look like others.
//
// A child with a lax parser would read a member that differs from a known one in letter case or a NUL alone. So what was
// judged would not be what it does.
//
// # Concurrency
//
// All functions are pure.
//
// # What it refuses to do
//
// It refuses look-alikes of the members that servers read, and no other: what it does not know passes. It judges no value.
package params
