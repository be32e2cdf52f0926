// Package validate answers one question: may this call be dispatched?
//
// A call passes these stages. Each relies on the one before.
//
//  1. [Checker.Scan] parses the arguments strictly, checks them against the tool's schema, and finds the strings that may be
//     paths (package detect). It needs no roots, so a call without paths never waits for them. The bytes that were scanned
//     are the bytes to send. Arguments that fit the schema by a lenient reading alone are searched in both readings, and judged in
//     both, each as if the other were not there.
//  2. [Checker.Judge] takes each finding in every reading that the child or the kernel may give it. Protected paths (the hub's
//     own configuration and records) are denied first. Every reading must then lie inside the boundary.
//  3. The rules of the policy (package policy) are applied to the result.
//  4. One path that is denied denies the call. The zero value of everything that decides means deny.
//  5. An allowed call gets the rewrites that its server needs (below).
//
// # Names that look like patterns
//
// A directory may be called [x], $HOME or My Project. At the start of a path, the name of a root is read as it stands,
// unless the filesystem holds something by another reading. The rest of the path is read in every way. On POSIX a backslash
// is part of a name for some programs and a separator for others: both readings must lie inside.
//
// # Rewriting
//
// Some servers cannot take a path as the client wrote it; a built-in profile says so. [Verdict.Rewrites] then names the strings to
// replace: a file URI with one reading becomes a plain path, and the spelling of a root its resolved path. Only whole strings are
// replaced, only the ones that a declaration or their name makes paths, and only under a known boundary. The call is then scanned
// and judged again with the new strings. If that fails for a root, the call is sent as it came. If it fails for a file URI, the
// call is denied, because the server would take the URI for a relative name.
//
// # Concurrency
//
// A [Checker], a [Tool] and a [Scan] are immutable and safe for concurrent use. There are no goroutines. One budget bounds the
// work for a call. Within a call each place on disk is looked at once; nothing is kept for the next call, because a link may
// have been replaced.
//
// # What it refuses to do
//
// It does not guess that something is harmless: what cannot be resolved is denied.
//
// It cannot promise that a shell script stays inside: a script can compute any path, and only the words in its text are checked.
// Nor does a call report what its tool does: a tool that runs a project's tests runs whatever the project holds. A path is judged
// now and opened later by another process. Hard links and bind mounts cannot be seen, but a hard link to a protected file is. If
// the kernel can enforce a boundary, give it the same one.
package validate
