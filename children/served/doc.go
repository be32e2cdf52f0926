// Package served is about the roots that child servers are served: what a change of
// them means to a running child, what roots/list is answered with, and how a child
// shows which ones it has applied.
//
// [Change.Decide] is a pure function of all that counts: it leaves the child alone,
// has it told, or has it replaced; the zero [Action] revokes what the child had. Where
// a tool is known that lists the directories of a child, [ProbeUntil] asks it again
// and again until it names exactly the paths served.
//
// [Roots] follows one run. It tells the child of a change, waits for at most
// [ApplyWait] until the child has applied it, and answers each event with a [Step]:
// what the instance is to make known, and whether the run must be replaced. A child is
// told of one change at a time.
//
// Roots belongs to the goroutine of the instance; what the goroutines that answer
// roots/list touch is in [Answers], which is atomic. The package replaces no child,
// and does not choose which roots are served.
package served
