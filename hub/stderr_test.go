package hub

import (
	"strings"
	"testing"

	"mcphub/children/spec"
	"mcphub/e2e/childtest"
)

// TestSharedStderrReachesNoSession: what a shared child wrote is for the operator
// alone, whatever a session asks; its own child's is quoted to it.
func TestSharedStderrReachesNoSession(t *testing.T) {
	own, shared := scripted("own", childtest.Script{Exit: 3}), scripted("shared", childtest.Script{Exit: 3})
	shared.Share = spec.ShareAll
	h := newTestHub(t, own, shared)
	c := connect(t, h, t.TempDir())
	c.handshake(`{"roots":{}}`)
	const said = "exiting as told"
	for _, server := range []string{"own", "shared"} {
		for range 2 { // while it starts, and when it is down
			answer, failed := text(c.raw("tools/call", toolCall(server+"__x", `{}`)))
			if !failed || strings.Contains(answer, said) != (server == "own") {
				t.Errorf("%s: %s", server, answer)
			}
		}
		list := c.raw("tools/call", `{"name":"list-tools","arguments":{"serverName":"`+server+`"}}`)
		if strings.Contains(list, said) != (server == "own") {
			t.Errorf("list-tools of %s: %s", server, list)
		}
	}
	for _, st := range h.Status().Children {
		if !strings.Contains(st.Stderr, said) {
			t.Errorf("the operator is not shown what %s wrote: %+v", st.Server, st)
		}
	}
}
