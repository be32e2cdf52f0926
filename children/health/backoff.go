package health

import "time"

const (
	firstDelay = 250 * time.Millisecond
	maxDelay   = time.Minute
	// maxFailures in a row are a crash loop: a child that has never been ready is started again by itself until then. Afterwards, and if it
	// was ready once, only a call starts it, after the delay.
	maxFailures = 5
	// soundAfter is how long a run must have been ready for its end to count as
	// the first failure and not as one more.
	soundAfter = 30 * time.Second
)

// History counts how runs of a child ended. It decides; it does not act.
type History struct{ Failures int }

// RecordFailure counts the end of a run that was ready for so long (0: it never was).
func (h *History) RecordFailure(ready time.Duration) {
	if ready >= soundAfter {
		h.Failures = 0
	}
	h.Failures++
}

// InCrashLoop reports whether the child is in a crash loop.
func (h History) InCrashLoop() bool { return h.Failures >= maxFailures }

// Delay returns how long the next start must wait. jitter, in [0, 1), spreads
// it over the upper half, so that children that failed together do not start
// together.
func (h History) Delay(jitter float64) time.Duration {
	if h.Failures == 0 {
		return 0
	}
	d := maxDelay
	if n := h.Failures - 1; n < 16 {
		d = min(maxDelay, firstDelay<<n)
	}
	return d/2 + time.Duration(jitter*float64(d/2))
}
