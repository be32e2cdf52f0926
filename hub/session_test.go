package hub

import (
	"context"
	"fmt"
	"path/filepath"
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

func TestCallToolGoesTheSameWay(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	c := connect(t, newTestHub(t, scripted("kid", childtest.Script{})), root)
	c.handshake(`{"roots":{}}`)
	wrap := func(server, tool, args string) string {
		return toolCall("call-tool", fmt.Sprintf(`{"serverName":%q,"toolName":%q,"toolArgs":%s}`, server, tool, args))
	}
	ok := c.raw("tools/call", wrap("kid", "echo", `{"a":[1.0,1e2]}`))
	if got := string(jsonrpc.Get([]byte(ok), "structuredContent")); got != `{"a":[1.0,1e2]}` {
		t.Errorf("the child got %s", got)
	}
	if msg, bad := text(c.raw("tools/call", wrap("kid", "echo", fmt.Sprintf(`{"path":%q}`, outside)))); !bad || !strings.HasPrefix(msg, "Access denied") {
		t.Errorf("%v %s", bad, msg)
	}
	for _, wrong := range []string{wrap("nobody", "echo", "{}"), wrap("kid", "nothing", "{}"), toolCall("call-tool", `{}`), toolCall("call-tool", `{"serverName":"kid"}`)} {
		if msg, bad := text(c.raw("tools/call", wrong)); !bad || msg == "" {
			t.Errorf("%s: %v %q", wrong, bad, msg)
		}
	}
	_ = jsonrpc.Elements(jsonrpc.Get([]byte(c.raw("tools/list", `{}`)), "tools"), func(def []byte) bool {
		if name, _ := jsonrpc.String(jsonrpc.Get(def, "name")); name == "call-tool" && string(jsonrpc.Get(jsonrpc.Get(def, "annotations"), "destructiveHint")) != "true" {
			t.Errorf("call-tool is not annotated as destructive: %s", def)
		}
		return true
	})
}

func TestRootsChangeBetweenTwoCalls(t *testing.T) {
	one, two := t.TempDir(), t.TempDir()
	c := connect(t, newTestHub(t, scripted("kid", childtest.Script{AskRoots: true})), one)
	c.handshake(`{"roots":{"listChanged":true}}`)
	file := func(dir string) string {
		return toolCall("kid__echo", fmt.Sprintf(`{"path":%q}`, filepath.Join(dir, "f")))
	}
	if msg, bad := text(c.raw("tools/call", file(one))); bad {
		t.Fatal(msg)
	}
	if _, bad := text(c.raw("tools/call", file(two))); !bad {
		t.Fatal("a path outside the first roots passed")
	}
	known := func() (generation int, dirs string) {
		got := jsonrpc.Get([]byte(c.raw("tools/call", toolCall("get-roots", `{}`))), "structuredContent")
		if _, err := fmt.Sscan(string(jsonrpc.Get(got, "generation")), &generation); err != nil {
			t.Fatalf("%s: %v", got, err)
		}
		return generation, string(jsonrpc.Get(got, "filePaths"))
	}
	before, _ := known()
	c.setRoots(two)
	if err := c.conn.Notify(context.Background(), "notifications/roots/list_changed"); err != nil {
		t.Fatal(err)
	}
	// Sent right behind the notification: judged by what it announced.
	if _, bad := text(c.raw("tools/call", file(one))); !bad {
		t.Error("narrowed roots did not take effect for the next call")
	}
	if msg, bad := text(c.raw("tools/call", file(two))); bad {
		t.Error(msg)
	}
	if served, _ := text(c.raw("tools/call", toolCall("kid__roots", `{}`))); !strings.Contains(served, two) || strings.Contains(served, one) {
		t.Errorf("the child is served %s", served)
	}
	if now, dirs := known(); now <= before || dirs != fmt.Sprintf("[%q]", two) {
		t.Errorf("get-roots knows %s of generation %d, before it was %d", dirs, now, before)
	}
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
		{"tools/call", `{"arguments":{}}`, jsonrpc.CodeInvalidParams},
		{"tools/call", `{"name":7}`, jsonrpc.CodeInvalidParams},
		{"tools/call", `{"name":"kid__echo","arguments":{"a":1,"a":2}}`, jsonrpc.CodeInvalidParams},
		{"tools/call", `{"name":"kid__echo","arguments":[]}`, jsonrpc.CodeInvalidParams},
		{"tools/call", `{"name":"kid__echo","arguments":{},"Arguments":{}}`, jsonrpc.CodeInvalidParams},
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
