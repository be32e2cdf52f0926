package hub

import (
	"strings"
	"testing"

	"mcphub/children/spec"
	"mcphub/e2e/childtest"
)

// A client of the handshake gets from a child without one what a child of its own
// era would say, whichever way its request goes; a modern one all of it.
func TestResultsAreOfTheEraOfTheClient(t *testing.T) {
	const odd = `"x":1.0,"n":12345678901234567890`
	result := `{"content":[],` + odd + `,"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"inner","version":"1"},"k":1.0}}`
	specs := []spec.Spec{played("kid", spec.ShareSession, childtest.Script{Era: "modern", Library: true})}
	play(t, specs, func(t *testing.T, h *Hub, _ *stage) {
		dir := t.TempDir()
		c, _ := enter(t, h, dir)
		c.handshake(declared)
		kind := toolCall("kid__kind", `{"Type":"","Result":`+result+`}`)
		want := `{"content":[],` + odd + `,"_meta":{"k":1.0}}`
		for way, params := range map[string]string{"the fast path": kind, "the waiting path": strings.Replace(kind, `"Type":""`, `"path":"`+dir+`"`, 1)} {
			if got := c.raw("tools/call", params); got != want {
				t.Errorf("%s: %s, want %s", way, got, want)
			}
		}
		if got := c.raw("resources/read", `{"uri":"note://1"}`); !strings.HasPrefix(got, `{"contents":[`) || strings.Contains(got, "resultType") || strings.Contains(got, "ttlMs") || strings.Contains(got, "cacheScope") {
			t.Errorf("resources/read: %s", got)
		}
		if got := c.raw("prompts/get", `{"name":"kid__greet"}`); strings.Contains(got, "resultType") {
			t.Errorf("prompts/get: %s", got)
		}
		m, _ := enterModern(t, h, `{}`)
		if got := m.raw("tools/call", kind); member(got, "resultType") != `"complete"` || !strings.Contains(got, odd) {
			t.Errorf("a modern client: %s", got)
		}
	})
}
