package limits

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// A session's own child, as Places sees it.
type tenant struct {
	places *Places
	rests  bool // its session has no connection and no request
	gone   bool
}

func (t *tenant) Use(time.Time) Use { return Use{Leaving: t.gone} }
func (t *tenant) Evict()            {}
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
	for _, rests := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			p := NewPlaces(8, 0)
			for range 8 {
				if err := p.Take(t.Context(), &tenant{places: p, rests: rests}, "greedy"); err != nil {
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

// An owner is held to its part, also while others are free, and is told apart from a full house.
func TestPlacesOfOne(t *testing.T) {
	p := NewPlaces(4, 3)
	take := func(owner string) error { return p.Take(context.Background(), &tenant{places: p}, owner) }
	for range 3 {
		if err := take("a"); err != nil {
			t.Fatal(err)
		}
	}
	if err := take("a"); !errors.Is(err, ErrOwn) || !errors.Is(err, ErrBusy) {
		t.Error(err)
	}
	if err := take(""); err != nil {
		t.Errorf("what is nobody's: %v", err)
	}
	if err := take("b"); !errors.Is(err, ErrBusy) || errors.Is(err, ErrOwn) {
		t.Error(err)
	}
}

// Whoever has no place gets one where others have one each and are not there, and then no second one.
func TestEverybodyGetsAPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPlaces(2, 0)
		for _, owner := range []string{"a", "b", "c"} {
			if err := p.Take(t.Context(), &tenant{places: p, rests: true}, owner); err != nil {
				t.Errorf("%s: %v", owner, err)
			}
		}
		if p.Take(t.Context(), &tenant{places: p, rests: true}, "c") == nil {
			t.Error("one got a second place from somebody who has one")
		}
	})
}
