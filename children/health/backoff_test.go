package health

import (
	"testing"
	"time"
)

func TestBackoff(t *testing.T) {
	t.Parallel()
	var h History
	if h.Delay(0.5) != 0 || h.InCrashLoop() {
		t.Error("without a failure there is no delay")
	}
	last := time.Duration(0)
	for n := 1; n <= 40; n++ {
		h.RecordFailure(0)
		low, high := h.Delay(0), h.Delay(0.999)
		if low < last/2 || high < low || high > maxDelay || low > maxDelay/2 {
			t.Errorf("failure %d: %s to %s", n, low, high)
		}
		if h.InCrashLoop() != (n >= maxFailures) {
			t.Errorf("failure %d: open %t", n, h.InCrashLoop())
		}
		last = low
	}
	if last != maxDelay/2 {
		t.Errorf("it does not grow to the bound: %s", last)
	}
	h.RecordFailure(soundAfter)
	if h.Failures != 1 || h.Delay(0) != firstDelay/2 {
		t.Errorf("a sound run clears the count: %+v", h)
	}
}
