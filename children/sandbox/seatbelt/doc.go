// Package seatbelt writes profiles for /usr/bin/sandbox-exec, which has the kernel of macOS hold a process.
//
// A [Policy] describes what a process and all that it starts may do. [Policy.Text] returns it in the language of Seatbelt, which is
// Scheme. A [Disk] finds how a disk spells a path, because the kernel compares the spelling.
//
// # What the text relies on
//
// The text denies by default. It has rules that allow, and no rule that denies what another rule allows, except two:
// see [Policy.Text]. A path that stays closed is taken out of the filter of each rule around it. So it plays no part which of
// two rules wins, which Apple does not document: package seatbelttest has a model with two orders of rules, and the
// text means the same in both.
//
// These facts are public: the operations and filters are in the profiles that macOS brings along (/System/Library/Sandbox/Profiles)
// and in the profiles of Chromium. The kernel judges the path of what a name leads to, without links. The string of a
// filter has at most 1,023 bytes, and a path of macOS as well. A process that has a profile cannot get a second one by
// sandbox-exec.
//
// These are assumptions that no Mac has confirmed: a rename is judged as the removal of the one name and the making of the
// other; the path of what lies behind a firmlink may be judged in either spelling, so both are named; a missing
// name gives "no such file" rather than a refusal.
//
// # What it refuses to do
//
// The zero Policy opens nothing. A path that the language cannot hold makes Text fail, and then no process may start. The
// package starts nothing and asks no kernel. A Policy is a value that any goroutine may read; a Disk
// belongs to one goroutine.
package seatbelt
