package hub

import (
	"strings"
	"testing"
	"time"

	"mcphub/children/spec"
	"mcphub/e2e/childtest"
)

// TestHungChildIsShown: the one who asks meanwhile is told which server hangs, the
// call says so in the end, and the next one is answered.
func TestHungChildIsShown(t *testing.T) {
	play(t, []spec.Spec{played("kid", spec.ShareSession, childtest.Script{})}, func(t *testing.T, h *Hub, s *stage) {
		c, _ := enter(t, h)
		c.handshake(`{}`)
		c.tagged(s, "kid", "before")
		done := make(chan string)
		go func() {
			msg, _ := text(c.raw("tools/call", toolCall("kid__echo", `{"name":"hang"}`)))
			done <- msg
		}()
		time.Sleep(time.Minute)
		for _, tool := range []string{"get-roots", "list-tools"} {
			if got := c.raw("tools/call", toolCall(tool, `{}`)); !strings.Contains(got, `"state":"hung"`) {
				t.Errorf("%s: %s", tool, got)
			}
		}
		if st := h.Status().Children[0]; st.State != "hung" || !strings.Contains(st.Error, "answers neither") {
			t.Errorf("status: %+v", st)
		}
		if msg := <-done; !strings.Contains(msg, "hung") {
			t.Errorf("the call: %s", msg)
		}
		c.tagged(s, "kid", "after")
		if launched, _ := s.count("kid"); launched != 2 {
			t.Errorf("it was started %d times", launched)
		}
	})
}
