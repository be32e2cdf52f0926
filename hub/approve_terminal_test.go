package hub

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcphub/hub/approval"
	"mcphub/validate"
)

func atATerminal(c *Config, _ *validate.Config) { c.Approval.Terminal = true }

// pending waits for the questions at the terminal.
func (a *askedHub) pending(n int) []approval.Pending {
	a.Helper()
	synctest.Wait()
	list := a.h.Terminal().Pending()
	if len(list) != n {
		a.Fatalf("%d questions wait at the terminal, want %d", len(list), n)
	}
	return list
}

func (a *askedHub) code(id string) string {
	a.Helper()
	code, err := a.h.Terminal().Code(id)
	if err != nil {
		a.Fatal(err)
	}
	return code
}

func TestAPersonAtATerminalAnswers(t *testing.T) {
	approving(t, nil, func(a *askedHub) {
		c, _ := a.client(nil)
		one := reading(a.at("data", "one", "1.txt"))
		answer := a.begin(a.Context(), c, "kid__echo", tagged("tty", one))
		q := a.pending(1)[0]
		if !strings.Contains(q.Text, a.at("data", "one")) || q.Client != "test 1" || q.Until.Sub(q.Since) != time.Minute {
			a.Errorf("asked %+v", q)
		}
		code := a.code(q.ID)
		// What a client can see tells neither.
		seen := c.raw("tools/call", toolCall("get-roots", `{}`)) + c.raw("tools/call", toolCall("list-tools", `{}`))
		status := a.h.Status()
		for _, s := range status.Sessions {
			for _, r := range s.Questions {
				seen += r.What + r.Server + r.Asked
			}
		}
		if strings.Contains(seen, q.ID) || strings.Contains(seen, code) {
			a.Errorf("a client is shown the id or the code: %s", seen)
		}
		if err := a.h.Terminal().Answer(q.ID, strings.ToLower(" "+code+" "), "directory"); err != nil {
			a.Error(err)
		}
		if got := <-answer; got != "ok" || strings.Contains(got, code) {
			a.Errorf("answered %s", got)
		}
		if got := c.grants(a.T); len(got) != 1 {
			a.Errorf("grants: %+v", got)
		}
		// Once.
		if err := a.h.Terminal().Answer(q.ID, code, "directory"); !errors.Is(err, approval.ErrNoQuestion) {
			a.Errorf("the code again: %v", err)
		}
		a.pending(0)
	}, atATerminal)
}

// One that can be asked is asked, and no terminal in its place.
func TestATerminalIsNotForClientsThatCanAsk(t *testing.T) {
	approving(t, nil, func(a *askedHub) {
		p, letGo := silent()
		c, _ := a.client(p)
		answer := a.begin(a.Context(), c, "kid__echo", reading(a.at("data", "one", "1.txt")))
		<-p.seen
		a.pending(0)
		letGo(no)
		<-answer
	}, atATerminal)
}
