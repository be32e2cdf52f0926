package bounds

import (
	"os"
	"time"
)

// Patience is how long a test waits for an event that must come. It ends the wait of a test that fails, and of no other.
const Patience = time.Minute

// slack is what a machine that does other things too may add to a time.
const slack = 10

// Strict reports whether bounds hold as they are written: nothing else runs on the machine.
func Strict() bool { return os.Getenv("MCPHUB_STRICT_BOUNDS") != "" }

// Of returns what a test compares a measured time with, or waits for what must be done by then: the bound itself if bounds are
// strict, else ten times as much.
func Of(bound time.Duration) time.Duration {
	if Strict() {
		return bound
	}
	return slack * bound
}

// Within calls ok until it returns true, for at most so long, and returns the last result. It is for conditions that send no event.
func Within(atMost time.Duration, ok func() bool) bool {
	end := time.NewTimer(atMost)
	defer end.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-end.C:
			return ok()
		}
	}
	return true
}
