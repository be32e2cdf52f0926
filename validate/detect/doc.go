// Package detect finds the strings of a call that a server may take for paths: every string, element and member name, at
// any depth, in JSON inside strings and in shell commands. For each it says where it stands, in which role and why it was
// taken for one. It needs no roots, and it never decides: most findings count only under a condition (something is there,
// a link leads out) that the judge looks up.
//
// The order is that of the arguments' way: a strict parse, so that no two programs read two calls from the same bytes; the
// tool's own schema, so that a search may believe it; the search. What is prose, a query, a shell string or a path is told
// by the name of the argument, by declarations and by the schema. Two names that differ by letter case only are refused
// where the tool declares one of them.
//
// # Words inside other strings
//
// Every string that is neither prose nor one path is read for words that name something outside, whatever its language: no
// statement, verb or dialect is recognised. A word ends at quotes, brackets, commas and blanks. The strings of content keys
// are exempt, but for whole file: URIs, "@" and a path, and the headers of patches.
//
// # Depth and work
//
// Whatever recurses here reads only what was counted before by something that does not. One budget, of work and not of
// time, pays for every string that is kept and every schema applied; where it is spent the call is refused.
//
// A [Searcher] and a [Tool] are immutable and may be used by any number of goroutines. A Result keeps nothing of the bytes
// that were searched.
package detect
