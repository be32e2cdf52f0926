package worker

import (
	"sync"
	"testing"
	"testing/synctest"
)

// Every job is done, beside all others; so many goroutines as may wait do, and none once it is over.
func TestPool(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const most = 4
		over := make(chan struct{})
		var running sync.WaitGroup
		var mu sync.Mutex
		done := 0
		p := NewPool(func(gate <-chan struct{}) {
			<-gate
			mu.Lock()
			defer mu.Unlock()
			done++
		}, most, over)
		give := func(n int) {
			gate := make(chan struct{})
			for range n {
				p.Go(&running, gate)
			}
			synctest.Wait() // all of them hold at the gate
			close(gate)
			synctest.Wait()
		}
		give(3 * most)
		if got := p.idle.Load(); got != most {
			t.Errorf("%d wait, want %d", got, most)
		}
		give(most + 3)
		close(over)
		running.Wait()
		if got := p.idle.Load(); got != 0 || done != 4*most+3 {
			t.Errorf("%d wait and %d jobs are done, want none and %d", got, done, 4*most+3)
		}
		open := make(chan struct{})
		close(open)
		p.Go(&running, open)
		if running.Wait(); done != 4*most+4 {
			t.Error("a job that came late was not done")
		}
	})
}
