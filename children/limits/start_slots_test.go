package limits

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// One owner wants to start far more children than may start, and all of them take long. Another one that comes later starts with
// the next slot that ends. Control: of one owner who comes first is served first.
func TestSlotsAreFairAmongOwners(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		owner string
		want  time.Duration
	}{{"modest", slotTime}, {"greedy", 10 * slotTime}} {
		synctest.Test(t, func(t *testing.T) {
			all := NewStartSlots(4)
			for range 36 {
				go all.Take(t.Context(), "greedy", func() {})
			}
			synctest.Wait()
			began, waited := time.Now(), false
			slot := all.Take(t.Context(), tc.owner, func() { waited = true })
			if took := time.Since(began); slot == nil || !waited || took < tc.want-slotTime || took > tc.want+time.Second {
				t.Errorf("%s had its slot after %s, want %s", tc.owner, took, tc.want)
			}
			time.Sleep(time.Hour)
		})
	}
}

// A caller that waits no longer leaves nothing behind, also if a slot comes at that moment: all slots can be had afterwards.
func TestSlotsOfThoseWhoLeave(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := NewStartSlots(2)
		for n := range 200 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(n%7)*slotTime/2)
			go func() {
				defer cancel()
				if slot := all.Take(ctx, string(rune('a'+n%3)), func() {}); slot != nil && n%2 == 0 {
					slot.End()
					slot.End()
				}
			}()
		}
		time.Sleep(time.Hour)
		for _, q := range []*queue{all.starting, all.loading} {
			q.mu.Lock()
			defer q.mu.Unlock()
			if len(q.held) != 0 || len(q.waiting) != 0 {
				t.Errorf("held %v, waiting %v", q.held, q.waiting)
			}
		}
		if all.starting.free != 2 || all.loading.free != 2 {
			t.Errorf("%d and %d are free", all.starting.free, all.loading.free)
		}
	})
}
