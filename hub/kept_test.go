package hub

import (
	"fmt"
	"strings"
	"testing"

	"mcphub/children"
	"mcphub/children/childtest"
)

// TestOneChildTakesNoRoomOfAnother: a child that makes or lists tasks without end
// makes the session forget its own, and none of another child.
func TestOneChildTakesNoRoomOfAnother(t *testing.T) {
	bad, good := children.Key{Child: "bad", Instance: "s"}, children.Key{Child: "good", Instance: "s"}
	var ts tasks
	if !ts.lists("mine", good, true) {
		t.Fatal("a task is not listed")
	}
	ts.give("asked", good)
	for i := range mostTasks + 10 {
		ts.lists(fmt.Sprint("x", i), children.Key{Child: "bad", Instance: fmt.Sprint(i)}, true)
		ts.give(fmt.Sprint("x", i), bad)
	}
	if ts.find("mine") == nil || ts.given["asked"] != good {
		t.Error("the tasks of another child are forgotten")
	}
	if ts.find("x0") != nil || ts.find("x10") == nil || len(ts.made) != mostTasks+1 || len(ts.given) != mostTasks+1 || len(ts.order) != mostTasks+1 || len(ts.ordered) != mostTasks+1 {
		t.Errorf("%d and %d tasks are kept", len(ts.made), len(ts.given))
	}
}

// TestWhatIsKeptIsBounded: what others name, and is kept after their message, is
// bounded in bytes and not only in number.
func TestWhatIsKeptIsBounded(t *testing.T) {
	k := children.Key{Child: "kid"}
	var ts tasks
	long := strings.Repeat("x", longestID)
	if !ts.lists(long, k, true) {
		t.Error("an id as long as it may be is not listed")
	}
	if ts.lists(long+"x", k, true) || ts.find(long+"x") != nil {
		t.Error("a longer one is kept")
	}
	ts.give(long, k)
	ts.give(long+"x", k)
	if len(ts.given) != 1 {
		t.Errorf("%d tasks of the client are kept", len(ts.given))
	}

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
		if got := c.raw("tools/call", taskCall(strings.Repeat("x", longestID))); member(got, "taskId") == "" {
			t.Errorf("no task: %.300s", got)
		}
		if e := c.refused("tools/call", taskCall(strings.Repeat("x", longestID+1))); !strings.Contains(e.Message, "more than 1024 bytes") {
			t.Errorf("a task with a longer id: %s", e.Message)
		}
	})
}
