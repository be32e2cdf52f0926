package worker

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestSleep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		if !Sleep(t.Context(), time.Minute) || time.Since(begun) != time.Minute {
			t.Errorf("it slept for %v, want a minute", time.Since(begun))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begun = time.Now()
		if Sleep(ctx, time.Minute) || time.Since(begun) != time.Second {
			t.Errorf("it slept for %v, want a second: then its context ended", time.Since(begun))
		}
	})
}

func TestWithin(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		done := make(chan struct{})
		begun := time.Now()
		if Within(done, 0) || Within(done, time.Second) || time.Since(begun) != time.Second {
			t.Errorf("it waited for %v, want a second, and nothing to be done", time.Since(begun))
		}
		time.AfterFunc(time.Second, func() { close(done) })
		begun = time.Now()
		if !Within(done, time.Minute) || time.Since(begun) != time.Second || !Within(done, 0) {
			t.Errorf("it waited for %v, want a second, and all to be done", time.Since(begun))
		}
	})
}
