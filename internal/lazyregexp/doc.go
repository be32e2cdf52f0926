// Package lazyregexp holds regular expressions that are compiled when they are first used. Every command pays for what packages
// do before main, and most commands use few of the expressions that the program has: a package-level variable is a Regexp of
// this package, which a test holds (internal/archtest).
//
// A Regexp may be used by many goroutines at once. The package offers the methods that are used, and no others. It does not
// report an expression with a mistake: the first use panics, and a test compiles them all.
package lazyregexp
