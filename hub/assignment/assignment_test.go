package assignment

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"mcphub/children/spec"
	"mcphub/rootsmgr"
)

// The one who holds assignments goes on seeing those, and learns that others took
// their place.
func TestAssignmentsAreValues(t *testing.T) {
	t.Parallel()
	none := None()
	one := none.With(Assignment{Key: spec.Key{Child: "kid", Instance: "a"}, AwaitsList: true})
	none.MarkReplaced()
	two := one.With(Assignment{Key: spec.Key{Child: "other"}})
	gone := two.Without("kid")
	if _, ok := none.Lookup("kid"); ok || none.Key("kid") != (spec.Key{}) || none.AwaitsList("kid") {
		t.Error("the first value has changed")
	}
	if at, ok := one.Lookup("kid"); !ok || at.Key.Instance != "a" || !one.AwaitsList("kid") || len(one.All()) != 1 {
		t.Errorf("the second has %v", one.All())
	}
	if _, ok := gone.Lookup("kid"); ok || len(gone.All()) != 1 || len(two.All()) != 2 {
		t.Errorf("kid is still assigned: %v, %v", gone.All(), two.All())
	}
	select {
	case <-none.Next():
	default:
		t.Error("nobody learns that other assignments are in place")
	}
	select {
	case <-one.Next():
		t.Error("assignments that are in place count as replaced")
	default:
	}
}

func TestAwait(t *testing.T) {
	t.Parallel()
	given := func(now DeliveredRoots) bool { return now.Given && now.Grants >= 2 }
	t.Run("nothing counts as given before it is", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, start := NewRootsDelivery(), time.Now()
			if err := s.Await(t.Context(), time.Second, given); err != nil || time.Since(start) != time.Second {
				t.Errorf("%v after %v", err, time.Since(start))
			}
		})
	})
	t.Run("older grants do not end it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, done := NewRootsDelivery(), make(chan error, 1)
			go func() { done <- s.Await(t.Context(), -1, given) }()
			s.Set(DeliveredRoots{Given: true, Grants: 1})
			synctest.Wait()
			select {
			case <-done:
				t.Fatal("it ended with older grants")
			default:
			}
			s.Set(DeliveredRoots{Given: true, Grants: 2})
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	})
	t.Run("the caller has gone", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("gone")
		cancel(why)
		if err := NewRootsDelivery().Await(ctx, -1, given); !errors.Is(err, why) {
			t.Error(err)
		}
	})
}

func TestBring(t *testing.T) {
	t.Parallel()
	s := NewRootsDelivery()
	if !s.GivenFromCalls("kid") {
		t.Error("a child for which nothing was brought waits for it")
	}
	first := s.Request("kid", "a", rootsmgr.RootsView{})
	select {
	case <-s.Wanted():
	default:
		t.Error("nobody is told that roots are to be given")
	}
	if again := s.Request("kid", "a", rootsmgr.RootsView{}); again != first {
		t.Errorf("the same roots count as others: %d, %d", first, again)
	}
	select {
	case <-s.Wanted():
		t.Error("the same roots are to be given again")
	default:
	}
	second := s.Request("kid", "b", rootsmgr.RootsView{})
	if b, ok := s.FromCalls("kid"); !ok || b.Set != "b" || b.Number != second || s.LastFromCalls() != second {
		t.Errorf("brought %v, the last is %d", b, s.LastFromCalls())
	}
	s.Set(DeliveredRoots{Given: true, FromCalls: first})
	if s.GivenFromCalls("kid") {
		t.Error("the roots before count as these")
	}
	s.Set(DeliveredRoots{Given: true, FromCalls: second})
	if !s.GivenFromCalls("kid") {
		t.Error("the roots were given and do not count")
	}
}
