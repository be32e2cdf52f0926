package hub

import (
	"strings"
	"testing"

	"mcphub/children/childtest"
	"mcphub/children/spec"
)

// TestALongIDOfATask: the client is told, and the task is cancelled.
func TestALongIDOfATask(t *testing.T) {
	specs := []spec.Spec{played("kid", spec.ShareAll, childtest.Script{Era: "modern", Asks: true, Tasks: true})}
	play(t, specs, func(t *testing.T, h *Hub, _ *stage) {
		c, _ := enterModern(t, h, taskCaps)
		c.raw("tools/list", `{}`)
		if got := c.raw("tools/call", taskCall(strings.Repeat("x", 1024))); member(got, "taskId") == "" {
			t.Errorf("no task: %.300s", got)
		}
		if e := c.refused("tools/call", taskCall(strings.Repeat("x", 1025))); !strings.Contains(e.Message, "more than 1024 bytes") {
			t.Errorf("a task with a longer id: %s", e.Message)
		}
	})
}
