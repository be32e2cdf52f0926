package memo

import (
	"fmt"
	"sync"
	"testing"
)

// TestMap: the one who asks for a key gets the same value, made once, be it the zero value.
func TestMap(t *testing.T) {
	t.Parallel()
	var views Map[string, *int]
	made := map[string]int{}
	get := func(key string) *int {
		return views.Get(key, func() *int {
			if made[key]++; key == "nothing" {
				return nil
			}
			return new(int)
		})
	}
	var all sync.WaitGroup
	got := make([]*int, 20)
	for i := range got {
		all.Go(func() { got[i] = get(fmt.Sprint(i % 2)); get("nothing") })
	}
	all.Wait()
	for i := range got {
		if got[i] == nil || got[i] != got[i%2] || got[0] == got[1] {
			t.Errorf("%d: %p, of %p and %p", i, got[i], got[0], got[1])
		}
	}
	if fmt.Sprint(made) != "map[0:1 1:1 nothing:1]" {
		t.Error(made)
	}
}

// TestLooksWaitForNoOther: a look that hangs holds up no other one, and the value that was there first counts.
func TestLooksWaitForNoOther(t *testing.T) {
	t.Parallel()
	var looks Looks[int]
	made := 0
	got := looks.Get("slow", func() int {
		if other := looks.Get("other", func() int { return 7 }); other != 7 {
			t.Errorf("other is %d", other)
		}
		if first := looks.Get("slow", func() int { made++; return 1 }); first != 1 {
			t.Errorf("the first is %d", first)
		}
		made++
		return 2
	})
	if again := looks.Get("slow", func() int { made++; return 3 }); got != 1 || again != 1 || made != 2 {
		t.Errorf("%d, then %d, made %d times", got, again, made)
	}
}
