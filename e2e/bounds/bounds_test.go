package bounds

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestOf(t *testing.T) {
	t.Setenv("MCPHUB_STRICT_BOUNDS", "")
	if got := Of(2500 * time.Millisecond); got != 25*time.Second {
		t.Errorf("with other tests beside it: %s", got)
	}
	t.Setenv("MCPHUB_STRICT_BOUNDS", "1")
	if got := Of(2500 * time.Millisecond); got != 2500*time.Millisecond {
		t.Errorf("strict: %s", got)
	}
}

func TestWithin(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if !Within(0, func() bool { return true }) || time.Since(began) != 0 {
			t.Error("it waits for what is so already")
		}
		if !Within(time.Minute, func() bool { return time.Since(began) >= time.Second }) || time.Since(began) != time.Second {
			t.Errorf("what comes after a second is seen after %s", time.Since(began))
		}
		began = time.Now()
		if Within(time.Minute, func() bool { return false }) || time.Since(began) != time.Minute {
			t.Errorf("what never comes is waited for %s", time.Since(began))
		}
	})
}
