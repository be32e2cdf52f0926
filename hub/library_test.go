package hub

import (
	"fmt"
	"strings"
	"testing"

	"mcphub/e2e/childtest"
	"mcphub/internal/jsonrpc"
)

func libraries(t *testing.T, root string, s childtest.Script) *testClient {
	t.Helper()
	s.Library = true
	c := connect(t, newPlayedHub(t, scripted("one", s), scripted("two", s), scripted("plain", childtest.Script{})), root)
	c.handshake(`{"roots":{}}`)
	return c
}

func TestEverythingOnOfferIsListedAsItIs(t *testing.T) {
	c := libraries(t, t.TempDir(), childtest.Script{})
	for _, tc := range []struct{ method, want string }{
		{"prompts/list", `{"prompts":[{"name":"one__greet","x-odd":1.0,"arguments":[{"name":"path"}]},{"name":"two__greet","x-odd":1.0,"arguments":[{"name":"path"}]}]}`},
		{"resources/list", `{"resources":[{"uri":"note://1","name":"one","n":1e2},{"uri":"mcphub://two/note://1","name":"one","n":1e2}]}`},
		{"resources/templates/list", `{"resourceTemplates":[{"uriTemplate":"note://{id}","name":"t"},{"uriTemplate":"file://local/{path}","name":"f"},` +
			`{"uriTemplate":"mcphub://two/note://{id}","name":"t"},{"uriTemplate":"mcphub://two/file://local/{path}","name":"f"}]}`},
	} {
		if got := c.raw(tc.method, `{}`); got != tc.want {
			t.Errorf("%s: %s", tc.method, got)
		}
	}
	report := c.raw("tools/call", toolCall("list-tools", `{"serverName":"one"}`))
	if !strings.Contains(report, "prompt 2") {
		t.Errorf("the odd prompt is not shown: %s", report)
	}
}

// TestWhateverCarriesAPathIsJudged: each case has a control that differs only
// in the target of the path.
func TestWhateverCarriesAPathIsJudged(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	c := libraries(t, root, childtest.Script{})
	for _, tc := range []struct{ method, params string }{
		{"prompts/get", `{"name":"one__greet","arguments":{"path":"%s/x"}}`},
		{"resources/read", `{"uri":"file://%s/x"}`},
		{"resources/read", `{"uri":"mcphub://two/file://%s/x"}`},
		{"resources/read", `{"uri":"file://local/%s/x"}`},
		{"resources/subscribe", `{"uri":"file://%s/x"}`},
		{"completion/complete", `{"ref":{"type":"ref/resource","uri":"file://local/{path}"},"argument":{"name":"path","value":"%s/x"}}`},
		{"completion/complete", `{"ref":{"type":"ref/prompt","name":"one__greet"},"argument":{"name":"path","value":"%s/x"}}`},
	} {
		if e := c.refused(tc.method, fmt.Sprintf(tc.params, outside)); e.Code != jsonrpc.CodeInvalidParams || !strings.HasPrefix(e.Message, "Access denied: Path '") {
			t.Errorf("%s %s: %v", tc.method, tc.params, e)
		}
		c.raw(tc.method, fmt.Sprintf(tc.params, root)) // the control
	}
}

func TestSubscriptionsReachWhoSubscribed(t *testing.T) {
	c := libraries(t, t.TempDir(), childtest.Script{})
	c.raw("resources/subscribe", `{"uri":"mcphub://two/note://1"}`)
	for {
		if n := <-c.notes; n == "notifications/resources/updated" {
			break
		}
	}
	c.raw("resources/unsubscribe", `{"uri":"mcphub://two/note://1"}`)
	if e := c.refused("resources/subscribe", `{"uri":"mcphub://plain/x"}`); e.Code != jsonrpc.CodeMethodNotFound {
		t.Errorf("a server without subscriptions: %v", e)
	}
}

func TestPagesAndTheirCursors(t *testing.T) {
	c := libraries(t, t.TempDir(), childtest.Script{Books: 2300})
	seen := map[string]bool{}
	cursor, pages := "", 0
	for {
		params := `{}`
		if cursor != "" {
			params = fmt.Sprintf(`{"cursor":%q}`, cursor)
		}
		result := []byte(c.raw("resources/list", params))
		pages++
		if err := jsonrpc.Elements(jsonrpc.Get(result, "resources"), func(r []byte) bool {
			uri, _ := jsonrpc.String(jsonrpc.Get(r, "uri"))
			if seen[uri] {
				t.Errorf("%s is listed twice", uri)
			}
			seen[uri] = true
			return true
		}); err != nil {
			t.Fatal(err)
		}
		next, ok := jsonrpc.String(jsonrpc.Get(result, "nextCursor"))
		if !ok {
			break
		}
		cursor = next
	}
	if len(seen) != 4602 || pages != 5 {
		t.Errorf("%d resources on %d pages", len(seen), pages)
	}
	for _, bad := range []string{`"x"`, `5`, `"` + "eA" + `"`} {
		if e := c.refused("resources/list", `{"cursor":`+bad+`}`); e.Code != jsonrpc.CodeInvalidParams {
			t.Errorf("cursor %s: %v", bad, e)
		}
	}
	if e := c.refused("prompts/list", fmt.Sprintf(`{"cursor":%q}`, cursor)); e.Code != jsonrpc.CodeInvalidParams {
		t.Errorf("the cursor of another list: %v", e)
	}
}

// TestLookAlikesOfMembersAreRefused: a server that reads names without regard
// for letter case would take the second one.
func TestLookAlikesOfMembersAreRefused(t *testing.T) {
	c := libraries(t, t.TempDir(), childtest.Script{})
	for _, tc := range []struct{ method, params string }{
		{"resources/read", `{"uri":"note://1","%s":"file:///etc/passwd"}`},
		{"resources/subscribe", `{"uri":"note://1","%s":"file:///etc/passwd"}`},
	} {
		for _, name := range []string{"Uri", "URI", `ur\u0131`, `u\u0000ri`, "_Meta"} {
			if e := c.refused(tc.method, fmt.Sprintf(tc.params, name)); e.Code != jsonrpc.CodeInvalidParams || !strings.Contains(e.Message, "almost like") {
				t.Errorf("%s %s: %v", tc.method, name, e)
			}
		}
		c.raw(tc.method, fmt.Sprintf(tc.params, "x-new")) // the control
	}
	for _, params := range []string{
		`{"ref":{"type":"ref/prompt","name":"one__greet"},"argument":{"name":"x","value":"v","Value":"/etc/passwd"}}`,
		`{"ref":{"type":"ref/prompt","name":"one__greet","Name":"y"},"argument":{"name":"x","value":"v"}}`,
		`{"ref":{"type":"ref/prompt","name":"one__greet"},"argument":{"name":"x","value":"v"},"Context":{}}`,
		`{"ref":{"type":"ref/prompt","name":"one__greet"},"argument":{"name":"x","value":"v"},"context":{"Arguments":{}}}`,
	} {
		if e := c.refused("completion/complete", params); !strings.Contains(e.Message, "almost like") {
			t.Errorf("%s: %v", params, e)
		}
	}
	if e := c.refused("prompts/get", `{"name":"one__greet","Arguments":{"path":"/etc/passwd"}}`); !strings.Contains(e.Message, "almost like") {
		t.Errorf("%v", e)
	}
}
