package outbox

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
)

// What is put in before Start waits, and then all is passed on: in order, and one at a time.
func TestOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var o Outbox
		var passed []int
		put := func(n int, then func()) {
			if !o.Put(1, func(context.Context) { passed = append(passed, n); then() }) {
				t.Errorf("there is no room for %d", n)
			}
		}
		hold := make(chan struct{})
		put(1, func() { <-hold })
		put(2, func() {})
		synctest.Wait()
		if passed != nil {
			t.Errorf("passed on before Start: %v", passed)
		}
		o.Start(t.Context())
		synctest.Wait()
		if !slices.Equal(passed, []int{1}) {
			t.Errorf("passed on while the first one is under way: %v", passed)
		}
		put(3, func() {})
		close(hold)
		synctest.Wait()
		if !slices.Equal(passed, []int{1, 2, 3}) {
			t.Errorf("passed on: %v", passed)
		}
		o.Stop()
	})
}

// There is room for so many and for so many bytes, and again once some were passed on. What
// is under way counts with its bytes.
func TestBounds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var o Outbox
		nothing := func(context.Context) {}
		for n := range maxPending {
			if !o.Put(1, nothing) {
				t.Fatalf("there is no room for one more than %d", n)
			}
		}
		if o.Put(1, nothing) {
			t.Error("there is room for more than maxPending")
		}
		o.Start(t.Context())
		synctest.Wait()
		hold := make(chan struct{})
		if !o.Put(maxPendingBytes-1, func(context.Context) { <-hold }) {
			t.Error("there is no room once all was passed on")
		}
		synctest.Wait()
		if o.Put(2, nothing) {
			t.Error("there is room for more than maxPendingBytes")
		}
		if !o.Put(1, nothing) {
			t.Error("there is no room for maxPendingBytes")
		}
		close(hold)
		synctest.Wait()
		if !o.Put(maxPendingBytes, nothing) {
			t.Error("there is no room for maxPendingBytes once nothing else is there")
		}
		o.Stop()
	})
}

// Once its context has ended, nothing more is passed on, and Stop waits for what is under way.
func TestStop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var o Outbox
		ctx, cancel := context.WithCancel(t.Context())
		o.Start(ctx)
		left, later := false, false
		o.Put(1, func(ctx context.Context) { <-ctx.Done(); left = true })
		o.Put(1, func(context.Context) { later = true })
		synctest.Wait()
		cancel()
		o.Stop()
		if !left {
			t.Error("Stop did not wait for what was under way")
		}
		o.Put(1, func(context.Context) { later = true })
		synctest.Wait()
		if later {
			t.Error("more was passed on after the end")
		}
	})
}
