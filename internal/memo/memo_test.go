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
