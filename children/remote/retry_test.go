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

// TestAStreamThatEndsAtOnce is opened less and less often. One that lasted, or said something, is opened again soon.
func TestAStreamThatEndsAtOnce(t *testing.T) {
	t.Parallel()
	var pause, all time.Duration
	for n := range 10 {
		if pause = nextPause(pause, time.Millisecond, false); pause != min(firstRetry<<n, lastRetry) {
			t.Errorf("pause %d is %s", n, pause)
		}
		all += pause
	}
	if all < 2*time.Minute {
		t.Errorf("it is opened ten times in %s", all)
	}
	for _, c := range []struct {
		open time.Duration
		said bool
	}{{lastRetry + 1, false}, {0, true}} {
		if got := nextPause(lastRetry, c.open, c.said); got != firstRetry {
			t.Errorf("%+v: %s", c, got)
		}
	}
}
