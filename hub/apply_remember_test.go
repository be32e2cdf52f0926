package hub

import (
	"strings"
	"testing"

	"mcphub/children"
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
	if msg, bad := text(c.raw("tools/call", call("new__echo", `{"mode":"wild"}`))); bad {
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
	if msg, bad := text(c.raw("tools/call", call("kid__roots", `{}`))); bad {
		t.Errorf("what the new one offers: %s", msg)
	}
	if got := c.refused("tools/call", call("kid__echo", `{"mode":"wild"}`)); !strings.Contains(got.Message, "unknown tool") {
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
	if now := instances(c.hub); now[children.Cold] == 0 || now[children.Ready] != 0 {
		t.Errorf("the entry of before is not recalled: %v", c.hub.sup.Status())
	}
	if msg, bad := text(c.raw("tools/call", call("kid__echo", `{"mode":"wild"}`))); !bad {
		t.Errorf("judged by what is remembered: %s", msg)
	}
	if msg, bad := text(c.raw("tools/call", call("kid__echo", `{"mode":"safe"}`))); bad {
		t.Error(msg)
	}
}
