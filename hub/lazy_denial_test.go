package hub

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mcphub/children/childtest"
	"mcphub/children/spec"
)

// TestDenialStartsNothing: what is denied whatever the child does is denied without
// it; what may be allowed starts it.
func TestDenialStartsNothing(t *testing.T) {
	const pathTool = `{"name":"echo","inputSchema":{"type":"object","properties":{"path":{"type":"string"}}}}`
	root := t.TempDir()
	p := newPast(t, pathTool)
	p.spec = scripted("kid", childtest.Script{Defs: p.defs, Library: true})
	enter := func() *testClient {
		c := connect(t, runHub(t, p.config(p.spec)), root)
		c.handshake(`{"roots":{}}`)
		c.raw("tools/list", `{}`)
		return c
	}
	first, end := p.clientWith(`{"roots":{}}`, root) // nothing is known yet of one with a library
	first.raw("prompts/list", `{}`)
	end()
	c := enter()
	for _, outside := range []string{"/etc/passwd", "../x", root + "/../x"} {
		if msg, denied := text(c.raw("tools/call", toolCall("kid__echo", `{"path":"`+outside+`"}`))); !denied || !strings.Contains(msg, "Access denied") {
			t.Errorf("%s: %s", outside, msg)
		}
	}
	if e := c.refused("prompts/get", `{"name":"kid__greet","arguments":{"path":"/etc/passwd"}}`); !strings.Contains(e.Message, "Access denied") {
		t.Errorf("prompts/get: %v", e)
	}
	if got := c.raw(MethodExplain, toolCall("kid__echo", `{"path":"../x"}`)); !strings.Contains(got, `"decision":"deny"`) || !strings.Contains(got, filepath.Dir(root)) {
		t.Errorf("explain: %s", got)
	}
	if got := c.state(t); got != "cold" {
		t.Errorf("after denials the child is %s", got)
	}
	for _, inside := range []string{"x", root + "/x"} { // control: relative to where it would work, and does
		if msg, denied := text(c.raw("tools/call", toolCall("kid__echo", `{"path":"`+inside+`"}`))); denied {
			t.Errorf("%s: %s", inside, msg)
		}
	}
	for c.state(t) != "ready" { // it is, and is about to be told
	}
}

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
