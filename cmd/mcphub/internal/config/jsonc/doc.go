// Package jsonc reads JSON with comments and trailing commas into a tree whose values know their places, so that
// whatever is wrong with one can be said by line and column. It also writes key paths, and tells two texts apart.
//
// # Concurrency
//
// Everything here belongs to one goroutine until it is no longer changed; then it may be read by any.
//
// # What it refuses to do
//
// It knows no key and judges no value: package config does. It does not choose between two members of one name: both are
// in the tree, in their order. A text that nests too deep for the parser is refused before it is parsed.
package jsonc
