package children

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/rs/zerolog"

	"mcphub/children/offers"
	"mcphub/children/spec"
)

// Instances that only wait for others have no goroutine, and end with the
// Supervisor all the same: thousands of sessions may hold servers that none of
// them calls.
func TestInstancesThatWaitHaveNoGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const many = 200
		server := spec.Spec{Name: "kid", Command: "kid", Args: []string{"${root}"}}
		told := make(chan Status, 8*many)
		s := NewSupervisor(SupervisorOptions{Specs: []spec.Spec{server}, Changed: func(st Status, _ *offers.RawOffer) { told <- st }, Log: zerolog.Nop()})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Run(ctx) }()
		synctest.Wait()
		before := runtime.NumGoroutine()
		key := func(i int) spec.Key { return spec.Key{Child: "kid", Instance: fmt.Sprint(i)} }
		for i := range many {
			s.Join(key(i))
			s.PrestartInstance(key(i))
		}
		synctest.Wait()
		if n := runtime.NumGoroutine() - before; n > many/10 {
			t.Errorf("%d instances that wait for roots have %d goroutines", many, n)
		}
		for i := range many {
			if st := s.childOf(key(i)).currentStatus(); st.State != Waiting {
				t.Fatalf("instance %d is %v", i, st.State)
			}
		}
		s.LeaveInstance(key(0)) // one that rests is ended
		s.ApplySpecs(nil)       // and all others are retired
		synctest.Wait()
		if n := len(s.children) + len(s.retired) + len(s.bySession); n != 0 {
			t.Errorf("%d are left", n)
		}
		s.ApplySpecs([]spec.Spec{server})
		s.Join(key(1))
		synctest.Wait()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		close(told)
		final := 0
		for st := range told {
			if st.Final {
				final++
			}
		}
		if final != many+1 {
			t.Errorf("%d were told to have ended, want %d", final, many+1)
		}
	})
}
