// Package inherit describes which variables of the hub's environment every child gets.
//
// What starts children and what judges their calls ask it alike: a child writes out the variables that it has, and no others.
//
// Its functions are pure and may be called from any goroutine. It reads no environment itself, and knows nothing about the
// variables that hub.json names for one child.
package inherit
