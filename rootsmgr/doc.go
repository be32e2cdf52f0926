// Package rootsmgr answers one question: which directories may this session touch,
// right now? It keeps the roots of one client current. Package guard tells the target
// of a path under these roots, package platform how systems spell paths, and package
// pattern which directories a pattern stands for.
//
// Most readers want two calls. [Manager.Await] gives the [RootsView] that a single call is
// judged by. Guard.Check says the target of a path, and refuses what lies outside.
//
// # Values
//
// A [Snapshot] is the canonical set of roots of one generation. It never
// changes, so a decision uses one Snapshot from beginning to end. A [Manager]
// owns the Snapshots of one session, one after the other. It asks the client
// through a [RootsSource], waits for a quiet moment after a change, tries again, and
// keeps the roots that it has if an answer fails. Two sessions share nothing.
//
// # Who owns its state
//
// [NewManager] starts nothing. Only [Manager.Run] changes a Manager's state. It
// returns when every goroutine that it started has ended. All other methods may
// be called from any goroutine, before and after Run too. Only Await and
// Reconsider wait, at most Settings.Timeout.
//
// # What may be a root
//
// A root exists, is a directory or a file, and can be read. A root that is missing is
// reported and never created. [Manager.LookAgain] looks at it again before a path is
// denied because of it. A configured root may be a pattern ([SettingEntry]). Its
// matches are looked up with each Snapshot. Beyond its bounds a pattern opens
// nothing.
//
// Someone who may write in a directory can replace a root in it by a link. So a root
// counts only while links on the way to it stay inside such a directory: another
// entry of the list, the ceiling, one of [Settings].WritableDirs, or a folder that
// other users may write in.
//
// # What it refuses to do
//
// It imports no protocol and writes no messages. It promises no confinement: package
// guard reports what a check cannot see.
package rootsmgr
