package hub

import (
	"fmt"
	"strings"
	"testing"

	"mcphub/children"
	"mcphub/children/childtest"
)

// TestWantedResourcesAreBounded: what others name, and is kept after their message,
// is bounded in bytes and not only in number.
func TestWantedResourcesAreBounded(t *testing.T) {
	k := children.Key{Child: "kid"}
	var subs subscriptions
	who, uri := &subscriber{s: &Session{}}, strings.Repeat("u", maxSubscriptionBytes/8)
	add := func(who *subscriber, i int) error {
		name := fmt.Sprint(i, uri)
		_, err := subs.add(subscription{k, name}, who, wish{uri: name})
		return err
	}
	for i := range 3 {
		if err := add(who, i); err != nil {
			t.Fatal(err)
		}
	}
	if add(who, 3) == nil {
		t.Error("one session keeps as much as it likes")
	}
	if err := add(&subscriber{s: &Session{}}, 3); err != nil {
		t.Errorf("and so has another one no room: %s", err)
	}
}

// TestALongIDOfATask: the client is told, and the task is cancelled.
func TestALongIDOfATask(t *testing.T) {
	specs := []children.Spec{played("kid", children.ShareAll, childtest.Script{Era: "modern", Asks: true, Tasks: true})}
	play(t, specs, "", 0, func(t *testing.T, h *Hub, _ *stage) {
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
