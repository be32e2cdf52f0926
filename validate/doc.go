// Package validate answers one question: may this call be dispatched?
//
// # The stages
//
// A call passes them in this order, and each exists because the next one relies on it.
//
//  1. [Checker.Scan]: strict parse, schema, search (package detect). It needs no roots, so a call without paths never
//     waits for them. The bytes that were walked are the bytes to send.
//  2. [Checker.Judge]: each finding is read in every way that the child or the kernel might read it. What is protected (the
//     hub's own configuration and records) is denied first. Then every reading must lie inside the boundary.
//  3. The rules of the policy (package policy) are asked about what the boundary has judged.
//  4. One finding outside denies the call. The zero value of everything that decides denies.
//  5. An allowed call gets the rewrites that its server needs (below).
//
// # Odd names
//
// A root may be called [x], $HOME or My Project. Its text at the beginning of a path is read as itself, where the filesystem
// holds nothing by any other reading of it; what follows it is read in every way. On POSIX a backslash is an ordinary
// character of a file name, and a separator to programs that were written for both systems: both readings must lie inside.
//
// # Rewriting
//
// What is sent is what was judged. A server that cannot take a path as it was sent has a profile that says so, and
// [Verdict.Rewrites] names the strings to replace: a file URI with exactly one reading becomes a plain path, and the
// spelling in which a root was given becomes its resolved path. Only whole strings that a declaration or a name makes paths
// are rewritten, and nothing where no boundary is known. The call with its new strings is searched, judged and held against
// the schema again as a whole. Where that fails for a root, the call goes out as it came; where it fails for a file URI, it
// is denied, because the server would open the URI as a relative name.
//
// # Concurrency
//
// A [Checker], a [Tool] and a [Scan] are immutable and may be used by any number of goroutines; there are no locks and no
// goroutines here. One budget, of work and not of time, pays for a call. Within a call each place on disk is looked at once,
// and nothing is kept for the next: a symbolic link may be swapped between two of them.
//
// # What no check can promise
//
// A shell has a whole language to build a path from, which nobody can read out of its text: scanning its words stops
// accidents and the plain attempts. The effect of a tool is not in its arguments: one that runs the project's tests runs
// whatever the project says. A path is judged now and opened later by another process. Hard links and bind mounts cannot be
// seen (a hard link to a protected file is). Where the kernel can enforce a boundary, give it the same one.
//
// It refuses to guess in the other direction: what cannot be resolved is denied, never taken for harmless.
package validate
