package service

import (
	"os"
	"runtime/debug"
	"time"

	"mcphub/internal/guardian"
)

// A program with few children has started them by startSoon, one with many by
// startLate: what reading their schemas took is garbage then.
const (
	startSoon = 500 * time.Millisecond
	startLate = 3 * time.Second
)

// TuneCollector lets garbage grow to a few times the heap before it is
// collected: the heap of a relay is small, so by the default the collector would
// run every few hundred calls, which costs a third of a call, and five times before the
// first. Who sets GOGC is obeyed.
func TuneCollector() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}

// giveBack gives back what the start took when that is over.
func giveBack() (stop func()) {
	give := func() {
		if os.Getenv("GOGC") == "" {
			debug.FreeOSMemory()
		}
		guardian.GiveBack()
	}
	soon, late := time.AfterFunc(startSoon, give), time.AfterFunc(startLate, give)
	return func() {
		soon.Stop()
		late.Stop()
	}
}
