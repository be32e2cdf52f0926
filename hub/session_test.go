package hub

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"mcphub/children/spec"
	"mcphub/e2e/childtest"
	"mcphub/internal/jsonrpc"
)

func toolCall(name, args string) string {
	return fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, args)
}

// text returns the text of a tool result and whether it is an error.
func text(result string) (string, bool) {
	var parts []string
	_ = jsonrpc.Elements(jsonrpc.Get([]byte(result), "content"), func(item []byte) bool {
		t, _ := jsonrpc.String(jsonrpc.Get(item, "text"))
		parts = append(parts, t)
		return true
	})
	return strings.Join(parts, "\n"), string(jsonrpc.Get([]byte(result), "isError")) == "true"
}

func TestWrongRequests(t *testing.T) {
	c := connect(t, newTestHub(t, scripted("kid", childtest.Script{})))
	if e := c.refused("initialize", `{"capabilities":{}}`); e.Code != jsonrpc.CodeInvalidParams {
		t.Error(e)
	}
	c.handshake(`{"roots":true}`)
	if e := c.refused("initialize", `{"protocolVersion":"2025-06-18","capabilities":{}}`); e.Code != jsonrpc.CodeInvalidRequest {
		t.Error(e)
	}
	report := c.raw("tools/call", toolCall("get-roots", `{}`))
	if got := jsonrpc.Get(jsonrpc.Get([]byte(report), "structuredContent"), "supportsRoots"); string(got) != "false" {
		t.Errorf("roots of an odd shape count as declared: %s", report)
	}
	cases := []struct {
		method, params string
		code           int64
	}{
		{"tools/call", `{"name":7}`, jsonrpc.CodeInvalidParams},
		{"tools/list", `{"cursor":"made-up"}`, jsonrpc.CodeInvalidParams},
		{"no/such", `{}`, jsonrpc.CodeMethodNotFound},
		{"server/discover", `{}`, jsonrpc.CodeInvalidParams}, // of the other era, and without what that needs
	}
	for _, w := range cases {
		if e := c.refused(w.method, w.params); e.Code != w.code {
			t.Errorf("%s %s: %v, want code %d", w.method, w.params, e, w.code)
		}
	}
	// Notifications that mean nothing do no harm.
	for method, params := range map[string]string{"no/such/notification": `{"x":1}`, "notifications/cancelled": `7`} {
		if err := c.conn.Notify(context.Background(), method, []byte(params)); err != nil {
			t.Error(err)
		}
	}
	c.raw("tools/call", toolCall("kid__echo", `{}`))
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asked != 0 {
		t.Error("a client that declared no roots was asked for them")
	}
}

// TestACallBeforeInitialize: a call without a handshake and without the _meta of the other era runs nothing.
func TestACallBeforeInitialize(t *testing.T) {
	play(t, []spec.Spec{played("kid", spec.ShareSession, childtest.Script{Library: true})}, func(t *testing.T, h *Hub, s *stage) {
		c, _ := enter(t, h)
		c.raw("tools/list", `{}`)
		for method, params := range map[string]string{
			"tools/call": toolCall("kid__echo", `{"tag":"early"}`), "resources/read": `{"uri":"note://1"}`, "prompts/get": `{"name":"kid__greet"}`,
		} {
			resp, err := c.conn.Call(context.Background(), method, []byte(params))
			if err != nil {
				t.Fatal(err)
			}
			if e := resp.Err(); e == nil || e.Code != jsonrpc.CodeInvalidRequest || !strings.Contains(e.Message, "say initialize first") {
				t.Errorf("%s: %v", method, e)
			}
		}
		if s.who("early") != nil {
			t.Error("the child got the call")
		}
		c.handshake(`{}`)
		c.tagged(s, "kid", "control")
	})
}
