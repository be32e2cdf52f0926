// Package rootsmgr answers one question: which directories may this session
// touch, right now? It keeps the roots of one client current. Where a path leads under
// them, package guard tells; what a path and a file URI are, package platform; which
// directories a pattern stands for, package pattern.
//
// Most readers want two calls: [Manager.Await], which gives the [View] that one
// call is judged by, and Guard.Check, which says where a path leads and
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
// Snapshot and View are immutable and safe to share.
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
// What else is not promised says package guard: a Guard is a check, not confinement.
//
// The package knows no MCP: it imports no protocol and writes no messages.
package rootsmgr
