// Package served is about the roots that child servers are served: what a change of
// them means to a running child, what roots/list is answered with, and how a child
// shows which ones it has applied.
//
// [Change.Decide] is a pure function of all that counts: it leaves the child alone,
// has it told, or has it replaced; the zero [Action] revokes what the child had. Where
// a tool is known that lists the directories of a child, [ProbeUntil] asks it again
// and again until it names exactly the paths served.
//
// The package has no state. It keeps no roots and replaces no child; [ApplyWait] is
// how long its caller waits for one.
package served
