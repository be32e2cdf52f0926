package hub

import (
	"bytes"
	"testing"

	"mcphub/children/sandbox"
	"mcphub/children/spec"
	"mcphub/e2e/childtest"
	"mcphub/hub/audit"
	"mcphub/hub/audit/trail"
	"mcphub/internal/principal"
)

// TestWhoSharesByRootsHasTheSameRights: with the very same directories an instance serves only those about whom rules can say nothing
// different. Control: two sessions of one principal with the same groups share it.
func TestWhoSharesByRootsHasTheSameRights(t *testing.T) {
	h := runHub(t, testConfig(t, played("kid", spec.ShareRoots, childtest.Script{})))
	dev := principal.Principal{Name: "alice", Groups: []string{"dev"}}
	seen := map[string]string{}
	for i, tc := range []struct {
		who    principal.Principal
		shares bool
	}{
		{dev, false}, {dev, true}, {principal.Principal{Name: "alice", Groups: []string{"dev", "ops"}}, false}, {principal.Principal{Name: "alice"}, false},
		{principal.Principal{Name: "bob", Groups: []string{"dev"}}, false}, {principal.Principal{Name: "alice", Issuer: "https://login.example", Groups: []string{"dev"}}, false},
		{principal.User(), false}, {principal.User(), true}, {principal.Principal{}, false},
	} {
		c := connectAs(t, h, tc.who)
		if msg, bad := c.callText("kid__echo", `{}`); bad {
			t.Fatal(msg)
		}
		whose := ""
		for _, s := range h.sessions.Sessions() {
			key := s.assignedSession.Assignments().Key("kid").Instance
			if s.principal.RightsKey() == tc.who.RightsKey() {
				whose = key
			}
		}
		who, shares := seen[whose]
		if shares != tc.shares {
			t.Errorf("session %d, of %+v, shares an instance: %v, with %s", i, tc.who, shares, who)
		}
		seen[whose] = tc.who.RightsKey()
	}
}

// TestLinesOfTheKernelNameWhoseInstanceItIs: what the kernel has refused the process of one session is told with that session and its
// principal, that of one principal with the principal, and that of all with no one.
func TestLinesOfTheKernelNameWhoseInstanceItIs(t *testing.T) {
	dir := t.TempDir()
	to := audit.NewRecorder(audit.Options{Dir: dir}, nil)
	stop := runRecorder(t, to)
	cfg := testConfig(t, played("own", spec.ShareSession, childtest.Script{}), played("roots", spec.ShareRoots, childtest.Script{}), played("all", spec.ShareAll, childtest.Script{}))
	cfg.Audit.Recorder = to
	h := runHub(t, cfg)
	w := serveWeb(t, h, HTTPOptions{Tokens: []Token{{Name: "alice", Secret: "a"}}})
	c := w.initialize(`{}`, "Authorization", "Bearer a").initialized()
	for _, child := range []string{"own", "roots", "all"} {
		c.frames(c.request("tools/call", toolCall(child+"__echo", `{}`)), nil)
	}
	s := h.sessions.Sessions()[0]
	for _, child := range []string{"own", "roots", "all"} {
		h.recordKernelRefusal(s.assignedSession.Assignments().Key(child), sandbox.Refusal{Path: "/etc/" + child}, nil)
	}
	stop()
	all, err := trail.Decisions(dir, trail.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, d := range all {
		for child, want := range map[string][]string{"own": {`"session":"` + s.id + `"`, `"principal":"alice"`}, "roots": {`"principal":"alice"`}, "all": nil} {
			if !bytes.Contains(d.Raw, []byte("/etc/"+child)) {
				continue
			}
			got[child] = true
			for _, part := range want {
				if !bytes.Contains(d.Raw, []byte(part)) {
					t.Errorf("%s: no %s in %s", child, part, d.Raw)
				}
			}
			if len(want) < 2 && bytes.Contains(d.Raw, []byte(s.id)) || want == nil && bytes.Contains(d.Raw, []byte("alice")) {
				t.Errorf("%s: %s", child, d.Raw)
			}
		}
	}
	if len(got) != 3 {
		t.Errorf("lines of %v alone", got)
	}
}
