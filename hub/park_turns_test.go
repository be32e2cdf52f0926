package hub

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mcphub/children"
	"mcphub/children/childtest"
	"mcphub/internal/jsonrpc"
)

// A call that waits for its client, and has the turn of a child, gives way to one with other roots after a while, and its
// retry begins anew; while nobody waits, or whoever waits brings the same roots, it goes on.
func TestParkedCallsGiveWay(t *testing.T) {
	spec := played("kid", children.ShareSession, childtest.Script{Asks: true})
	spec.Cwd = t.TempDir() // so that no roots restart it
	play(t, []children.Spec{spec}, "", 0, func(t *testing.T, h *Hub, _ *stage) {
		w, _, _ := bubbleWeb(t, h, HTTPOptions{})
		mine, other := t.TempDir(), t.TempDir()
		holder, same, waits := w.modern("", mine), w.modern("", mine), w.modern("", other)
		holder.caps = `{"roots":{},"elicitation":{}}`
		holder.answer = func(string, []byte) string { return `{"action":"accept","content":{}}` }
		params := call("kid__ask", strings.Replace(elicits, "{", fmt.Sprintf(`{"path":%q,`, mine), 1))
		park := func() (retry string) {
			first, _ := holder.outcome(holder.once("tools/call", params), nil)
			m, _ := holder.outcome(holder.once("tools/call", holder.again(params, first.Result)), nil)
			if a, ok := askedBy(string(m.Result)); !ok || len(a.keys) != 1 || a.methods[a.keys[0]] != methodElicit {
				t.Fatalf("%s%s", m.Result, m.Error)
			}
			return holder.again(params, m.Result)
		}
		// Alone, it has its time, and who brings the same does not wait for it.
		retry := park()
		time.Sleep(5 * time.Minute)
		if msg, bad := same.call("kid__echo", fmt.Sprintf(`{"path":%q}`, mine)); bad {
			t.Errorf("the same roots: %s", msg)
		}
		if m, _ := holder.outcome(holder.once("tools/call", retry), nil); !strings.Contains(string(m.Result), `"accept"`) {
			t.Errorf("control: %s%s", m.Result, m.Error)
		}
		retry = park()
		began := time.Now()
		if msg, bad := waits.call("kid__echo", fmt.Sprintf(`{"path":%q}`, other)); bad {
			t.Errorf("with other roots: %s", msg)
		}
		if took := time.Since(began); took < givesWayAfter || took > givesWayAfter+5*time.Second {
			t.Errorf("it has waited %s", took)
		}
		synctest.Wait()
		if n := h.parked.Load(); n != 0 {
			t.Errorf("%d are parked", n)
		}
		if got := w.modern("").noticed("kid"); strings.Count(got, "notifications/cancelled") != 1 || !strings.Contains(got, "other roots") {
			t.Errorf("the child was told %s", got)
		}
		// Its retry is refused to others, and begins anew, once.
		changed := strings.Replace(retry, `"message":"sure?"`, `"message":"why?"`, 1)
		if m, _ := holder.outcome(holder.once("tools/call", changed), nil); changed == retry || codeOf(m) != -32602 {
			t.Errorf("another call with its state: %s%s", m.Result, m.Error)
		}
		m, _ := holder.outcome(holder.once("tools/call", retry), nil)
		if a, ok := askedBy(string(m.Result)); !ok || len(a.keys) != 1 || a.keys[0] != rootsKey {
			t.Fatalf("anew: %s%s", m.Result, m.Error)
		}
		if again, _ := holder.outcome(holder.once("tools/call", retry), nil); codeOf(again) != -32602 {
			t.Errorf("a second time: %s%s", again.Result, again.Error)
		}
		for range 3 {
			if _, ok := askedBy(string(m.Result)); ok {
				m, _ = holder.outcome(holder.once("tools/call", holder.again(params, m.Result)), nil)
			}
		}
		if !strings.Contains(string(m.Result), `"accept"`) {
			t.Errorf("in the end: %s%s", m.Result, m.Error)
		}
	})
}

// Beyond the bound the oldest that gave way is forgotten: its retry is refused.
func TestWhoGaveWayIsRememberedWithinABound(t *testing.T) {
	l := &lot{}
	for i := range mostParked + 5 {
		l.mu.Lock()
		l.lapse(fmt.Sprint(i))
		l.mu.Unlock()
	}
	if len(l.lapsed) != mostParked || l.anew("4") || !l.anew("5") || l.anew("5") {
		t.Errorf("%q", l.lapsed)
	}
}

// What the work of a parley ends with is let go of when its client does not come again, whichever comes first.
func TestAnAbandonedAnswerIsReleased(t *testing.T) {
	for name, first := range map[string]string{"answered, then abandoned": "answer", "abandoned, then answered": "abandon", "at once": ""} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				p := &parley{cancel: cancel, done: make(chan jsonrpc.Answer, 1)}
				var released atomic.Int32
				answer := func() { p.deliver(jsonrpc.Answer{Result: []byte(`{}`), Release: func() { released.Add(1) }}) }
				abandon := func() { p.abandon(errAbandoned) }
				switch first {
				case "answer":
					answer()
					abandon()
				case "abandon":
					abandon()
					answer()
				default:
					go answer()
					go abandon()
				}
				synctest.Wait()
				if n := released.Load(); n != 1 || !errors.Is(context.Cause(ctx), errAbandoned) || len(p.done) != 0 {
					t.Errorf("released %d times, %v", n, context.Cause(ctx))
				}
			})
		})
	}
}

func onlySession(h *Hub) (s *Session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s = range h.sessions {
	}
	return s
}

// A parked request that is taken or given up leaves no timer behind, which would hold it for ten minutes more.
func TestParkedRequestsLeaveNoTimer(t *testing.T) {
	askingStage(t, func(t *testing.T, h *Hub, _ *stage) {
		c, _ := enterModern(t, h, askCaps)
		params := asking("kid", methodElicit, someForm)
		var spots []*spot
		note := func() {
			s := onlySession(h)
			s.modern.lot.mu.Lock()
			defer s.modern.lot.mu.Unlock()
			for _, spot := range s.modern.lot.parked {
				spots = append(spots, spot)
			}
		}
		a := c.mustAsk("tools/call", params)
		note()
		c.raw("tools/call", a.retry(params, map[string]string{a.keys[0]: accepted}))
		for i := range mostParked + 1 {
			c.mustAsk("tools/call", asking("kid", methodElicit, someForm, fmt.Sprintf(`,"task":"%d"`, i)))
			if i == 0 {
				note() // the oldest, which is given up
			}
		}
		if len(spots) != 2 {
			t.Fatalf("%d spots", len(spots))
		}
		for i, spot := range spots {
			if spot.expire.Stop() {
				t.Errorf("%d: its timer still ran", i)
			}
		}
	})
}
