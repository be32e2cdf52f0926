package hub

import (
	"strings"
	"testing"
	"testing/synctest"

	"mcphub/children/spec"
	"mcphub/e2e/childtest"
	"mcphub/hub/modern"
	"mcphub/internal/jsonrpc"
)

const rootsCaps = `{"roots":{}}`

func member(raw, name string) string { return string(jsonrpc.Get([]byte(raw), name)) }

func TestModernDiscoverAndLists(t *testing.T) {
	play(t, []spec.Spec{played("kid", spec.ShareSession, childtest.Script{Library: true})}, func(t *testing.T, h *Hub, _ *stage) {
		c, _ := enterModern(t, h, `{}`)
		synctest.Wait()
		d := c.raw("server/discover", `{}`)
		if v := member(d, "supportedVersions"); !strings.HasPrefix(v, `["2026-07-28",`) {
			t.Errorf("versions %s", v)
		}
		for method, what := range map[string]string{"tools/list": "tools", "prompts/list": "prompts", "resources/list": "resources", "resources/templates/list": "resourceTemplates"} {
			l := c.raw(method, `{}`)
			if member(l, "resultType") != `"complete"` || member(l, "cacheScope") != `"private"` || !strings.Contains(member(l, what), "{") {
				t.Errorf("%s: %s", method, l)
			}
			if ttl := member(l, "ttlMs"); ttl != "60000" {
				t.Errorf("%s: ttlMs %s of a complete list", method, ttl)
			}
		}
		if got := member(member(d, "_meta"), modern.MetaServer); !strings.Contains(got, `"mcphub"`) {
			t.Errorf("serverInfo %s", got)
		}
	})
}

func TestModernPartialListIsNotKept(t *testing.T) {
	play(t, []spec.Spec{played("kid", spec.ShareSession, childtest.Script{}), played("mute", spec.ShareSession, childtest.Script{Mute: true})}, func(t *testing.T, h *Hub, _ *stage) {
		c, _ := enterModern(t, h, `{}`)
		if l := c.raw("tools/list", `{}`); member(l, "ttlMs") != "0" || !strings.Contains(l, "kid__echo") {
			t.Errorf("a list without a child that may still come: ttlMs %s", member(l, "ttlMs"))
		}
	})
}

func TestModernMetaIsNeeded(t *testing.T) {
	play(t, []spec.Spec{played("kid", spec.ShareSession, childtest.Script{})}, func(t *testing.T, h *Hub, _ *stage) {
		c, _ := enterModern(t, h, `{}`)
		const v, caps = `"io.modelcontextprotocol/protocolVersion":"2026-07-28"`, `"io.modelcontextprotocol/clientCapabilities":{}`
		for meta, code := range map[string]int64{
			v:    jsonrpc.CodeInvalidParams,
			caps: jsonrpc.CodeInvalidParams,
			`"io.modelcontextprotocol/protocolVersion":7,` + caps:                      jsonrpc.CodeInvalidParams,
			`"io.modelcontextprotocol/protocolVersion":"2027-01-01",` + caps:           -32022,
			`"io.modelcontextprotocol/protocolVersion":"x",` + caps:                    -32022,
			v + `,"io.modelcontextprotocol/clientCapabilities":[]`:                     jsonrpc.CodeInvalidParams,
			v + `,` + caps + `,"io.modelcontextprotocol/logLevel":"loud"`:              jsonrpc.CodeInvalidParams,
			v + `,` + caps + `,"io.modelcontextprotocol/clientInfo":"me"`:              jsonrpc.CodeInvalidParams,
			v + `,` + caps + `,"io.modelcontextprotocol/protocolVersion":"2026-07-28"`: jsonrpc.CodeInvalidParams,
		} {
			e := c.testClient.refused("tools/call", `{"name":"kid__echo","_meta":{`+meta+`}}`)
			if e.Code != code {
				t.Errorf("%s: %v, want code %d", meta, e, code)
			}
			if code == -32022 && !strings.Contains(string(e.Data), `"supported":["2026-07-28",`) {
				t.Errorf("%s: data %s", meta, e.Data)
			}
		}
		for _, method := range []string{"ping", "logging/setLevel", "resources/subscribe", "initialize", "tasks/list", "no/such"} {
			if e := c.refused(method, `{}`); e.Code != jsonrpc.CodeMethodNotFound {
				t.Errorf("%s: %v", method, e)
			}
		}
		if result := c.raw("tools/call", toolCall("kid__echo", `{"n":12345678901234567890}`)); !strings.Contains(result, "12345678901234567890") || member(result, "resultType") != `"complete"` {
			t.Errorf("control: %s", result)
		}
	})
}

func TestModernRootsComeWithTheCall(t *testing.T) {
	play(t, []spec.Spec{played("kid", spec.ShareSession, childtest.Script{})}, func(t *testing.T, h *Hub, s *stage) {
		in, out := t.TempDir(), t.TempDir()
		c, _ := enterModern(t, h, rootsCaps, in)
		params := toolCall("kid__echo", `{"path":"`+in+`/x","tag":"in"}`)
		a := c.mustAsk("tools/call", params)
		if len(a.keys) != 1 || a.methods[a.keys[0]] != "roots/list" || a.state == "" {
			t.Fatalf("asked %+v", a)
		}
		if s.who("in") != nil {
			t.Fatal("the child got the call before the roots were known")
		}
		result := c.raw("tools/call", a.retry(params, map[string]string{a.keys[0]: c.roots}))
		if msg, bad := text(result); bad || s.who("in") == nil {
			t.Fatalf("inside: %s", msg)
		}
		if got := s.who("in").roots; got != in {
			t.Errorf("the child was started with %q, want %q", got, in)
		}
		result, sent := c.full("tools/call", toolCall("kid__echo", `{"path":"`+out+`/x","tag":"out"}`), nil)
		if msg, bad := text(result); !bad || !strings.HasPrefix(msg, "Access denied: Path '"+out+"/x' is outside") {
			t.Errorf("outside: %s", result)
		}
		if sent != 2 || s.who("out") != nil {
			t.Errorf("outside: sent %d times, the child got it: %t", sent, s.who("out") != nil)
		}
		if _, sent = c.full("tools/call", toolCall("kid__echo", `{"n":1}`), nil); sent != 1 {
			t.Errorf("a call without a path was sent %d times", sent)
		}
	})
}
