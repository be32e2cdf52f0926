package call_test

import (
	"path/filepath"
	"testing"

	"mcphub/children/childtest"
)

// A request is split, and goes through the steps. What is inside the roots of the client reaches the child, and its
// answer comes back; what is outside is denied, and nothing of it is sent.
func TestSteps(t *testing.T) {
	t.Parallel()
	on(t, kid(childtest.Script{}), func(s *stage) {
		s.want(s.tool(echo(reading(filepath.Join(s.root, "a.txt")))), "a.txt", "!isError")
		s.reached("tools/call", 1)
		s.want(s.tool(echo(reading(filepath.Join(s.outside, "a.txt")))), "is outside the allowed roots boundaries", `"isError":true`)
		s.reached("tools/call", 1)
		s.free()
	})
}
