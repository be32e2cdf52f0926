package worker

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// Work that is asked for before start, while it is under way and after stop.
func TestWorker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		done := 0
		w := Worker{Do: func(context.Context) {
			time.Sleep(time.Second)
			done++
		}}
		w.Wake()
		synctest.Wait()
		if w.working {
			t.Fatal("it works before start")
		}
		ctx, cancel := context.WithCancel(t.Context())
		w.Start(ctx)
		time.Sleep(time.Second / 2)
		for range 5 {
			w.Wake() // again, and not five times
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if done != 2 {
			t.Errorf("it was done %d times, want 2", done)
		}
		if w.working {
			t.Error("its goroutine stayed")
		}
		w.Wake()
		synctest.Wait()
		cancel()
		w.Stop()
		if done != 3 {
			t.Errorf("stop did not wait for the work under way: done %d times", done)
		}
		w.Wake()
		synctest.Wait()
		if done != 3 || w.working {
			t.Error("it worked after stop")
		}
	})
}
