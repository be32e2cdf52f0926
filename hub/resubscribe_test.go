package hub

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mcphub/children/spec"
	"mcphub/e2e/childtest"
	"mcphub/hub/status"
	"mcphub/internal/jsonrpc"
)

// TestASubscriptionThatStartsAChildReachesItOnce: the child comes up while the
// request is under way, and is not asked for the same again. What was asked of
// an earlier process is.
func TestASubscriptionThatStartsAChildReachesItOnce(t *testing.T) {
	child := played("kid", spec.ShareSession, childtest.Script{Library: true})
	child.IdleTimeout = 30 * time.Second
	play(t, []spec.Spec{child}, func(t *testing.T, h *Hub, stage *stage) {
		root := t.TempDir()
		first, leave := enter(t, h, root)
		first.handshake(declared)
		first.raw("tools/list", `{}`)
		leave()
		c, _ := enter(t, h, root)
		var updates atomic.Int64 // one for each time that the child is asked
		c.hears = func(m *jsonrpc.Message) {
			if m.Method == "notifications/resources/updated" {
				updates.Add(1)
			}
		}
		c.handshake(declared)
		synctest.Wait()
		if st := childOf(t, h, "kid"); st.State != "cold" {
			t.Fatalf("control: the child is %s", st.State)
		}
		c.raw("resources/subscribe", `{"uri":"note://1"}`)
		time.Sleep(time.Minute)
		if n := updates.Load(); n != 1 {
			t.Errorf("it was asked %d times", n)
		}
		if st := childOf(t, h, "kid"); st.State != "stopped" {
			t.Fatalf("control: the child is %s", st.State)
		}
		c.raw("tools/call", toolCall("kid__echo", `{}`))
		if n := updates.Load(); n != 2 {
			t.Errorf("when the first call to the second process was answered it had been asked %d times", n)
		}
		time.Sleep(time.Minute)
		if n := updates.Load(); n != 2 {
			t.Errorf("with the second process it was asked %d times", n)
		}
	})
}

// childOf returns the one instance of a child.
func childOf(t *testing.T, h *Hub, name string) status.Child {
	t.Helper()
	for _, c := range h.Status().Children {
		if c.Server == name {
			return c
		}
	}
	t.Fatalf("there is no child %s", name)
	return status.Child{}
}

// TestWhatTheFirstCallToANewProcessChanges is told to a client that had subscribed at the process before, in both eras.
func TestWhatTheFirstCallToANewProcessChanges(t *testing.T) {
	for _, modernClient := range []bool{false, true} {
		child := played("kid", spec.ShareSession, childtest.Script{Era: "modern", Library: true})
		child.IdleTimeout = 30 * time.Second
		play(t, []spec.Spec{child}, func(t *testing.T, h *Hub, _ *stage) {
			touch := toolCall("kid__touch", `{"uri":"note://1"}`)
			var call func() string
			if modernClient {
				c, _ := enterModern(t, h, `{}`)
				end, ended := c.listen(`{"resourceSubscriptions":["note://1"]}`)
				defer func() { end(errors.New("enough")); <-ended }()
				synctest.Wait()
				call = func() string { return c.raw("tools/call", touch) }
			} else {
				c, _ := enter(t, h)
				c.handshake(`{}`)
				c.raw("resources/subscribe", `{"uri":"note://1"}`)
				call = func() string { return c.raw("tools/call", touch) }
			}
			if said := call(); !strings.Contains(said, `"told":true`) {
				t.Fatalf("control: a modern client %v, in the first process: %s", modernClient, said)
			}
			time.Sleep(time.Minute)
			if st := childOf(t, h, "kid"); st.State != "stopped" {
				t.Fatalf("control: the child is %s", st.State)
			}
			if said := call(); !strings.Contains(said, `"told":true`) {
				t.Errorf("a modern client %v: %s", modernClient, said)
			}
		})
	}
}
