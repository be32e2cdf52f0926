package children

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type end struct {
			name  string
			after time.Duration
		}
		p := newPatience(time.Minute)
		defer p.stop()
		began := time.Now()
		ends := make(chan end, 10)
		begin := func(name string, limit time.Duration) *silence {
			s := new(silence)
			p.begin(s, limit, name, expireFunc(func() { ends <- end{name, time.Since(began)} }))
			return s
		}
		begin("long", 10*time.Second)
		begin("short", 2500*time.Millisecond) // due before what the timer is set for
		begin("alive", 3*time.Second)
		p.end(begin("answered", time.Second))
		for range 4 {
			time.Sleep(2 * time.Second) // of the bubble, which costs none
			p.progress([]byte("alive"))
			p.progress([]byte("nobody"))
		}
		for _, want := range []end{{"short", 2500 * time.Millisecond}, {"long", 10 * time.Second}, {"alive", 11 * time.Second}} {
			if got := <-ends; got != want {
				t.Errorf("%s ended after %s, want %s after %s", got.name, got.after, want.name, want.after)
			}
		}
		synctest.Wait()
		if len(ends) != 0 || p.open.next != &p.open || p.open.prev != &p.open {
			t.Errorf("%d more ended, open: %v", len(ends), p.open.next != &p.open)
		}
	})
}
