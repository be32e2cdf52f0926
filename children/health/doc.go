// Package health watches for a child server that says nothing: which calls have waited
// too long, whether the child is slow or hung, and how long the next start waits after a
// failure.
//
// [CallTimers] end each call of a run for which nothing was heard of the child for
// the call's time. Progress starts that time again. It stands still while the child waits
// for an answer of its own. All calls share one timer under a leaf mutex.
//
// A [Pulse] decides when a child that leaves calls waiting is asked whether it is there,
// when it is shown as hung, and when it is stopped. A child that sends any message is
// slow, not hung. A [History] counts failures in a row and gives the delay, which grows
// with them.
//
// Pulse and History belong to one goroutine. The package only decides and measures time:
// it sends nothing to a child, and stops and starts none.
package health
