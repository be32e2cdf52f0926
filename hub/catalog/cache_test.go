package catalog

import "testing"

// TestMemoIsBounded: and the newest are the ones that are kept.
func TestMemoIsBounded(t *testing.T) {
	t.Parallel()
	var m cache
	built := 0
	get := func(o *Offer) { m.catalogOf([]*Offer{o}, func() *Catalog { built++; return &Catalog{} }) }
	first := &Offer{}
	for range 3 * maxKept {
		get(first)
		get(&Offer{})
	}
	if built != 1+3*maxKept || len(m.kept) != maxKept {
		t.Errorf("%d built, %d kept", built, len(m.kept))
	}
}
