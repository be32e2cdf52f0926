package hub

import (
	"fmt"
	"strings"
	"testing"
)

func TestRootListNamesTwentyAndCounts(t *testing.T) {
	if got := rootList([]string{"file:///home/user/project", "file:///home/user/documents"}); got != `["file:///home/user/project", "file:///home/user/documents"]` {
		t.Error(got)
	}
	if got := rootList(nil); got != "[]" {
		t.Error(got)
	}
	var many []string
	for i := range 25 {
		many = append(many, fmt.Sprintf("file:///r%d", i))
	}
	got := rootList(many)
	if strings.Count(got, "file://") != 20 || !strings.HasSuffix(got, `"file:///r19", and 5 more]`) {
		t.Error(got)
	}
}

// A call whose arguments do not fit says of which tool, of which server, and which
// argument it is: clients show the text without the call.
func TestSchemaErrorsNameToolAndArgument(t *testing.T) {
	p := newPast(t, narrowTool, `{"name":"strict","inputSchema":{"type":"object","required":["path"],"properties":{"n":{"type":"array","items":{"type":"number"}}}}}`)
	c, end := p.client()
	defer end()
	for _, tc := range []struct{ call, want string }{
		{call("kid__echo", `{"mode":"wild"}`), `Invalid arguments for the tool "echo" of the server "kid": argument /mode: `},
		{call("kid__strict", `{}`), `Invalid arguments for the tool "strict" of the server "kid": missing "path"`},
		{call("call-tool", `{"serverName":"kid","toolName":"strict","toolArgs":{"path":"a","n":[1,"x"]}}`), `Invalid arguments for the tool "strict" of the server "kid": argument /n/1: got string, want number`},
	} {
		if got, failed := text(c.raw("tools/call", tc.call)); !failed || !strings.Contains(got, tc.want) {
			t.Errorf("%s\ngot  %s\nwant %s", tc.call, got, tc.want)
		}
	}
}
