package tasks

import (
	"fmt"
	"strings"
	"testing"

	"mcphub/children/spec"
)

// TestOneChildTakesNoRoomOfAnother: a child that makes or lists tasks without end
// makes the session forget its own, and none of another child.
func TestOneChildTakesNoRoomOfAnother(t *testing.T) {
	t.Parallel()
	bad, good := spec.Key{Child: "bad", Instance: "s"}, spec.Key{Child: "good", Instance: "s"}
	var ts Table
	if !ts.admitListed("mine", good, true) {
		t.Fatal("a task is not listed")
	}
	ts.noteTask("asked", good)
	for i := range maxTasks + 10 {
		ts.admitListed(fmt.Sprint("x", i), spec.Key{Child: "bad", Instance: fmt.Sprint(i)}, true)
		ts.noteTask(fmt.Sprint("x", i), bad)
	}
	if ts.findTask("mine") == nil || ts.clients["asked"] != good {
		t.Error("the tasks of another child are forgotten")
	}
	if ts.findTask("x0") != nil || ts.findTask("x10") == nil || len(ts.byID) != maxTasks+1 || len(ts.clients) != maxTasks+1 || len(ts.order) != maxTasks+1 || len(ts.clientsOrder) != maxTasks+1 {
		t.Errorf("%d and %d tasks are kept", len(ts.byID), len(ts.clients))
	}
}

// TestIDsAreBounded: an id is kept after its message, so it is bounded in bytes
// and not only in number.
func TestIDsAreBounded(t *testing.T) {
	t.Parallel()
	k := spec.Key{Child: "kid"}
	var ts Table
	long := strings.Repeat("x", maxID)
	if !ts.admitListed(long, k, true) {
		t.Error("an id as long as it may be is not listed")
	}
	if ts.admitListed(long+"x", k, true) || ts.findTask(long+"x") != nil {
		t.Error("a longer one is kept")
	}
	ts.noteTask(long, k)
	ts.noteTask(long+"x", k)
	if len(ts.clients) != 1 {
		t.Errorf("%d tasks of the client are kept", len(ts.clients))
	}
}
