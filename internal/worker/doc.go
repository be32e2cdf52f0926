// Package worker does a piece of work on demand, on a goroutine that lives only
// while there is something to do: a session that rests has none.
//
// A [Worker] calls its function on one goroutine at a time. Its methods may be
// called from any goroutine. Nothing is done before Start or after Stop, and Stop
// returns when all that it started has ended.
//
// [Signal] is for a goroutine that lives on and waits for several things, a [Pool] for
// jobs that are done side by side. [Sleep] and [Within] wait for so long at most.
//
// Neither queues: however often a Worker is woken while it works, the work is done
// again, and a Pool starts a goroutine where none waits.
package worker
