package hub

import (
	"testing"

	"mcphub/children/spec"
	"mcphub/e2e/childtest"
	"mcphub/hub/catalog"
)

// TestSessionsShareTheirCatalog: what is the same for many sessions is held once.
func TestSessionsShareTheirCatalog(t *testing.T) {
	play(t, []spec.Spec{played("kid", spec.ShareAll, childtest.Script{})}, func(t *testing.T, h *Hub, _ *stage) {
		for range 3 {
			c, _ := enter(t, h)
			c.handshake(`{}`)
			c.raw("tools/list", `{}`)
		}
		seen := map[*catalog.Catalog]bool{}
		for _, s := range h.sessions.Sessions() {
			seen[s.Catalog().Catalog] = true
		}
		if len(seen) != 1 {
			t.Errorf("3 sessions hold %d catalogues", len(seen))
		}
	})
}
