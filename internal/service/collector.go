package service

import (
	"os"
	"runtime/debug"
	runtimemetrics "runtime/metrics"
	"sync"
	"time"

	"mcphub/internal/guardian"
)

// A program with few children has started them by startSoon, one with many by
// startLate: what reading their schemas took is garbage then.
const (
	startSoon = 500 * time.Millisecond
	startLate = 3 * time.Second
	lookEvery = 100 * time.Millisecond
	quietRate = 64 << 10 // bytes that are allocated between two looks, at most, where little is done: some ten calls
)

// TuneCollector lets twice as much garbage as usual come together before it is
// collected: the heap of a relay is small, so by the default the collector would
// run every few hundred calls. More is not better: garbage lies in pages that
// were not used before, and each costs a page fault. Who sets GOGC is obeyed.
func TuneCollector() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(200)
	}
}

// giveBack gives back what the start took, once soon and once when it is surely over. It waits until little
// is done: a program under load would take it again at once, page by page, and its calls would wait for that.
func giveBack() (stop func()) {
	done := make(chan struct{})
	var looks sync.WaitGroup
	looks.Go(func() {
		tick := time.NewTicker(lookEvery)
		defer tick.Stop()
		given := false
		for began, last := time.Now(), allocated(); ; {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			before, age := last, time.Since(began)
			last = allocated()
			late := age > startLate
			if age < startSoon || given && !late || last-before > quietRate {
				continue
			}
			if os.Getenv("GOGC") == "" {
				debug.FreeOSMemory()
			}
			guardian.GiveBack()
			if given = true; late {
				return
			}
		}
	})
	return func() {
		close(done)
		looks.Wait()
	}
}

// allocated returns the bytes that were allocated since the program began.
func allocated() uint64 {
	all := []runtimemetrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	runtimemetrics.Read(all)
	return all[0].Value.Uint64()
}
