// Package guard tells the target of a path, and whether that lies inside given roots.
//
// Most readers want [Guard.Check]. [Resolve] follows a path without judging it. [Areas]
// compares paths with directories that open nothing. [Disk.Canonical] and [Index] serve
// those who make roots of what a client sent.
//
// # How a path is judged
//
// The kernel resolves a path component by component: ".." after a symlink is the parent
// of the link's target. Many libraries (Node's path.resolve, Python's normpath, Go's Clean)
// remove ".." as text before they open. A child may do either. So a path is inside only if
// all of these are:
//
//   - its cleaned text, below a root as the client or the filesystem spells it;
//   - its target, component by component. Symlinks are followed, 40 at most, to
//     targets that do not exist too. Components that do not exist are kept;
//   - where its cleaned text leads.
//
// Paths are compared by component, never by string prefix. Where two spellings differ only
// in letter case or Unicode form, the filesystem decides whether they name one directory.
//
// What cannot be resolved is refused under any root: NUL, invalid UTF-8, over-long names,
// link loops, a permission or I/O error on the way, and links that mean something else in
// another process (/proc/self, /dev/fd). On Windows also device paths, alternate data
// streams, reserved names, and names that end in a dot or a blank.
//
// On Windows no look leaves this machine, except to a share that a root names. A path or a link to
// another share is refused as text. Of reparse points only the ones that stand for another name
// are links; any other one is the file or the directory that it shows.
//
// # What is not promised
//
// A Guard checks before a call is dispatched; the child opens the path later. So it cannot
// prevent these:
//
//   - a symlink that is put in place between check and open. Only the process that opens
//     (os.Root, openat2) or the kernel (Landlock) can prevent that;
//   - hard links and bind mounts inside a root that lead to files outside;
//   - paths that the child finds by itself: search results, wildcards, its configuration;
//   - a malicious child, which needs no arguments to open what its user may.
//
// Guard, Areas and what they return are immutable and safe to share. An Index is built once
// and then only read. The package has no goroutines and keeps no verdict. The zero Guard
// and the nil Guard deny everything.
package guard
