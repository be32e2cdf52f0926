package service

import (
	"os"
	"runtime/debug"
	"sync"
	"time"

	"mcphub/cmd/mcphub/internal/guardian"
	"mcphub/hub/exposition"
)

const (
	lookEvery = 100 * time.Millisecond
	quietTime = 5 * time.Millisecond // of the processor between two looks, at most, where little is done
)

// givingBack is when memory is given back: so long after the start, and after so many looks in a row at which little
// was done. A program with few children has started them by the first time, one with many has read their schemas by the
// second.
var givingBack = []struct {
	after time.Duration
	quiet int
}{{500 * time.Millisecond, 3}, {3 * time.Second, 10}}

// TuneCollector lets twice as much garbage as usual come together before it is
// collected: the heap of a relay is small, so by the default the collector would
// run every few hundred calls. More is not better: garbage lies in pages that
// were not used before, and each costs a page fault. Who sets GOGC is obeyed.
func TuneCollector() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(200)
	}
}

// giveBack gives back what the start took, when little is done: a program under load would take it again at
// once, page by page, and its calls would wait for that.
func giveBack() (stop func()) {
	done := make(chan struct{})
	var looks sync.WaitGroup
	looks.Go(func() {
		tick := time.NewTicker(lookEvery)
		defer tick.Stop()
		quiet := 0
		for began, last, rest := time.Now(), exposition.CPUTime(), givingBack; len(rest) > 0; {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			before := last
			if last = exposition.CPUTime(); last-before > quietTime {
				quiet = 0
				continue
			}
			if quiet++; quiet < rest[0].quiet || time.Since(began) < rest[0].after {
				continue
			}
			if os.Getenv("GOGC") == "" {
				debug.FreeOSMemory()
			}
			guardian.GiveBack()
			rest = rest[1:]
		}
	})
	return func() {
		close(done)
		looks.Wait()
	}
}
