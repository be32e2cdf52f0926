package hub

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"mcphub/children/spec"
	"mcphub/e2e/bounds"
	"mcphub/e2e/childtest"
	"mcphub/hub/telemetry"
	"mcphub/internal/principal"
	"mcphub/validate/policy"
)

// noKid denies one person all of the server kid.
func noKid(name string) policy.Policy {
	return policy.Policy{Rules: []policy.Rule{{Name: "not for " + name, Then: policy.Deny, People: policy.People{Principals: []string{name}}, Servers: []string{"kid"}}}}
}

// instancesOf counts a server's, be they running or only about to when they are called.
func instancesOf(h *Hub, child string) (n int) {
	for _, st := range h.sup.Status() {
		if st.Child == child {
			n++
		}
	}
	return n
}

// TestNothingIsStartedForWhomItIsDenied: a server of which the rules deny everything to someone is not started for them, however it is
// shared and although it is remembered what it offers, and they are told nothing about what it says. Control: someone else, whom the
// rules let. A reload that allows it starts it, and one that denies it ends what it was for them, and both are told.
func TestNothingIsStartedForWhomItIsDenied(t *testing.T) {
	for _, share := range []spec.Share{spec.ShareSession, spec.ShareRoots, spec.ShareAll} {
		t.Run(share.String(), func(t *testing.T) {
			cfg := testConfig(t, played("kid", share, childtest.Script{Asks: true, Library: true}), played("other", spec.ShareSession, childtest.Script{}))
			cfg.Launcher = childtest.Pipes{}
			cfg.Inspect, cfg.Cache, cfg.AllowWithoutRoots = true, t.TempDir(), true // this is about rules
			denied := under(t, cfg, noKid("bob"))
			h := runHub(t, denied)
			want := map[spec.Share][2]int{spec.ShareSession: {2, 4}, spec.ShareRoots: {1, 2}, spec.ShareAll: {1, 1}}[share] // of two sessions each, denied to one principal, and allowed
			enter := func(name string) (c *testClient, said string) {
				c = openAs(t, h, principal.Principal{Name: name})
				said = c.raw("initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}`)
				if err := c.conn.Notify(t.Context(), "notifications/initialized"); err != nil {
					t.Fatal(err)
				}
				c.raw("tools/list", `{}`)
				return c, said
			}
			bob, said := enter("bob")
			if instancesOf(h, "kid") != 0 || bob.listed("kid__echo") {
				t.Errorf("it runs for nobody but whom it is denied: %+v", h.sup.Status())
			}
			alice, _ := enter("alice")
			if instancesOf(h, "kid") != 1 || !alice.listed("kid__echo") { // the control
				t.Errorf("it does not run for somebody else: %+v", h.sup.Status())
			}
			_, again := enter("alice")
			bob2, said2 := enter("bob")
			if !strings.Contains(again, "## kid") || strings.Contains(said+said2, "## kid") || strings.Contains(said+said2, "Be kind.\\n\\n## kid") {
				t.Errorf("its instructions are given so: to alice %s, to bob %s", again, said2)
			}
			if n := instancesOf(h, "kid"); n != want[0] {
				t.Errorf("%d instances for two sessions, those aside for whom it is denied", n)
			}
			// What it says goes to others alone.
			if share == spec.ShareSession { // what several share is no one's
				drain(alice.notes)
				alice.raw("tools/call", say("kid", "notifications/message", `{"level":"error","data":"x"}`, 1))
				awaitNotes(t, alice, "notifications/message")
			}
			if n := instancesOf(h, "kid"); n != want[0] {
				t.Errorf("%d instances after all that", n)
			}

			drain(bob.notes)
			apply(t, h, cfg)
			awaitNotes(t, bob, listChanged)
			if _, bad := bob.callText("kid__echo", `{}`); bad || !bob.listed("kid__echo") || !bob2.listed("kid__echo") {
				t.Error("it is not called after a reload that allows it")
			}
			if n := instancesOf(h, "kid"); n != want[1] {
				t.Errorf("%d instances for four sessions", n)
			}
			drain(bob.notes)
			apply(t, h, denied)
			awaitNotes(t, bob, listChanged)
			if bob.listed("kid__echo") || !alice.listed("kid__echo") {
				t.Error("it is listed after a reload that denies it")
			}
			for _, c := range []*testClient{bob, bob2} {
				if msg, bad := c.callText("kid__echo", `{}`); !bad || !strings.Contains(msg, "not for bob") {
					t.Errorf("after a reload: %s", msg)
				}
			}
			if share == spec.ShareSession { // what is shared rests until it is idle for long
				awaitInstances(t, h, "kid", want[0])
			}
			// Denied and allowed again, before anything has moved.
			for range 20 {
				apply(t, h, cfg)
				apply(t, h, denied)
			}
			apply(t, h, cfg)
			if _, bad := bob.callText("kid__echo", `{}`); bad || !bob.listed("kid__echo") {
				t.Error("it is gone after many reloads, of which the last allows it")
			}
		})
	}
}

// What someone calls at a server that is denied to him is a name that he made up: it labels nothing, and reaches the log not at all. Control:
// a tool that the server lists.
func TestMadeUpNamesOfADeniedServer(t *testing.T) {
	var log lockedBuffer
	cfg := testConfig(t, played("kid", spec.ShareSession, childtest.Script{Library: true}), played("other", spec.ShareSession, childtest.Script{}))
	cfg.Launcher = childtest.Pipes{}
	cfg.Telemetry, cfg.AllowWithoutRoots, cfg.Log = telemetry.New(telemetry.Options{}), true, zerolog.New(&log)
	h := runHub(t, under(t, cfg, noKid("bob")))
	bob, alice := openAs(t, h, principal.Principal{Name: "bob"}), openAs(t, h, principal.Principal{Name: "alice"})
	for _, c := range []*testClient{bob, alice} {
		c.raw("initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}`)
		if err := c.conn.Notify(t.Context(), "notifications/initialized"); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 200 {
		made := fmt.Sprintf("madeup%d%s", n, strings.Repeat("x", 1<<12))
		for _, call := range []string{toolCall("kid__"+made, `{}`), toolCall("call-tool", `{"serverName":"kid","toolName":"`+made+`"}`)} {
			if msg, bad := text(bob.raw("tools/call", call)); !bad || !strings.Contains(msg, "not for bob") {
				t.Fatalf("%s", msg)
			}
		}
		if got := bob.refused("prompts/get", `{"name":"kid__`+made+`"}`); !strings.Contains(got.Message, "not for bob") {
			t.Fatalf("%s", got.Message)
		}
	}
	if _, bad := alice.callText("kid__echo", `{}`); bad {
		t.Fatal("the control is not called")
	}
	if p := page(&cfg); strings.Contains(p, "madeup") || !strings.Contains(p, `gen_ai_tool_name="echo"`) || !strings.Contains(p, `"not for bob"`) {
		t.Errorf("%.4000s", p)
	}
	if strings.Contains(log.String(), "madeup") || !strings.Contains(log.String(), "call denied") {
		t.Errorf("the log: %.4000s", log.String())
	}
}

// awaitInstances waits until there are so many instances of a server.
func awaitInstances(t *testing.T, h *Hub, child string, want int) {
	t.Helper()
	if !bounds.Within(bounds.Patience, func() bool { return instancesOf(h, child) == want }) {
		t.Fatalf("%d instances, want %d: %+v", instancesOf(h, child), want, h.sup.Status())
	}
}

// A call that waits for the roots of its client is refused by the rule of a reload that denies the server meanwhile. Control:
// without the reload it is served.
func TestACallThatMeetsADenyingReload(t *testing.T) {
	for _, denies := range []bool{true, false} {
		play(t, []spec.Spec{played("kid", spec.ShareRoots, childtest.Script{})}, func(t *testing.T, h *Hub, _ *stage) {
			first, _ := enter(t, h, t.TempDir())
			first.handshake(declared)
			first.raw("tools/list", `{}`) // it is known
			c, _ := enter(t, h)
			c.roots = nil // it is asked, and does not answer
			c.handshake(declared)
			answer := make(chan string, 1)
			go func() {
				msg, bad := text(c.raw("tools/call", toolCall("kid__echo", `{}`)))
				answer <- fmt.Sprint(bad, " ", msg)
			}()
			time.Sleep(time.Second)
			synctest.Wait()
			if len(answer) > 0 {
				t.Fatal("it does not wait: ", <-answer)
			}
			if denies {
				cfg := testConfig(t, played("kid", spec.ShareRoots, childtest.Script{}))
				cfg.Launcher = h.currentConfiguration().Launcher
				apply(t, h, under(t, cfg, policy.Policy{Rules: []policy.Rule{{Name: "none", Then: policy.Deny, Servers: []string{"kid"}}}}))
			}
			if got := <-answer; strings.HasPrefix(got, "true") != denies || strings.Contains(got, `the rule "none"`) != denies {
				t.Errorf("denied %t: %s", denies, got)
			}
		})
	}
}
