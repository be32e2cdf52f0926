// Package guard tells where a path leads, and whether that lies inside given roots.
//
// Most readers want [Guard.Check]. [Resolve] follows a path without judging it, [Areas]
// compares paths with directories that open nothing. [Disk.Canonical] and [Index] are
// for who makes roots of what a client sent.
//
// # How a path is judged
//
// A path has more than one reading. The kernel resolves every component in turn, so
// that ".." after a symlink is the parent of the link's target. Node's path.resolve,
// Python's normpath and Go's Clean remove ".." as text before they open. A child may do
// either, so a path is inside only where all of these are:
//
//   - as text: cleaned, below a root as the client spelled it, or as the filesystem
//     spells it;
//   - physically: component by component, symlinks followed, a missing tail kept, the
//     target of a dangling link followed, at most 40 links;
//   - physically once more, after cleaning as text.
//
// Containment goes by component, never by string prefix. Nothing is normalised before
// the filesystem has been asked: neither case nor Unicode form. Where a spelling
// differs from a root's only by those, the filesystem decides whether both name the
// same directory.
//
// What cannot be resolved is refused, whatever the roots, even below "/": NUL, invalid
// UTF-8, over-long paths and names, link loops, a permission or I/O error on the way,
// and every link that means something else in another process (/proc/self,
// /proc/PID/cwd, /dev/fd, /dev/stdin and the like: the hub would read its own, the
// child would open its own). On Windows also device paths, alternate data streams,
// reserved names and names that end in a dot or a blank, since Windows opens them under
// another name.
//
// A component that does not exist is kept as it stands; ".." after it takes it away
// again. A path below a regular file cannot exist and is read the same way.
//
// # What is not promised
//
// A Guard judges before a call is dispatched; the child opens the path later, by
// itself, and may open others. It is a check, not confinement:
//
//   - Races. Whoever may write below a root can put a symlink in place between check
//     and open. Verdicts are not cached, so the next call sees it; that call was lost.
//     Only the process that opens can close this (os.Root, openat2), or the kernel
//     (Landlock).
//   - Hard links and bind mounts inside a root lead to files outside without any trace
//     in a path.
//   - What the child derives itself: search results, wildcards, its own configuration,
//     other mount namespaces.
//   - A malicious child, which needs no arguments to open what its user may.
//
// Guard, Areas and what they return are immutable and safe to share; an Index is built
// once, then only read. The package has no goroutines, keeps no verdict, and does not
// choose roots. The zero Guard and the nil Guard deny everything.
package guard
