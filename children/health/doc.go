// Package health tells what it means that nothing is heard of a child server: which
// calls have waited for too long, whether the child is slow or hung, and how long the
// next start waits after a failure.
//
// An [IdleTimeout] ends the calls of one run for which nothing was heard of the child
// for their time; progress starts it anew, and while the child itself waits for
// somebody it stands still. All calls share one timer, under a mutex that is a leaf.
// A [Pulse] decides when a child that leaves calls waiting is asked whether it is
// there, shown as hung, and stopped: what answers is slow, and left alone. A [History]
// counts failures in a row and gives the delay that grows with them.
//
// Pulse and History belong to one goroutine. The package decides and measures time; it
// asks no child, and stops and starts none.
package health
