package hub

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"mcphub/children/spec"
	"mcphub/e2e/childtest"
	"mcphub/hub/handshake"
	"mcphub/hub/modern"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
)

// twoEras is a child that has both eras, each on a connection of its own, as
// servers of the official SDKs do.
var twoEras = childtest.Script{Era: "dual", Locks: true, Asks: true, Library: true}

// erasOf returns the instances of a child that run, by era: how many.
func erasOf(h *Hub, child string) map[string]int {
	n := map[string]int{}
	for _, c := range h.Status().Children {
		if c.Server == child && c.State == "ready" {
			n[c.Era]++
		}
	}
	return n
}

// What a child of both eras asks its client reaches a client of either, each in
// its own era: pushed while the call is under way, or as the result of the call.
func TestAChildOfBothErasIsSpokenToInThatOfItsClient(t *testing.T) {
	play(t, []spec.Spec{played("kid", spec.ShareSession, twoEras)}, func(t *testing.T, h *Hub, _ *stage) {
		c, _ := enter(t, h, t.TempDir())
		c.asks = func(_ context.Context, _ *testClient, m *jsonrpc.Message) jsonrpc.Answer {
			if m.Method == methods.ListRoots {
				return jsonrpc.ResultAnswer([]byte(`{"roots":[]}`))
			}
			return jsonrpc.ResultAnswer([]byte(accepted))
		}
		c.handshake(everything)
		if got := answerOf(c.raw("tools/call", asking("kid", methods.Elicit, someForm))); got != accepted {
			t.Errorf("the child was answered %s", got)
		}
		m, _ := enterModern(t, h, `{"elicitation":{}}`)
		if a := m.mustAsk("tools/call", toolCall("kid__input", `{"ask":{"who":{"method":"elicitation/create","params":`+strings.Replace(someForm, `,"_meta":{"progressToken":7}`, "", 1)+`}}}`)); a.methods["who"] != methods.Elicit {
			t.Errorf("asked %+v", a)
		}
		if got := erasOf(h, "kid"); got[handshake.Era] != 1 || got[modern.Era] != 1 || len(got) != 2 {
			t.Errorf("instances: %v", got)
		}
	})
}

// A client that asks server/discover first, and then goes on with the handshake,
// is one of the handshake; and what comes later in the other era is served where
// the session's child is.
func TestTheFirstRequestThatNeedsAChildDecides(t *testing.T) {
	play(t, []spec.Spec{played("kid", spec.ShareSession, twoEras)}, func(t *testing.T, h *Hub, s *stage) {
		c, _ := enterModern(t, h, `{}`)
		c.raw(methods.Discover, `{}`)
		synctest.Wait()
		if n, _ := s.count("kid"); n != 0 {
			t.Errorf("server/discover has started %d children", n)
		}
		c.testClient.handshake(`{}`)
		if msg, bad := text(c.testClient.raw("tools/call", toolCall("kid__echo", `{"a":1}`))); bad {
			t.Error(msg)
		}
		c.raw("tools/call", toolCall("kid__echo", `{"a":1}`))
		if got := erasOf(h, "kid"); got[handshake.Era] != 1 || len(got) != 1 {
			t.Errorf("instances: %v", got)
		}
		other, _ := enterModern(t, h, `{}`)
		other.raw(methods.Discover, `{}`)
		other.raw("tools/call", toolCall("kid__echo", `{"a":1}`))
		if got := erasOf(h, "kid"); got[modern.Era] != 1 {
			t.Errorf("instances: %v", got)
		}
	})
}

// However it is shared, a child of both eras has one instance for each, and one
// that has a single era one for all; "era" in the entry says which it is to be.
func TestErasOfASharedChild(t *testing.T) {
	for _, test := range []struct {
		script childtest.Script
		era    spec.Era
		want   map[string]int
	}{
		{twoEras, spec.EraAuto, map[string]int{handshake.Era: 1, modern.Era: 1}},
		{twoEras, spec.EraLegacy, map[string]int{handshake.Era: 1}},
		{twoEras, spec.EraModern, map[string]int{modern.Era: 1}},
		{childtest.Script{Asks: true}, spec.EraAuto, map[string]int{handshake.Era: 1}},
		{childtest.Script{Era: "modern", Asks: true}, spec.EraAuto, map[string]int{modern.Era: 1}},
	} {
		for _, share := range []spec.Share{spec.ShareAll, spec.ShareRoots} {
			for _, first := range []string{handshake.Era, modern.Era} {
				t.Run(fmt.Sprintf("%q %s, %s, %s client first", test.script.Era, test.era, share, first), func(t *testing.T) {
					child := played("kid", share, test.script)
					child.Era = test.era
					play(t, []spec.Spec{child}, func(t *testing.T, h *Hub, s *stage) {
						enters := map[string]func(){
							handshake.Era: func() {
								for range 2 {
									c, _ := enter(t, h)
									c.handshake(`{}`)
									if msg, bad := text(c.raw("tools/call", toolCall("kid__echo", `{"a":1}`))); bad {
										t.Error(msg)
									}
								}
							},
							modern.Era: func() {
								for range 2 {
									c, _ := enterModern(t, h, `{}`)
									if msg, bad := text(c.raw("tools/call", toolCall("kid__echo", `{"a":1}`))); bad {
										t.Error(msg)
									}
								}
							},
						}
						enters[first]()
						delete(enters, first)
						for _, next := range enters {
							next()
						}
						synctest.Wait()
						got := erasOf(h, "kid")
						if len(got) != len(test.want) || got[handshake.Era] != test.want[handshake.Era] || got[modern.Era] != test.want[modern.Era] {
							t.Errorf("instances: %v, want %v: %+v", got, test.want, h.sup.Status())
						}
						if _, live := s.count("kid"); live != len(test.want) {
							t.Errorf("%d processes", live)
						}
					})
				})
			}
		}
	}
}

// A reload that fixes the era moves the sessions to an instance of that era.
func TestReloadChangesTheEra(t *testing.T) {
	child := played("kid", spec.ShareAll, twoEras)
	play(t, []spec.Spec{child}, func(t *testing.T, h *Hub, s *stage) {
		m, _ := enterModern(t, h, `{}`)
		m.raw("tools/call", toolCall("kid__echo", `{"a":1}`))
		c, _ := enter(t, h)
		c.handshake(`{}`)
		c.raw("tools/call", toolCall("kid__echo", `{"a":1}`))
		child.Era = spec.EraLegacy
		cfg := testConfig(t, child)
		cfg.Launcher = s
		apply(t, h, cfg)
		m.raw("tools/call", toolCall("kid__echo", `{"a":1}`))
		c.raw("tools/call", toolCall("kid__echo", `{"a":1}`))
		synctest.Wait()
		if got := erasOf(h, "kid"); got[handshake.Era] != 1 || len(got) != 1 {
			t.Errorf("instances: %v", got)
		}
	})
}
