// Package trusttest makes authorities that no one else trusts, and certificates of theirs, for tests.
//
// An [Authority] lives in the memory of one test, and writes files only if the test says. One goroutine uses it; what it serves
// has goroutines of its own, which end with the test. It issues nothing that is good for longer than an hour.
package trusttest
