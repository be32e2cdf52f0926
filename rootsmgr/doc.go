// Package rootsmgr answers one question: which directories may this session
// touch, right now? It keeps the roots of one client current, and it decides
// where a path leads under them.
//
// Most readers want two calls: [Manager.Await], which gives the [View] that one
// call is judged by, and [Guard.Check], which says where a path leads and
// refuses what lies outside.
//
// # Values
//
// A [Snapshot] is the canonical set of roots as of one generation. It never
// changes and holds no descriptors, so one decision uses one Snapshot from
// beginning to end. A [Manager] owns the sequence of Snapshots of one session:
// it asks the client through a [Source], debounces, retries, keeps what it had
// when an answer fails, and publishes. Two sessions have two Managers and share
// nothing.
//
// # Concurrency
//
// [NewManager] starts nothing. [Manager.Run] is the only writer of a Manager's
// state and returns when every goroutine that it started has ended. All other
// methods may be called from any goroutine at any time, before and after Run
// too; only Await and Reconsider wait, and never longer than Settings.Timeout.
// Snapshot, Guard, Root and View are immutable and safe to share.
//
// # How a path is judged
//
// A path has more than one reading. The kernel resolves every component in
// turn, so that ".." after a symlink is the parent of the link's target. Node's
// path.resolve, Python's normpath and Go's Clean remove ".." as text before
// they open. A child may do either, so a path is inside only where all of these
// are:
//
//   - as text: cleaned, below a root as the client spelled it, or as the
//     filesystem spells it;
//   - physically: component by component, symlinks followed, a missing tail
//     kept, the target of a dangling link followed, at most 40 links;
//   - physically once more, after cleaning as text.
//
// Containment goes by component, never by string prefix. Nothing is normalised
// before the filesystem has been asked: neither case nor Unicode form. Where a
// spelling differs from a root's only by those, the filesystem decides whether
// both name the same directory.
//
// What cannot be resolved is refused, whatever the roots, even below "/":
// NUL, invalid UTF-8, over-long paths and names, link loops, a permission or
// I/O error on the way, and every link that means something else in another
// process (/proc/self, /proc/PID/cwd, /dev/fd, /dev/stdin and the like: the hub
// would read its own, the child would open its own). On Windows also device
// paths, alternate data streams, reserved names and names that end in a dot or
// a blank, since Windows opens them under another name.
//
// A component that does not exist is kept as it stands; ".." after it takes it
// away again. A path below a regular file cannot exist and is read the same way.
//
// # What may be a root
//
// A root exists, is a directory or a single file, and can be read. Whoever may
// write in one directory may put a link in the place of a root that lies in it;
// so a link on the way to a root counts only while the root lies in the same
// place as the link: another entry of the list, the ceiling, a directory of
// [Settings].Places, a folder that another user may write in. An entry is such a
// place whether it turns out to be a root itself or not.
//
// A root that is missing is reported, and never made. Nothing watches for it:
// [Manager.LookAgain], asked about a path that would be denied, looks at it once
// more. In settings a path may be a pattern ([SettingEntry]); what it matches is
// looked up with each Snapshot, within bounds beyond which it opens nothing.
//
// # What is not promised
//
// A Guard judges before a call is dispatched; the child opens the path later,
// by itself, and may open others. It is a check, not confinement:
//
//   - Races. Whoever may write below a root can put a symlink in place between
//     check and open. Verdicts are not cached, so the next call sees it; that
//     call was lost. Only the process that opens can close this (os.Root,
//     openat2), or the kernel (Landlock).
//   - Hard links and bind mounts inside a root lead to files outside without
//     any trace in a path.
//   - What the child derives itself: search results, wildcards, its own
//     configuration, other mount namespaces.
//   - A malicious child, which needs no arguments to open what its user may.
//
// The package knows no MCP: it imports no protocol and writes no messages.
package rootsmgr
