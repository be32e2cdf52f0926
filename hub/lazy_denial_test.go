package hub

import (
	"strings"
	"testing"
	"time"

	"mcphub/children/spec"
	"mcphub/e2e/childtest"
)

// TestAFirstCallWaitsForOneStart: a child that never answers costs the call that may
// be for it one start timeout.
func TestAFirstCallWaitsForOneStart(t *testing.T) {
	hangs := played("hangs", spec.ShareSession, childtest.Script{Mute: true})
	hangs.StartTimeout = time.Minute
	play(t, []spec.Spec{hangs}, func(t *testing.T, h *Hub, s *stage) {
		c, _ := enter(t, h)
		c.handshake(`{}`)
		for i := range 2 {
			began := time.Now()
			msg, failed := text(c.raw("tools/call", toolCall("hangs__x", `{}`)))
			if !failed || !strings.Contains(msg, "did not start within 1m0s") && !strings.Contains(msg, "did not start within 60s") {
				t.Errorf("%s", msg)
			}
			if took := time.Since(began); took < 50*time.Second && i == 0 || took > 62*time.Second {
				t.Errorf("call %d took %s", i, took)
			}
		}
	})
}
