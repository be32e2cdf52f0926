package hub

import (
	"context"
	"errors"
	"testing"

	"mcphub/e2e/childtest"
	"mcphub/hub/configuration"
	"mcphub/validate/policy"
)

// TestServedByThePolicyInForce: a call that is judged by another policy waits until
// the children have been given the directories of that one.
func TestServedByThePolicyInForce(t *testing.T) {
	d := places(t, "project", "docs")
	cfg := testConfig(t, scripted("kid", childtest.Script{AskRoots: true}))
	h := runHub(t, under(t, cfg, policy.Policy{}))
	c := connect(t, h, d["project"])
	c.handshake(declared)
	c.callText("kid__roots", `{"path":"`+d["project"]+`/x"}`)
	var s *Session
	for _, s = range h.sessions.Sessions() {
	}
	endedContext, cancel := context.WithCancel(t.Context())
	cancel()
	given := func() error {
		return s.assignedSession.AwaitServed(endedContext, s.roots.RootsView(), cfg.Roots.Timeout)
	}
	if err := given(); err != nil {
		t.Fatalf("what was served already is waited for: %v", err)
	}

	// A reload that has come as far as the sessions, and no further.
	old := h.currentConfiguration()
	conf, err := configuration.New(under(t, cfg, policy.Policy{Rules: []policy.Rule{
		{Name: "docs", Then: policy.Allow, Paths: &policy.PathRule{Within: d["docs"]}},
	}}), h.ownTools, old)
	if err != nil {
		t.Fatal(err)
	}
	h.sessions.Replace(map[*configuration.Current]*configuration.Configuration{&h.current: conf})
	if err := given(); !errors.Is(err, context.Canceled) {
		t.Errorf("a call does not wait for the directories of the policy that it is judged by: %v", err)
	}
	h.sup.ApplySpecs(conf.Specs())
	conf.MarkFollowed(old)
	if err := s.assignedSession.AwaitServed(t.Context(), s.roots.RootsView(), cfg.Roots.Timeout); err != nil {
		t.Fatal(err)
	}
	if n := len(s.assignedSession.RootsFor(conf, conf.Child("kid"), s.roots.RootsView())); n != 2 {
		t.Fatalf("%d roots, want 2", n)
	}
	if err := given(); err != nil {
		t.Errorf("still waited for: %v", err)
	}
}
