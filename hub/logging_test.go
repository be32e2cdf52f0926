package hub

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcphub/children/spec"
	"mcphub/e2e/bounds"
	"mcphub/e2e/childtest"
	"mcphub/internal/jsonrpc"
)

// hearing collects what a client is told, in order.
func (c *testClient) hearing() (heard func() []string) {
	var all []string
	c.hears = func(m *jsonrpc.Message) {
		c.mu.Lock()
		defer c.mu.Unlock()
		all = append(all, m.Method+" "+string(m.Params))
	}
	return func() []string {
		synctest.Wait()
		c.mu.Lock()
		defer c.mu.Unlock()
		return append([]string(nil), all...)
	}
}

func say(child, method, params string, times int) string {
	return toolCall(child+"__say", fmt.Sprintf(`{"method":%q,"params":%s,"times":%d}`, method, params, times))
}

func count(all []string, prefix string) (n int) {
	for _, s := range all {
		if strings.HasPrefix(s, prefix) {
			n++
		}
	}
	return n
}

func TestLogLevelIsTheSessionsOwn(t *testing.T) {
	specs := []spec.Spec{played("kid", spec.ShareSession, childtest.Script{Asks: true}), played("late", spec.ShareSession, childtest.Script{Asks: true, StartDelay: 1e9})}
	play(t, specs, func(t *testing.T, h *Hub, _ *stage) {
		a, _ := enter(t, h)
		b, _ := enter(t, h)
		heardA, heardB := a.hearing(), b.hearing()
		a.handshake(`{}`)
		b.handshake(`{}`)
		a.noticed("kid", "")
		a.raw("logging/setLevel", `{"level":"warning"}`)
		for _, c := range []*testClient{a, b} {
			for _, level := range []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"} {
				c.raw("tools/call", say("kid", "notifications/message", fmt.Sprintf(`{"level":%q,"data":{"n":1.0}}`, level), 1))
			}
		}
		if got := heardA(); count(got, "notifications/message") != 5 || !strings.HasSuffix(got[0], `{"level":"warning","data":{"n":1.0}}`) {
			t.Errorf("a session at level warning heard %q", got)
		}
		if got := heardB(); count(got, "notifications/message") != 8 { // the control
			t.Errorf("a session without a level heard %q", got)
		}
		for child, want := range map[string]int{"kid": 1, "late": 1} {
			if got := a.noticed(child, "logging/setLevel"); len(got) != want || got[0] != `{"level":"warning"}` {
				t.Errorf("%s was told %q", child, got)
			}
			if got := b.noticed(child, "logging/setLevel"); len(got) != 0 {
				t.Errorf("%s of the other session was told %q", child, got)
			}
		}
		if e := a.refused("logging/setLevel", `{"level":"loud"}`); e.Code != jsonrpc.CodeInvalidParams {
			t.Errorf("an unknown level: %v", e)
		}
	})
}

// TestALevelBeforeTheFirstCall: a child is told the level that a session set before it called the child, also if others began the child.
func TestALevelBeforeTheFirstCall(t *testing.T) {
	for _, share := range []spec.Share{spec.ShareSession, spec.ShareRoots, spec.ShareAll} {
		for _, begun := range []bool{false, true} {
			play(t, []spec.Spec{played("kid", share, childtest.Script{Asks: true})}, func(t *testing.T, h *Hub, _ *stage) {
				dir := t.TempDir()
				session := func() *testClient {
					c, _ := enter(t, h, dir)
					c.handshake(`{"roots":{"listChanged":true}}`)
					return c
				}
				if begun {
					if got := session().noticed("kid", "logging/setLevel"); len(got) != 0 {
						t.Errorf("the control was told %q", got)
					}
				}
				a := session()
				a.raw("logging/setLevel", `{"level":"debug"}`)
				synctest.Wait()
				if got := a.noticed("kid", "logging/setLevel"); len(got) != 1 || got[0] != `{"level":"debug"}` {
					t.Errorf("share %v, begun by another %v: the child was told %q", share, begun, got)
				}
			})
		}
	}
}

// TestWhatASharedChildSaysIsNobodys: unless one session alone is served.
func TestWhatASharedChildSaysIsNobodys(t *testing.T) {
	play(t, []spec.Spec{played("all", spec.ShareAll, childtest.Script{Asks: true})}, func(t *testing.T, h *Hub, _ *stage) {
		a, _ := enter(t, h)
		heardA := a.hearing()
		a.handshake(`{}`)
		a.raw("tools/call", say("all", "notifications/message", `{"level":"info","data":"alone"}`, 1))
		b, leave := enter(t, h)
		heardB := b.hearing()
		b.handshake(`{}`)
		b.noticed("all", "")
		a.raw("logging/setLevel", `{"level":"error"}`)
		b.raw("logging/setLevel", `{"level":"debug"}`)
		if got := a.noticed("all", "logging/setLevel"); len(got) != 2 || got[1] != `{"level":"debug"}` {
			t.Errorf("the shared child was told %q", got)
		}
		for _, method := range []string{"notifications/message", "notifications/elicitation/complete", "notifications/odd"} {
			a.raw("tools/call", say("all", method, `{"level":"emergency","data":"shared"}`, 1))
		}
		if got := append(heardA(), heardB()...); len(got) != 1 || !strings.Contains(got[0], "alone") {
			t.Errorf("heard %q", got)
		}
		leave()
		a.raw("tools/call", say("all", "notifications/message", `{"level":"error","data":"alone"}`, 1))
		if got := heardA(); len(got) != 2 {
			t.Errorf("alone again, heard %q", got)
		}
	})
}

func TestWhatAChildSaysBesideReachesItsOwnClient(t *testing.T) {
	play(t, []spec.Spec{played("kid", spec.ShareSession, childtest.Script{Asks: true})}, func(t *testing.T, h *Hub, _ *stage) {
		a, _ := enter(t, h)
		b, _ := enter(t, h)
		heardA, heardB := a.hearing(), b.hearing()
		a.handshake(everything)
		b.handshake(everything)
		b.noticed("kid", "")
		for _, method := range []string{"notifications/elicitation/complete", "notifications/odd"} {
			a.raw("tools/call", say("kid", method, `{"elicitationId":"e","z":1.0}`, 1))
			if got := heardA(); got[len(got)-1] != method+` {"elicitationId":"e","z":1.0}` {
				t.Errorf("heard %q", got)
			}
		}
		// What a client would take for the hub's own.
		for _, method := range []string{"notifications/cancelled", "notifications/initialized", "notifications/roots/list_changed"} {
			a.raw("tools/call", say("kid", method, `{"requestId":1}`, 1))
		}
		if got := heardA(); len(got) != 2 {
			t.Errorf("heard %q", got)
		}
		if got := heardB(); len(got) != 0 {
			t.Errorf("another session heard %q", got)
		}
	})
}

// TestAFloodLosesNothingThatMatters: a client that does not read for a while
// gets the progress and the changed list that came in a flood of log messages.
func TestAFloodLosesNothingThatMatters(t *testing.T) {
	play(t, []spec.Spec{played("kid", spec.ShareSession, childtest.Script{Asks: true})}, func(t *testing.T, h *Hub, _ *stage) {
		c, _ := enter(t, h)
		stuck := make(chan struct{})
		var messages, progress []string
		changed := 0
		c.hears = func(m *jsonrpc.Message) {
			<-stuck
			switch m.Method {
			case "notifications/message":
				messages = append(messages, string(m.Params))
			case "notifications/progress":
				progress = append(progress, string(m.Params))
			case "notifications/tools/list_changed":
				changed++
			}
		}
		c.handshake(`{}`)
		c.raw("tools/list", `{}`)
		c.noticed("kid", "")
		big := strings.Repeat("x", 4<<10)
		answered := make(chan string, 2)
		do := func(params string) {
			resp, err := c.conn.Call(context.Background(), "tools/call", []byte(params))
			if err != nil || resp.Err() != nil {
				t.Errorf("%v %v", err, resp)
			}
			answered <- params
		}
		go do(say("kid", "notifications/message", fmt.Sprintf(`{"level":"info","data":["#",%q]}`, big), 15_000))
		synctest.Wait()
		go func() {
			do(toolCall("kid__change", `{"name":"news"}`))
			do(`{"name":"kid__progress","arguments":{"Steps":2000},"_meta":{"progressToken":"p"}}`)
		}()
		time.Sleep(time.Second) // of the bubble: changes are told together
		close(stuck)
		for range 3 {
			<-answered
		}
		synctest.Wait()
		if changed != 1 {
			t.Errorf("the changed list was told %d times", changed)
		}
		if len(progress) != 2000 || !strings.Contains(progress[1999], `"progress":1999`) {
			t.Errorf("%d progress notifications, of 2000", len(progress))
		}
		var s *Session
		for _, s = range h.sessions.Sessions() {
		}
		muted := h.Status().Children[0].Muted // beyond what a server may say at a time
		if lost := s.dropped.Load(); lost == 0 || muted == 0 || len(messages)+int(lost+muted) != 15_000 {
			t.Errorf("%d messages came, %d were counted as dropped and %d as too many", len(messages), lost, muted)
		}
	})
}

// What it takes to say which log messages a session wants does not depend on how many sessions share
// its server: what is looked at is counted. The most verbose of all counts, and no longer than its session.
func TestLevelOfShared(t *testing.T) {
	kid := scripted("kid", childtest.Script{})
	kid.Share = spec.ShareAll
	h := newTestHub(t, kid)
	w := serveWeb(t, h, HTTPOptions{})
	key := spec.Key{Child: "kid"}
	open := func(level string) *webClient {
		c := w.initialize(`{}`).initialized()
		body(t, c.request("tools/call", toolCall("kid__echo", `{"a":1}`)))
		body(t, c.request("logging/setLevel", fmt.Sprintf(`{"level":%q}`, level)))
		return c
	}
	for range 40 {
		open("error")
	}
	loud := open("debug")
	if n := h.sessions.SessionCount(key); n != 41 {
		t.Fatalf("%d sessions share it", n)
	}
	if looked := h.sessions.Levels(key); len(looked) != 2 || h.logLevelOf(key) != "debug" {
		t.Errorf("%s, of %v", h.logLevelOf(key), looked)
	}
	body(t, loud.request("logging/setLevel", `{"level":"info"}`))
	if got := h.logLevelOf(key); got != "info" {
		t.Errorf("after another wish: %s", got)
	}
	w.do("DELETE", "", headerSession, loud.session)
	if !bounds.Within(bounds.Patience, func() bool { return h.sessions.SessionCount(key) == 40 }) { // it ends after the answer
		t.Fatal("the session does not end")
	}
	if got := h.logLevelOf(key); got != "error" {
		t.Errorf("after its end: %s", got)
	}
}
