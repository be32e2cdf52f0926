package limits

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// A session's own child, as Places sees it.
type tenant struct {
	places *Places
	name   string // of its session
	rests  bool   // its session has no connection and no request
	gone   bool
}

func (t *tenant) Use(time.Time) Use { return Use{Leaving: t.gone} }
func (t *tenant) Evict()            {}
func (t *tenant) Session() string   { return t.name }
func (t *tenant) Yield() bool {
	if !t.rests {
		return false
	}
	t.gone = true
	go t.places.Leave(t)
	return true
}

// One owner holds every place and is not there any more: another one gets as many by and by, and no
// more than that. Control: while the first one is there it keeps them.
func TestFairPlaces(t *testing.T) {
	t.Parallel()
	for _, rests := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			p := NewPlaces(8, 0)
			for n := range 8 {
				if err := p.Take(t.Context(), &tenant{places: p, name: fmt.Sprint("s", n), rests: rests}, "greedy"); err != nil {
					t.Fatal(err)
				}
			}
			got := 0
			for range 8 {
				if p.Take(t.Context(), &tenant{places: p, rests: true}, "modest") == nil {
					got++
				}
			}
			if want := map[bool]int{true: 4, false: 0}[rests]; got != want {
				t.Errorf("rests %v: the other has %d places, want %d", rests, got, want)
			}
		})
	}
}

// A resting is a session with several children of its own, which takes its time to end.
type resting struct {
	tenants []*its
	asked   int
}

type its struct {
	of     *resting
	places *Places
	name   string
}

func (t *its) Use(time.Time) Use { return Use{} }
func (t *its) Evict()            {}
func (t *its) Session() string   { return t.name }
func (t *its) Yield() bool {
	t.of.asked++
	go func() {
		time.Sleep(time.Second)
		for _, o := range t.of.tenants {
			t.places.Leave(o)
		}
	}()
	return true
}

// TestNoMoreSessionsEndThanAreNeeded: one session that ends makes room for as many as it has children, however often those who wait
// look again meanwhile. Control: where more places are needed, a second one ends.
func TestNoMoreSessionsEndThanAreNeeded(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ takers, ends int }{{1, 1}, {3, 1}, {4, 2}} {
		synctest.Test(t, func(t *testing.T) {
			p := NewPlaces(12, 0)
			var all []*resting
			for n := range 4 {
				s := &resting{}
				for range 3 {
					c := &its{s, p, fmt.Sprint("s", n)}
					s.tenants = append(s.tenants, c)
					if err := p.Take(t.Context(), c, "greedy"); err != nil {
						t.Fatal(err)
					}
				}
				all = append(all, s)
			}
			for range tc.takers {
				go func() {
					if err := p.Take(t.Context(), &tenant{places: p, name: "m"}, "modest"); err != nil {
						t.Error(err)
					}
				}()
				synctest.Wait()
				p.Stir()
			}
			for range 50 {
				time.Sleep(10 * time.Millisecond)
				p.Stir()
			}
			time.Sleep(10 * time.Second)
			ended := 0
			for _, s := range all {
				if ended += min(s.asked, 1); s.asked > 1 {
					t.Errorf("one session was asked %d times", s.asked)
				}
			}
			if ended != tc.ends {
				t.Errorf("%d sessions end for %d children, want %d", ended, tc.takers, tc.ends)
			}
		})
	}
}

// An owner is held to its part, also while others are free, and is told apart from a full house.
func TestPlacesOfOne(t *testing.T) {
	t.Parallel()
	p := NewPlaces(4, 3)
	take := func(owner string) error { return p.Take(context.Background(), &tenant{places: p}, owner) }
	for range 3 {
		if err := take("a"); err != nil {
			t.Fatal(err)
		}
	}
	if err := take("a"); !errors.Is(err, ErrOwnerBusy) || !errors.Is(err, ErrBusy) {
		t.Error(err)
	}
	if err := take(""); err != nil {
		t.Errorf("what is nobody's: %v", err)
	}
	if err := take("b"); !errors.Is(err, ErrBusy) || errors.Is(err, ErrOwnerBusy) {
		t.Error(err)
	}
}

// The one who has no place gets one where others have one each and are not there, and then no second one.
func TestEverybodyGetsAPlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := NewPlaces(2, 0)
		for _, owner := range []string{"a", "b", "c"} {
			if err := p.Take(t.Context(), &tenant{places: p, name: "of " + owner, rests: true}, owner); err != nil {
				t.Errorf("%s: %v", owner, err)
			}
		}
		if p.Take(t.Context(), &tenant{places: p, rests: true}, "c") == nil {
			t.Error("one got a second place from somebody who has one")
		}
	})
}
