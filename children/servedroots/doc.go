// Package servedroots is about the roots that child servers are served: what a change of
// them means to a running child, what roots/list is answered with, and when a child
// has applied them.
//
// [Change.Decide] is a pure function. It reports whether a change leaves the child alone,
// has it told, or has it replaced. The zero [Action] revokes what the child had. If a
// tool of the child is known to list its directories, [ProbeUntil] calls that tool until
// it names exactly the paths that are served.
//
// [Roots] follows one run. It tells the child of a change and waits until the child has
// applied it, at most [ApplyWait]. It answers each event with a [Step]: what the instance
// shows from now on, and whether the run must be replaced. A child is told about one
// change at a time.
//
// Roots belongs to the goroutine of the instance. What it shares with the goroutines that
// answer roots/list is in [Answers], which is atomic. The package replaces no child, and
// does not choose which roots are served.
package servedroots
