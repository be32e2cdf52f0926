// Package proof tries at the start of a hub whether Seatbelt, the sandbox of macOS, holds what a profile says.
//
// [Ways] are calls that lead out of a root, or to what is withheld in it, and honest calls that must pass. [Run] has a process make them
// all without a profile, which is the control, and another one by /usr/bin/sandbox-exec under the profile. [Judge] compares. One way out
// that succeeds means that nothing is held. So does an honest call that fails, because no server would run.
//
// The process that makes the calls is the program itself: [IsChild] knows it by its arguments, and [Child] makes the calls. It takes them from
// stdin and writes to stdout what came of each, as JSON.
//
// What it cannot promise: it tries some thirty ways, and not all that there are. It shows nothing if the control fails too,
// as on a disk with case, or without a desktop.
//
// No call asks a person or opens a window. Files are made and changed only in a temporary folder, which goes at the end. The
// process that is signalled and traced is one of the proof's own. Judge is pure; Run is called by one
// goroutine, and does nothing on other systems.
package proof
