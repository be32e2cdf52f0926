package call_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mcphub/e2e/childtest"
	"mcphub/internal/jsonrpc"
)

// A request is split, and goes through the steps. What is inside the roots of the client reaches the child, and its
// answer comes back; what is outside is denied, and none of it is sent.
func TestACallInsideTheRootsIsSentAndOneOutsideIsDenied(t *testing.T) {
	t.Parallel()
	on(t, kid(childtest.Script{}), func(s *stage) {
		s.want(s.tool(echo(reading(filepath.Join(s.root, "a.txt")))), "a.txt", "!isError")
		s.reached("tools/call", 1)
		s.want(s.tool(echo(reading(filepath.Join(s.outside, "a.txt")))), "is outside the allowed roots boundaries", `"isError":true`)
		s.reached("tools/call", 1)
		s.free()
	})
}

// forEachTarget are a call of a tool and the other requests, none with a path in it, as members of params.
var forEachTarget = map[string]string{
	"tools/call":          `"name":"kid__echo","arguments":{}`,
	"prompts/get":         `"name":"kid__greet"`,
	"resources/read":      `"uri":"note://1"`,
	"completion/complete": `"ref":{"type":"ref/prompt","name":"kid__greet"},"argument":{"name":"path","value":""}`,
}

// serve makes a request of any of these methods.
func (s *stage) serve(method, params string) string {
	s.Helper()
	m := request(s.T, method, params)
	switch method {
	case "prompts/get":
		return said(s.ServePrompt(s.Context(), m))
	case "resources/read":
		return said(s.ServeResource(s.Context(), m))
	case "completion/complete":
		return said(s.ServeCompletion(s.Context(), m))
	}
	return said(s.ServeTool(s.Context(), m))
}

// The client of a request that waits for a server to start gets progress, if it gave a token.
func TestWhoeverWaitsIsTold(t *testing.T) {
	t.Parallel()
	for method, members := range forEachTarget {
		if method == "resources/read" {
			continue // whose it is can be told when all have started: it waits for no one of them
		}
		t.Run(method, func(t *testing.T) {
			with := kid(childtest.Script{Library: true, StartDelay: 2 * time.Second})
			with.unknown = true
			on(t, with, func(s *stage) {
				s.want(s.serve(method, `{"_meta":{"progressToken":"mine"},`+members+`}`), "!error")
				if got := s.client.peer.notes(); len(got) != 1 || !strings.Contains(got[0], `"mine"`) || !strings.Contains(got[0], "starting kid") {
					t.Errorf("told %q", got)
				}
				s.free()
			})
		})
	}
}

// Tokens for progress are the hub's own towards children, since two clients may use the same token.
func TestNoChildSeesATokenOfAClient(t *testing.T) {
	t.Parallel()
	for method, members := range forEachTarget {
		t.Run(method, func(t *testing.T) {
			on(t, kid(childtest.Script{Library: true}), func(s *stage) {
				s.want(s.serve(method, `{"_meta":{"progressToken":"mine"},`+members+`}`), "!error")
				sent := strings.Join(s.children.sent(method), "")
				if sent == "" || strings.Contains(sent, "mine") || jsonrpc.Get(jsonrpc.Get([]byte(sent), "_meta"), "progressToken") == nil {
					t.Errorf("the child was sent %s", sent)
				}
				s.free()
			})
		})
	}
}
