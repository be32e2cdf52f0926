package rootsmgr

import "time"

// Fixed parts of the timing; what an operator may set is in Settings.
const (
	retryFirst    = time.Second // back-off of retries
	retryMost     = 60 * time.Second
	reconsiderGap = 5 * time.Second // least time between questions asked before a denial
	debounceMost  = 20              // quiet periods after which a burst is cut off
)

// debounce decides when a burst of notifications has lasted long enough: a
// quiet period after the last, and never longer than a bound after the first.
type debounce struct {
	quiet, most time.Duration
	first, last time.Time
}

func newDebounce(quiet time.Duration) debounce {
	return debounce{quiet: quiet, most: debounceMost * quiet}
}

func (d *debounce) noteTime(now time.Time) {
	if d.first.IsZero() {
		d.first = now
	}
	d.last = now
}

func (d *debounce) clearTime() { d.first, d.last = time.Time{}, time.Time{} }

// dueAt returns the time when to act; zero if nothing was noted.
func (d *debounce) dueAt() time.Time {
	if d.first.IsZero() {
		return time.Time{}
	}
	return earlierOf(d.last.Add(d.quiet), d.first.Add(d.most))
}

// backoffAfter returns the pause after so many failures in a row: 1 s, doubling, 60 s.
func backoffAfter(failures int) time.Duration {
	pause := retryFirst
	for i := 1; i < failures && pause < retryMost; i++ {
		pause *= 2
	}
	return min(pause, retryMost)
}

// earlierOf returns the earlier of two times, of which zero means never.
func earlierOf(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
