package hub

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// evil is every kind of thing that is cleaned away, as JSON may write it.
const evil = `\u001b[31m\u202e\u2066\udb40\udc41` + "\u202d\U000e0041"

// What a child says about itself reaches client and operator clean, and what
// it answers reaches the client as it is.
func TestWhatChildrenWriteIsClean(t *testing.T) {
	hidden := strings.ReplaceAll(`{"name":"echo","title":"Echo~","description":"says it~ again","inputSchema":{"type":"object","properties":{"text":{"type":"string","description":"what~ to say"}}},"annotations":{"title":"E~"}}`, "~", evil)
	p := newPast(t, hidden)
	c, end := p.client()
	defer end()
	list, servers := c.raw("tools/list", `{}`), c.raw("tools/call", toolCall("list-tools", `{}`))
	var decoded, report any
	if json.Unmarshal([]byte(list), &decoded) != nil || json.Unmarshal([]byte(servers), &report) != nil {
		t.Fatal(list, servers)
	}
	for what, v := range map[string]any{"tools/list": decoded, "list-tools": report} {
		if text := fmt.Sprint(v); strings.ContainsAny(text, "\x1b\u202e\u2066\u202d\U000e0041") || !strings.Contains(text, "says it again") {
			t.Errorf("%s: %q", what, text)
		}
	}
	if !strings.Contains(list, `"description":"what to say"`) || !strings.Contains(list, `"title":"Echo"`) || !strings.Contains(list, `"annotations":{"title":"E"}`) {
		t.Error(list)
	}
	if got := c.raw("tools/call", toolCall("kid__echo", `{"text":"`+evil+`"}`)); !strings.Contains(got, evil) {
		t.Errorf("the control: a result was changed: %q", got)
	}
}
