package hub

import (
	"testing"

	"mcphub/children"
	"mcphub/children/childtest"
)

// TestSessionsShareTheirCatalog: what is the same for two sessions is held once;
// a private child makes the control.
func TestSessionsShareTheirCatalog(t *testing.T) {
	for share, same := range map[children.Share]bool{children.ShareAll: true, children.ShareSession: false} {
		play(t, []children.Spec{played("kid", share, childtest.Script{})}, "", 0, func(t *testing.T, h *Hub, _ *stage) {
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
			if (len(seen) == 1) != same {
				t.Errorf("%s: 3 sessions hold %d catalogues", share, len(seen))
			}
		})
	}
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
