package hub

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"mcphub/e2e/bounds"
	"mcphub/e2e/childtest"
	"mcphub/e2e/seeds"
)

// Calls of either way, allowed and denied, with progress and without, leave no
// goroutine, no route and no one who waits. MCPHUB_LONG_CASES says how many.
func TestCallsLeaveNoGoroutine(t *testing.T) {
	count := seeds.Cases(t, 400)
	h := newTestHub(t, scripted("kid", childtest.Script{}))
	c := connect(t, h, t.TempDir())
	c.handshake(`{"roots":{}}`)
	many := func(n int) {
		const callers = 16
		var wg sync.WaitGroup
		for i := range callers {
			wg.Go(func() {
				for k := range n / callers {
					params := toolCall("kid__echo", `{"text":"hello"}`)
					switch k % 4 {
					case 1:
						params = toolCall("kid__echo", `{"path":"/etc/passwd"}`)
					case 2:
						params = fmt.Sprintf(`{"name":"kid__echo","arguments":{},"_meta":{"progressToken":"%d-%d"}}`, i, k)
					case 3:
						params = toolCall("kid__nobody", `{}`)
					}
					resp, err := c.conn.Call(context.Background(), "tools/call", []byte(params))
					if err != nil {
						t.Error(err)
						return
					}
					resp.Release()
				}
			})
		}
		wg.Wait()
	}
	many(400)
	before := runtime.NumGoroutine()
	many(count)
	after := 0
	if !bounds.Within(bounds.Patience, func() bool { // a writer's goroutine may be about to end
		after = runtime.NumGoroutine()
		return after <= before+16
	}) {
		t.Errorf("%d goroutines after %d calls, %d before", after, count, before)
	}
	if n := h.progress.Routes(); n != 0 {
		t.Errorf("%d progress tokens are still known", n)
	}
}
