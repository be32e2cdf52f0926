package hub

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mcphub/children"
	"mcphub/children/childtest"
	"mcphub/hub/catalog"
	"mcphub/internal/jsonrpc"
)

// TestNothingIsLostWhileSubscriptionsAreMadeAnew: who has subscribed is told of
// every change, also while the hub subscribes again because the child was started.
func TestNothingIsLostWhileSubscriptionsAreMadeAnew(t *testing.T) {
	play(t, []children.Spec{played("kid", children.ShareSession, modernKid)}, "", 0, func(t *testing.T, h *Hub, _ *stage) {
		c, _ := enter(t, h, t.TempDir())
		c.hears = func(*jsonrpc.Message) {}
		c.handshake(everything)
		c.raw("tools/list", `{}`)
		time.Sleep(time.Minute) // what was made anew at the start is by now
		s := sessionOfTest(h)
		var told atomic.Int64
		who := &subscriber{s, func(string, ...[]byte) { told.Add(1) }}
		m := aboutURI(methodSubscribe, "note://1")
		at := source{catalog.Source{Child: "kid", URI: "note://1"}, s.hub.now()}
		if a, err := s.subscribeAt(t.Context(), m, at, m.Param("uri"), "note://1", who); err != nil || a.Error != nil {
			t.Fatalf("%s, %v", a.Error, err)
		}
		key := s.seats.Load().by["kid"].key
		const changes = 20_000
		var over atomic.Bool
		var all sync.WaitGroup
		all.Go(func() {
			for range changes {
				h.subs.relay(key, aboutURI("notifications/resources/updated", "note://1"))
			}
			over.Store(true)
		})
		again := 0
		for ; !over.Load(); again++ {
			h.subs.mu.Lock()
			h.subs.by[subscription{key, "note://1"}][who] = wish{uri: "note://1"} // as if it was asked for in an earlier Term
			h.subs.mu.Unlock()
			s.resubscribe(t.Context(), "kid")
		}
		all.Wait()
		if told.Load() != changes {
			t.Errorf("told of %d changes of %d, while it was made anew %d times", told.Load(), changes, again)
		}
		if again == 0 {
			t.Error("control: it was never made anew")
		}
		h.subs.drop(subscription{key, "note://1"}, who)
		if s.resubscribe(t.Context(), "kid"); len(h.subs.of(s, "kid")) != 0 {
			t.Error("what nobody wants any more was subscribed again")
		}
	})
}

// TestASubscriptionThatStartsAChildReachesItOnce: the child comes up while the
// request is under way, and is not asked for the same once more. What was asked
// of an earlier process is.
func TestASubscriptionThatStartsAChildReachesItOnce(t *testing.T) {
	spec := played("kid", children.ShareSession, childtest.Script{Library: true})
	spec.IdleTimeout = 30 * time.Second
	play(t, []children.Spec{spec}, "", 0, func(t *testing.T, h *Hub, stage *stage) {
		first, leave := enter(t, h, t.TempDir())
		first.handshake(declared)
		first.raw("tools/list", `{}`)
		leave()
		c, _ := enter(t, h, t.TempDir())
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
		c.raw(methodSubscribe, `{"uri":"note://1"}`)
		time.Sleep(time.Minute)
		if n := updates.Load(); n != 1 {
			t.Errorf("it was asked %d times", n)
		}
		if st := childOf(t, h, "kid"); st.State != "stopped" {
			t.Fatalf("control: the child is %s", st.State)
		}
		c.raw("tools/call", call("kid__echo", `{}`))
		time.Sleep(time.Minute)
		if n := updates.Load(); n != 2 {
			t.Errorf("with the second process it was asked %d times", n)
		}
	})
}

// childOf is the one instance of a child.
func childOf(t *testing.T, h *Hub, name string) ChildStatus {
	t.Helper()
	for _, c := range h.Status().Children {
		if c.Server == name {
			return c
		}
	}
	t.Fatalf("there is no child %s", name)
	return ChildStatus{}
}
