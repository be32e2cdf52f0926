//go:build race

package rawio

import "sync/atomic"

// told stands for the order that a transfer gives: what one goroutine did before it
// wrote, another sees that has read what was written. The race detector learns it
// from ordinary calls (syscall.Read and Write), not from these.
var told atomic.Int64

func written() { told.Add(1) }
func read()    { told.Load() }
