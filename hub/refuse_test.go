package hub

import (
	"strings"
	"testing"
)

// A call whose arguments do not fit says about which tool, of which server, and
// which argument it is: clients show the text without the call.
func TestSchemaErrorsNameToolAndArgument(t *testing.T) {
	p := newPast(t, narrowTool, `{"name":"strict","inputSchema":{"type":"object","required":["path"],"properties":{"n":{"type":"array","items":{"type":"number"}}}}}`,
		`{"name":"exit","inputSchema":{"type":"object","properties":{"code":{"type":"string"}}}}`)
	c, end := p.client()
	defer end()
	for _, tc := range []struct{ call, want string }{
		{toolCall("kid__echo", `{"mode":"wild"}`), `Invalid arguments for the tool "echo" of the server "kid": argument /mode: `},
		{toolCall("kid__exit", `{"code":3}`), `Invalid arguments for the tool "exit" of the server "kid": argument /code: `},
		{toolCall("kid__strict", `{}`), `Invalid arguments for the tool "strict" of the server "kid": missing "path"`},
		{toolCall("call-tool", `{"serverName":"kid","toolName":"strict","toolArgs":{"path":"a","n":[1,"x"]}}`), `Invalid arguments for the tool "strict" of the server "kid": argument /n/1: got string, want number`},
	} {
		if got, failed := text(c.raw("tools/call", tc.call)); !failed || !strings.Contains(got, tc.want) {
			t.Errorf("%s\ngot  %s\nwant %s", tc.call, got, tc.want)
		}
	}
	if st := c.hub.sup.Status()[0]; st.Restarts != 0 || st.LastFailure != "" {
		t.Errorf("the call of exit has reached the child: %s", st)
	}
}
