package health

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestIdleTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		type end struct {
			name  string
			after time.Duration
		}
		p := NewCallTimers(time.Minute)
		defer p.Stop()
		started := time.Now()
		ends := make(chan end, 10)
		wait := func(name string, limit time.Duration) *WaitingCall {
			s := new(WaitingCall)
			p.Start(s, limit, name, ExpireFunc(func() { ends <- end{name, time.Since(started)} }))
			return s
		}
		wait("long", 10*time.Second)
		wait("short", 2500*time.Millisecond) // due before what the timer is set for
		wait("alive", 3*time.Second)
		p.End(wait("answered", time.Second))
		for range 4 {
			time.Sleep(2 * time.Second) // of the bubble, which costs none
			p.Progress([]byte("alive"))
			p.Progress([]byte("nobody"))
		}
		for _, want := range []end{{"short", 2500 * time.Millisecond}, {"long", 10 * time.Second}, {"alive", 11 * time.Second}} {
			if got := <-ends; got != want {
				t.Errorf("%s ended after %s, want %s after %s", got.name, got.after, want.name, want.after)
			}
		}
		synctest.Wait()
		if len(ends) != 0 || p.ring.next != &p.ring || p.ring.prev != &p.ring {
			t.Errorf("%d more ended, open: %v", len(ends), p.ring.next != &p.ring)
		}
	})
}
