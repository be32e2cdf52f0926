package worker

import (
	"context"
	"time"
)

// Sleep waits for d, or until ctx ends. It reports whether d has passed.
func Sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Within waits until done is closed, but not longer than d. It reports whether done is closed.
func Within(done <-chan struct{}, d time.Duration) bool {
	if d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-done:
		case <-t.C:
		}
	}
	select {
	case <-done:
		return true
	default:
		return false
	}
}
