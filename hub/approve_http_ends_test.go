package hub

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
)

// Over HTTP too a question without an answer counts as no, and a question whose call is cancelled is withdrawn. Neither leaves anything open.
func TestApprovalOverHTTPThatDoesNotCome(t *testing.T) {
	approving(t, nil, func(a *askedHub) {
		c := bubble(a.T, a.h).initialize(canAsk).initialized()
		roots := c.answering(a.at("root"))
		call := func(tag string, asked func()) (answer *jsonrpc.Message, withdrawn bool) {
			params := toolCall("kid__echo", fmt.Sprintf(`{"tag":%q,"path":%q}`, tag, a.at("data", "one", "1.txt")))
			answer = c.frames(c.request("tools/call", params), func(m *jsonrpc.Message, event string) {
				roots(m, event)
				switch m.Method {
				case methods.Elicit:
					asked()
				case "notifications/cancelled":
					withdrawn = true
				}
			})
			if a.s.who(tag) != nil {
				a.Errorf("%s: the child got the call", tag)
			}
			return answer, withdrawn
		}
		var began time.Time
		questions := 0
		got, withdrawn := call("unanswered", func() { questions++; began = time.Now() })
		if msg, denied := text(string(got.Result)); !denied || !strings.Contains(msg, "nobody has answered in time") || questions != 1 || !withdrawn || time.Since(began) < time.Minute {
			a.Errorf("unanswered: after %s, withdrawn %t: %s", time.Since(began), withdrawn, msg)
		}
		got, withdrawn = call("cancelled", func() {
			questions++
			c.mu.Lock()
			id := c.id
			c.mu.Unlock()
			c.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id))
		})
		if got != nil || questions != 2 || !withdrawn {
			a.Errorf("cancelled: %d questions, withdrawn %t, answered with %+v", questions, withdrawn, got)
		}
	})
}
