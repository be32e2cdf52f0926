// Package budget counts the work of judging one call.
//
// Whatever is done for a call is paid for before it is done: a string that is kept, a way to read it, a look at the
// disk, a schema applied to a value. If the [Budget] is spent the call is refused. Work is counted in steps and not in
// time, so that the same call has the same answer on every machine.
//
// It refuses to give anything back: what is spent stays spent, and the zero value is spent.
package budget
