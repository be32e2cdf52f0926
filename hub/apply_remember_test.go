package hub

import (
	"strings"
	"testing"

	"mcphub/children"
	"mcphub/e2e/childtest"
)

// instances returns the serial of each instance, by its state.
func instances(h *Hub) map[children.State]uint64 {
	out := map[children.State]uint64{}
	for _, st := range h.sup.Status() {
		out[st.State] = st.Serial
	}
	return out
}

// TestColdThroughAReload: a child that waits for its first call goes on waiting where its entry is as before, and what is
// remembered of it is listed and judged by the new generation.
func TestColdThroughAReload(t *testing.T) {
	p := newPast(t, wideTool)
	c, end := p.client()
	defer end()
	c.raw("tools/list", `{}`)
	before := instances(c.hub)
	if before[children.Cold] == 0 {
		t.Fatalf("not cold: %v", before)
	}
	next := p.config(p.spec)
	next.Children[0].Prefix = "new__"
	apply(t, c.hub, next)
	if list := c.raw("tools/list", `{}`); !strings.Contains(list, `"new__echo"`) || strings.Contains(list, "kid__echo") {
		t.Error(list)
	}
	if now := instances(c.hub); now[children.Cold] != before[children.Cold] || len(now) != 1 {
		t.Errorf("%v, before %v", now, before)
	}
	if msg, bad := text(c.raw("tools/call", toolCall("new__echo", `{"mode":"wild"}`))); bad {
		t.Error(msg)
	}
}

// TestWhatIsRememberedOfAChangedChild: the definitions of the former entry are no longer called; those of an entry that
// was there before are recalled, and the running child has the last word on them.
func TestWhatIsRememberedOfAChangedChild(t *testing.T) {
	p := newPast(t, wideTool)
	c, end := p.client()
	defer end()
	if !c.listed("kid__echo") {
		t.Fatal("what is remembered is not listed")
	}

	p.define(otherTool)
	apply(t, c.hub, p.config(other(p.spec, "x")))
	if msg, bad := text(c.raw("tools/call", toolCall("kid__roots", `{}`))); bad {
		t.Errorf("what the new one offers: %s", msg)
	}
	if got := c.refused("tools/call", toolCall("kid__echo", `{"mode":"wild"}`)); !strings.Contains(got.Message, "Unknown tool") {
		t.Errorf("what the former one offered: %s", got.Message)
	}
	if c.listed("kid__echo") {
		t.Error("what the former one offered is listed")
	}

	p.define(narrowTool)
	apply(t, c.hub, p.config(p.spec))
	for !c.listed("kid__echo") {
		c.awaitNote(listChanged)
	}
	if now := instances(c.hub); now[children.Cold] <= now[children.Ready] { // the former one may still be ending
		t.Errorf("the entry of before is not recalled: %v", c.hub.sup.Status())
	}
	if msg, bad := text(c.raw("tools/call", toolCall("kid__echo", `{"mode":"wild"}`))); !bad {
		t.Errorf("judged by what is remembered: %s", msg)
	}
	if msg, bad := text(c.raw("tools/call", toolCall("kid__echo", `{"mode":"safe"}`))); bad {
		t.Error(msg)
	}
}

// TestSubscribedThroughAReload: what a client wants to hear of, it hears from the process that takes the place of another.
func TestSubscribedThroughAReload(t *testing.T) {
	const updated = "notifications/resources/updated" // the scripted child sends one for each subscription
	kid := scripted("kid", childtest.Script{Library: true})
	h := newTestHub(t, kid)
	c := connect(t, h)
	c.handshake(`{}`)
	c.raw("resources/subscribe", `{"uri":"note://1"}`)
	c.awaitNote(updated)
	apply(t, h, testConfig(t, other(kid, "x")))
	c.awaitNote(updated)
	for _, method := range []string{"prompts/get", "resources/read"} {
		if got := c.raw(method, map[string]string{"prompts/get": `{"name":"kid__greet"}`, "resources/read": `{"uri":"note://1"}`}[method]); got == "" {
			t.Errorf("%s: nothing", method)
		}
	}
	apply(t, h, testConfig(t))
	if e := c.refused("prompts/get", `{"name":"kid__greet"}`); !strings.Contains(e.Message, "no prompt") {
		t.Error(e.Message)
	}
	if e := c.refused("resources/read", `{"uri":"note://1"}`); !strings.Contains(e.Message, "not found") {
		t.Error(e.Message)
	}
}
