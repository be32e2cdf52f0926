package hub

import (
	"fmt"
	"strings"
	"testing"

	"mcphub/children/spec"
	"mcphub/e2e/childtest"
	"mcphub/hub/modern"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
)

// What a modern child asks by its result goes to a modern client as it is, but
// for its requestState; none of it is held.
func TestModernChildAsksAModernClient(t *testing.T) {
	specs := []spec.Spec{played("kid", spec.ShareSession, childtest.Script{Era: "modern"})}
	play(t, specs, func(t *testing.T, h *Hub, _ *stage) {
		in, out := t.TempDir(), t.TempDir()
		c, _ := enterModern(t, h, `{"roots":{},"elicitation":{}}`, in)
		foreign, _ := enterModern(t, h, `{"roots":{},"elicitation":{}}`, in)
		ask := fmt.Sprintf(`{"who":{"method":"elicitation/create","params":%s},"r":{"method":"roots/list"}}`, strings.Replace(someForm, `,"_meta":{"progressToken":7}`, "", 1))
		params := toolCall("kid__input", `{"ask":`+ask+`,"state":"the child's own","rounds":2,"dir":"`+in+`"}`)
		roots := c.mustAsk("tools/call", params)
		next := roots.retry(params, map[string]string{roots.keys[0]: c.roots})
		a := c.mustAsk("tools/call", next)
		if len(a.keys) != 2 || a.methods["who"] != methods.Elicit || a.methods[modern.RootsKey] != "roots/list" || strings.Contains(a.state, "own") {
			t.Fatalf("asked %+v", a)
		}
		if h.suspended.Load() != 0 {
			t.Error("something is held for it")
		}
		given := map[string]string{"who": accepted, modern.RootsKey: c.roots}
		for name, e := range map[string]*jsonrpc.Error{
			"another client":  foreign.refused("tools/call", a.retry(params, given)),
			"other arguments": c.refused("tools/call", a.retry(strings.Replace(params, "rounds\":2", "rounds\":1", 1), given)),
			"another tool":    c.refused("tools/call", a.retry(strings.Replace(params, "kid__input", "kid__echo", 1), given)),
		} {
			if e.Code != jsonrpc.CodeInvalidParams || !strings.Contains(e.Message, "requestState") {
				t.Errorf("%s: %v", name, e)
			}
		}
		// The roots may be others by now: the request is judged by those.
		elsewhere := map[string]string{"who": accepted, modern.RootsKey: fmt.Sprintf(`{"roots":[{"uri":"file://%s"}]}`, out)}
		if msg, bad := text(c.raw("tools/call", a.retry(params, elsewhere))); !bad || !strings.HasPrefix(msg, "Access denied") {
			t.Errorf("with other roots: %s", msg)
		}
		// Without roots they are asked for again, and nothing reaches the child.
		if b := c.mustAsk("tools/call", a.retry(params, map[string]string{"who": accepted})); len(b.keys) != 1 || b.keys[0] != modern.RootsKey {
			t.Errorf("without roots: asked %+v", b)
		}
		b := c.mustAsk("tools/call", a.retry(params, given))
		if b.methods["who"] != methods.Elicit || b.state == a.state {
			t.Fatalf("the second round: %+v", b)
		}
		result := c.raw("tools/call", b.retry(params, given))
		said := member(result, "structuredContent")
		if member(result, "resultType") != `"complete"` || member(said, "state") != `"the child's own++"` || member(member(said, "given"), "who") != accepted || !strings.Contains(member(member(said, "given"), "r"), in) {
			t.Errorf("the child was given %s", said)
		}
		if strings.Contains(said, modern.RootsKey) {
			t.Errorf("the child was given what only the hub asked for: %s", said)
		}
	})
}
