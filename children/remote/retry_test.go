package remote

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestPauseThatAServerAsksFor is heeded, but neither as good as none nor as
// good as for ever.
func TestPauseThatAServerAsksFor(t *testing.T) {
	t.Parallel()
	for told, want := range map[time.Duration]time.Duration{
		0: time.Second, 3 * time.Second: 3 * time.Second, 1: leastPause, 1 << 32 * time.Millisecond: maxPause,
	} {
		synctest.Test(t, func(t *testing.T) {
			started := time.Now()
			if !retryAfter(t.Context(), told, time.Second) || time.Since(started) != want {
				t.Errorf("told %s: waited %s, want %s", told, time.Since(started), want)
			}
		})
	}
}
