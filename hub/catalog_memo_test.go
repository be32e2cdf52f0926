package hub

import (
	"testing"

	"mcphub/children"
	"mcphub/children/childtest"
)

// TestSessionsShareTheirCatalog: what is the same for many sessions is held once.
func TestSessionsShareTheirCatalog(t *testing.T) {
	play(t, []children.Spec{played("kid", children.ShareAll, childtest.Script{})}, "", 0, func(t *testing.T, h *Hub, _ *stage) {
		for range 3 {
			c, _ := enter(t, h)
			c.handshake(`{}`)
			c.raw("tools/list", `{}`)
		}
		seen := map[*Catalog]bool{}
		h.mu.Lock()
		defer h.mu.Unlock()
		for _, s := range h.sessions {
			seen[s.catalog.Load()] = true
		}
		if len(seen) != 1 {
			t.Errorf("3 sessions hold %d catalogues", len(seen))
		}
	})
}

// TestCatalogMemoIsBounded: and the newest are the ones that are kept.
func TestCatalogMemoIsBounded(t *testing.T) {
	var m catalogMemo
	built := 0
	get := func(o *childOffer) { m.of([]*childOffer{o}, func() *Catalog { built++; return &Catalog{} }) }
	first := &childOffer{}
	for range 3 * keptCatalogs {
		get(first)
		get(&childOffer{})
	}
	if built != 1+3*keptCatalogs || len(m.kept) != keptCatalogs {
		t.Errorf("%d built, %d kept", built, len(m.kept))
	}
}
