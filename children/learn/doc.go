// Package learn makes the sandbox entry that a server needs out of what it used.
//
// A [sandbox.Recorder] notes what one run used beyond its profile. [Propose] makes the
// smallest entry of it: files of one package or folder become that folder, what was made
// becomes what is there now, and what one cannot open without opening keys, the home
// folder or what is protected is not proposed, but said, with the reason.
//
// [Record] makes of a run that the kernel held what a person is asked about: what the server would
// have opened, with the folders in which it would keep state.
//
// Its result is for a person, who puts it into hub.json or does not. A server that is
// recorded knows what it opens, and may open more than it needs for the person to allow.
//
// Both look at the file system and start nothing. They own no state, and may be
// called by several goroutines.
package learn
