package hub

import (
	"strings"
	"testing"

	"mcphub/e2e/childtest"
	"mcphub/hub/telemetry"
)

// TestLimitsAreOnThePage: how much there may be of sessions and servers, and how much there is: of all, and of the principal that has most.
func TestLimitsAreOnThePage(t *testing.T) {
	cfg := testConfig(t, scripted("kid", childtest.Script{}))
	cfg.Limits.Children, cfg.Limits.PrincipalChildren = 9, 5
	cfg.Telemetry = telemetry.New(telemetry.Options{})
	h := runHub(t, cfg)
	wants := func(want ...string) {
		t.Helper()
		got := page(&cfg)
		for _, l := range want {
			if there := strings.Contains(got, "\n"+strings.TrimPrefix(l, "no ")); there == strings.HasPrefix(l, "no ") {
				t.Errorf("%s on\n%s", l, got)
			}
		}
	}
	wants("no mcphub_limit_sessions ", "mcphub_limit_children 9\n", "mcphub_limit_children_used 0\n")
	w := serveWeb(t, h, HTTPOptions{Sessions: 8, Principal: PrincipalLimits{Sessions: 3}, Tokens: []Token{{Name: "alice", Secret: "a"}, {Name: "bob", Secret: "b"}}})
	for _, secret := range []string{"a", "b", "a"} {
		c := w.initialize(`{}`, "Authorization", "Bearer "+secret).initialized()
		c.frames(c.request("tools/call", toolCall("kid__echo", `{}`)), nil)
	}
	wants("mcphub_limit_sessions 8\n", "mcphub_limit_sessions_used 3\n", "mcphub_limit_principal_sessions 3\n", "mcphub_limit_principal_sessions_used 2\n",
		"mcphub_limit_children 9\n", "mcphub_limit_principal_children 5\n", "no mcphub_limit_children_used 0\n")
}
