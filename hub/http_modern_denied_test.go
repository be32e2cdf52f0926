package hub

import (
	"fmt"
	"io"
	"testing"
	"testing/synctest"

	"mcphub/e2e/childtest"
	"mcphub/rootsmgr/guard"
	"mcphub/validate"
	"mcphub/validate/policy"
)

// A tools/call that a rule denies is answered with these bytes. Control: without the rule, the same bytes are answered by the child.
func TestModernHTTPDenialToTheByte(t *testing.T) {
	t.Parallel()
	const frame = `{"jsonrpc":"2.0","id":"seven","method":"tools/call","params":{"name":"kid__echo","arguments":{"n":1.0},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	request := fmt.Sprintf("POST /mcp HTTP/1.1\r\nHost: hub.test\r\nConnection: close\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"+
		"MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: kid__echo\r\nContent-Length: %d\r\n\r\n%s", len(frame), frame)
	for name, tc := range map[string]struct {
		rules []policy.Rule
		want  string // members of the result, behind the ones that each result has
	}{
		"denied": {[]policy.Rule{{Name: "no", Then: policy.Deny, Servers: []string{"kid"}}},
			`"content":[{"type":"text","text":"Access denied: This call is refused by the rule \"no\" of the policy.\nThe rule matches every call by servers kid. ` +
				`No approval lifts it: it would have to be changed in hub.json, or a rule that allows be put before it."}],"isError":true`},
		"control": {nil, `"content":[],"structuredContent":{"n":1.0}`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				kid := scripted("kid", childtest.Script{})
				checker, err := validate.NewChecker(validate.Config{
					FS: guard.OS{}, Home: t.TempDir(), Children: []validate.ChildConfig{{Name: kid.Name}}, Policy: policy.Policy{Rules: tc.rules},
				})
				if err != nil {
					t.Fatal(err)
				}
				cfg := testConfig(t, kid)
				cfg.Launcher, cfg.Checker = childtest.Pipes{}, checker
				_, memory, stop := bubbleWeb(t, runHub(t, cfg), HTTPOptions{})
				defer stop()
				conn, err := memory.Dial(t.Context(), "", "")
				if err != nil {
					t.Fatal(err)
				}
				if _, err := io.WriteString(conn, request); err != nil {
					t.Fatal(err)
				}
				got, err := io.ReadAll(conn)
				answer := `{"jsonrpc":"2.0","id":"seven","result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"mcphub","version":"test"}},` + tc.want + `}}`
				want := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nDate: Sat, 01 Jan 2000 00:00:00 GMT\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", len(answer), answer)
				if err != nil || string(got) != want {
					t.Errorf("%v\ngot  %q\nwant %q", err, got, want)
				}
			})
		})
	}
}
