package hub

import (
	"testing"

	"mcphub/hub/audit"
)

// TestDecisionsNameTheirClient: the line of a decision names the client that has said who it is, on the fast path, with a path and of a refusal, in both
// eras over stdio.
func TestDecisionsNameTheirClient(t *testing.T) {
	r := newRecorded(t, Audit{})
	r.raw("tools/call", toolCall("kid__echo", `{}`))
	r.raw("tools/call", pathCall(r.root, "x"))
	r.raw("tools/call", pathCall("/etc/passwd", "x"))
	r.refused("tools/call", toolCall("kid__none", `{}`))
	modern, _ := enter(t, r.hub)
	(&modernClient{testClient: modern, caps: `{}`}).raw("tools/call", toolCall("kid__echo", `{}`))
	named := 0
	for _, d := range r.decisions(t) {
		if d.Kind != audit.KindDecision {
			continue
		}
		if named++; d.Name != "test 1" {
			t.Errorf("%s", d.Raw)
		}
	}
	if named < 5 {
		t.Errorf("%d decisions", named)
	}
}
