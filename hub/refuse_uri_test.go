package hub

import (
	"strings"
	"testing"

	"mcphub/children/spec"
	"mcphub/e2e/childtest"
	"mcphub/internal/jsonrpc"
	"mcphub/validate"
)

// A URI outside the prefixes is refused in the words that a path is, by tools
// and by resources/read, and the server never sees it; get-roots and explain
// show the prefixes. The control is a URI below one.
func TestURIsOutsideTheirPrefixes(t *testing.T) {
	approving(t, []spec.Spec{played("kid", spec.ShareSession, childtest.Script{Library: true})}, func(a *askedHub) {
		c, _ := a.client(nil)
		a.passes(c, "kid__echo", `{"url":"https://api.example.com/v1/x"}`)
		a.passes(c, "kid__echo", `{"url":"http://anywhere.example/"}`)
		msg, denied, reached := a.try(c, "kid__echo", `{"url":"https://evil.example/a"}`)
		want := `Access denied: Path 'https://evil.example/a' is outside the allowed roots boundaries. Current roots: ["https://api.example.com/v1/"]
Found at argument /url (to read; outside-resources). no prefix has this host and port.
Of this scheme only what lies at or below these prefixes may be named (roots.resources in hub.json).
If tools may name it, say so in hub.json: "roots": { "resources": ["https://evil.example/"] }`
		if !denied || reached || strings.Replace(msg, "to write", "to read", 1) != want {
			t.Errorf("denied %v, reached %v: %s\nwant %s", denied, reached, msg, want)
		}
		if e := c.refused("resources/read", `{"uri":"note://2"}`); e.Code != jsonrpc.CodeInvalidParams || !strings.Contains(e.Message, `Current roots: ["note://1/"]`) {
			t.Errorf("%+v", e)
		}
		if resp, err := c.conn.Call(a.Context(), "resources/read", []byte(`{"uri":"note://1"}`)); err != nil || resp.Err() != nil {
			t.Errorf("the control: %v %v", err, resp.Err())
		}
		if got := c.raw("tools/call", toolCall("get-roots", `{}`)); !strings.Contains(got, `"resources":["https://api.example.com/v1/","note://1/"]`) {
			t.Errorf("get-roots: %s", got)
		}
		got := c.raw(MethodExplain, toolCall("kid__echo", `{"url":"https://api.example.com/v1/%2e%2e/x"}`))
		for _, want := range []string{`"decision":"deny"`, `"how":"resource"`, `"code":"outside-resources"`, `some way to read its path leads out of https://api.example.com/v1/`} {
			if !strings.Contains(got, want) {
				t.Errorf("explain: %q is missing in %s", want, got)
			}
		}
	}, func(cfg *Config, v *validate.Config) {
		cfg.Inspect = true
		v.Policy.Rules, v.Resources = nil, []string{"https://api.example.com/v1/", "note://1/"}
	})
}
