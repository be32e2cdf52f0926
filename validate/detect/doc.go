// Package detect finds the strings of a call that a server may take for paths. It looks at every string, list element and member name, at any depth, also in JSON inside strings and in shell commands. For each
// finding it says its place, in which role (read, write, delete), and why it was taken for a path.
//
// It needs no roots and never decides. Most findings count only under a condition, such as that something exists there. The
// judge looks that up.
//
// The steps are: a strict parse, so that no two programs read two calls from the same bytes; the tool's own schema; the search, which has a file for each kind of string (uri.go for URIs, as package uri reads
// them). The name of an argument, declarations in hub.json and the schema report whether a string is prose, a query, a shell command or a path. Two names that differ only in letter case are refused if the tool
// declares one of them.
//
// A lenient reading of the arguments is a second set of them, which is searched beside the first. What it reads otherwise is marked in the first: the schema does not say about such a string that it is no path,
// and a member that the schema forbids is searched as in strict mode.
//
// # Words inside other strings
//
// A string that is neither prose nor a path is read for words that name something outside. The search knows no language and
// no verbs: a word ends at quotes, brackets, commas and blanks. Arguments that hold content, such as the text of a file, are
// exempt, except for whole file: URIs, "@" before a path, and the headers of patches.
//
// # Bounds
//
// Nesting is counted before anything recursive reads the arguments. One budget, counted in work and not in time, pays for
// every string that is kept and every schema that is applied. If it is spent, the call is refused.
//
// A [Searcher] and a [Tool] are immutable and safe for concurrent use. A Result keeps none of the bytes that were searched.
package detect
