package hub

import (
	"testing"

	"mcphub/children"
	"mcphub/children/spec"
	"mcphub/e2e/childtest"
	"mcphub/internal/jsonrpc"
)

// TestApplyAndSharing replaces children that two sessions share, changes who shares them, and takes them away: the sessions
// meet again at one new process, or each get their own.
func TestApplyAndSharing(t *testing.T) {
	root := t.TempDir()
	kid := func(share spec.Share, args ...string) spec.Spec {
		s := other(scripted("kid", childtest.Script{}), args...)
		s.Share = share
		return s
	}
	h := newTestHub(t, kid(spec.ShareAll))
	var clients []*testClient
	for range 2 {
		c := connect(t, h, root)
		c.handshake(`{"roots":{}}`)
		c.raw("tools/list", `{}`)
		clients = append(clients, c)
	}
	ready := func() (n int) {
		for _, st := range h.sup.Status() {
			if st.State == children.Ready {
				n++
			}
		}
		return n
	}
	for i, step := range []struct {
		share spec.Share
		args  []string
		want  int
	}{
		{spec.ShareAll, []string{"1"}, 1},
		{spec.ShareRoots, []string{"1"}, 1},
		{spec.ShareRoots, []string{"2"}, 1},
		{spec.ShareSession, []string{"2"}, 2},
		{spec.ShareSession, []string{"3"}, 2},
		{spec.ShareAll, nil, 1},
	} {
		apply(t, h, testConfig(t, kid(step.share, step.args...)))
		for _, c := range clients {
			if got := c.raw("tools/call", toolCall("kid__echo", `{"a":1}`)); string(jsonrpc.Get([]byte(got), "structuredContent")) != `{"a":1}` {
				t.Errorf("step %d: %s", i, got)
			}
		}
		if n := ready(); n != step.want {
			t.Errorf("step %d: %d processes are ready, want %d: %v", i, n, step.want, h.sup.Status())
		}
	}
	apply(t, h, testConfig(t))
	for _, c := range clients {
		if e := c.refused("tools/call", toolCall("kid__echo", `{}`)); e.Code != jsonrpc.CodeInvalidParams {
			t.Error(e)
		}
	}
	apply(t, h, testConfig(t, kid(spec.ShareAll)))
	for _, c := range clients {
		c.raw("tools/call", toolCall("kid__echo", `{}`))
	}
	if n := ready(); n != 1 {
		t.Errorf("%d processes after it came back", n)
	}
	if _, serving, _ := h.sessions.Size(); serving != 1 {
		t.Errorf("%d instances serve sessions", serving)
	}
}
