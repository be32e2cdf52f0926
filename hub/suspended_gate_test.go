package hub

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcphub/children/spec"
	"mcphub/e2e/childtest"
	"mcphub/hub/modern"
	"mcphub/internal/methods"
)

// A call that waits for its client, and has the turn of a child, gives way to one with other roots after a while, and its
// retry begins again; while no one waits, or the one who waits brings the same roots, it goes on.
func TestSuspendedCallsGiveWay(t *testing.T) {
	child := played("kid", spec.ShareSession, childtest.Script{Asks: true})
	child.Cwd = t.TempDir() // so that no roots restart it
	play(t, []spec.Spec{child}, func(t *testing.T, h *Hub, _ *stage) {
		w, _, _ := bubbleWeb(t, h, HTTPOptions{})
		mine, other := t.TempDir(), t.TempDir()
		holder, same, waits := w.modern("", mine), w.modern("", mine), w.modern("", other)
		holder.caps = `{"roots":{},"elicitation":{}}`
		holder.answer = func(string, []byte) string { return `{"action":"accept","content":{}}` }
		params := toolCall("kid__ask", strings.Replace(elicits, "{", fmt.Sprintf(`{"path":%q,`, mine), 1))
		park := func() (retry string) {
			first, _ := holder.outcome(holder.once("tools/call", params), nil)
			m, _ := holder.outcome(holder.once("tools/call", holder.again(params, first.Result)), nil)
			if a, ok := askedBy(string(m.Result)); !ok || len(a.keys) != 1 || a.methods[a.keys[0]] != methods.Elicit {
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
		if took := time.Since(began); took < modern.GivesWayAfter || took > modern.GivesWayAfter+5*time.Second {
			t.Errorf("it has waited %s", took)
		}
		synctest.Wait()
		if n := h.suspended.Load(); n != 0 {
			t.Errorf("%d are suspended", n)
		}
		if got := w.modern("").noticed("kid"); strings.Count(got, "notifications/cancelled") != 1 || !strings.Contains(got, "other roots") {
			t.Errorf("the child was told %s", got)
		}
		// Its retry is refused to others, and begins again, once.
		changed := strings.Replace(retry, `"message":"sure?"`, `"message":"why?"`, 1)
		if m, _ := holder.outcome(holder.once("tools/call", changed), nil); changed == retry || codeOf(m) != -32602 {
			t.Errorf("another call with its state: %s%s", m.Result, m.Error)
		}
		m, _ := holder.outcome(holder.once("tools/call", retry), nil)
		if a, ok := askedBy(string(m.Result)); !ok || len(a.keys) != 1 || a.keys[0] != modern.RootsKey {
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
