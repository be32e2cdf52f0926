package children

import (
	"testing"
	"time"
)

func TestBackoff(t *testing.T) {
	var h history
	if h.delay(0.5) != 0 || h.open() {
		t.Error("without a failure there is no delay")
	}
	last := time.Duration(0)
	for n := 1; n <= 40; n++ {
		h.failed(0)
		low, high := h.delay(0), h.delay(0.999)
		if low < last/2 || high < low || high > maxDelay || low > maxDelay/2 {
			t.Errorf("failure %d: %s to %s", n, low, high)
		}
		if h.open() != (n >= maxFailures) {
			t.Errorf("failure %d: open %t", n, h.open())
		}
		last = low
	}
	if last != maxDelay/2 {
		t.Errorf("it does not grow to the bound: %s", last)
	}
	h.failed(soundAfter)
	if h.failures != 1 || h.delay(0) != firstDelay/2 {
		t.Errorf("a sound run clears the count: %+v", h)
	}
}
