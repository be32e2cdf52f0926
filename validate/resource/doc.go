// Package resource reports whether a URI lies at or below one of a set of URI
// prefixes: the boundary of what tools may name beyond files.
//
// A [Set] binds the schemes of its prefixes. A URI of such a scheme is inside
// if it has the scheme, host and port of a prefix and its path lies at or
// below the prefix's, by component. Programs read one text differently: as RFC
// 3986 or as the WHATWG has it, decoded once or twice, with a backslash for a
// slash or not, with empty components or without. Every such reading has to lie
// inside, and a text that has no reading they agree on is outside.
//
// A Set is immutable and safe for concurrent use. Nothing here looks anything
// up: not a name, not an address, not the target of a redirect. Query and fragment
// are not compared. What is no URI of a bound scheme is none of this package's
// business, and says so.
package resource
