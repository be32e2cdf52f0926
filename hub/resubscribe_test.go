package hub

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mcphub/children"
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
		at := source{s.hub.now(), "kid", "note://1"}
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
