package call_test

import (
	"path/filepath"
	"strings"
	"testing"

	"mcphub/e2e/childtest"
	"mcphub/internal/jsonrpc"
)

// A request is split, and goes through the steps. What is inside the roots of the client reaches the child, and its
// answer comes back; what is outside is denied, and none of it is sent.
func TestACallInsideTheRootsIsSentAndOneOutsideIsDenied(t *testing.T) {
	t.Parallel()
	onStage(t, oneChild(childtest.Script{}), func(s *stage) {
		s.wantParts(s.callWaiting(echoParams(readArgs(filepath.Join(s.root, "a.txt")))), "a.txt", "!isError")
		s.wantReached("tools/call", 1)
		s.wantParts(s.callWaiting(echoParams(readArgs(filepath.Join(s.outside, "a.txt")))), "is outside the allowed roots boundaries", `"isError":true`)
		s.wantReached("tools/call", 1)
		s.wantReleased()
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
		return answerText(s.ServePrompt(s.Context(), m))
	case "resources/read":
		return answerText(s.ServeResource(s.Context(), m))
	case "completion/complete":
		return answerText(s.ServeCompletion(s.Context(), m))
	}
	return answerText(s.ServeTool(s.Context(), m))
}

// Tokens for progress are the hub's own towards children, since two clients may use the same token.
func TestNoChildSeesATokenOfAClient(t *testing.T) {
	t.Parallel()
	for method, members := range forEachTarget {
		t.Run(method, func(t *testing.T) {
			onStage(t, oneChild(childtest.Script{Library: true}), func(s *stage) {
				s.wantParts(s.serve(method, `{"_meta":{"progressToken":"mine"},`+members+`}`), "!error")
				sent := strings.Join(s.children.messagesSent(method), "")
				if sent == "" || strings.Contains(sent, "mine") || jsonrpc.Get(jsonrpc.Get([]byte(sent), "_meta"), "progressToken") == nil {
					t.Errorf("the child was sent %s", sent)
				}
				s.wantReleased()
			})
		})
	}
}
