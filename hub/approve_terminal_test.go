package hub

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"mcphub/hub/approval"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
	"mcphub/validate"
)

func atATerminal(c *Config, _ *validate.Config) {
	c.Approval.From = &approval.Channels{Client: true, Terminal: true}
}

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

// answer answers a question from the terminal.
func (a *askedHub) answer(q approval.Pending, code, decision string) error {
	return a.h.Terminal().Answer(approval.PendingAnswer{ID: q.ID, Digest: q.Digest, From: approval.AskedTerminal, Code: code, Decision: decision})
}

// Client, terminal and console are asked at once, and the first that says yes lets the call pass. The client is told
// that its question is over.
func TestSeveralAreAskedAtOnce(t *testing.T) {
	for _, by := range []string{approval.AskedClient, approval.AskedTerminal, approval.AskedConsole} {
		t.Run(by, func(t *testing.T) {
			approving(t, nil, func(a *askedHub) {
				p, letGo := silent()
				told := make(chan struct{}, 1)
				inner := p.says
				p.says = func(ctx context.Context, m *jsonrpc.Message) string {
					answer := inner(ctx, m)
					if ctx.Err() != nil {
						told <- struct{}{}
					}
					return answer
				}
				c, _ := a.client(p)
				answer := a.begin(a.Context(), c, "kid__echo", tagged("several", reading(a.at("data", "one", "1.txt"))))
				<-p.seen
				q := a.pending(1)[0]
				if st := a.h.Status().Sessions[0].Questions; len(st) != 1 || st[0].Asked != "client, terminal, console" {
					a.Errorf("status %+v", st)
				}
				if len(q.Paths) != 1 || !q.Paths[0].Asks || q.Paths[0].Role != "read" || !strings.Contains(q.Paths[0].Path, a.at("data", "one", "1.txt")) || q.Server != "kid" || q.What != "echo" {
					a.Errorf("what waits: %+v", q)
				}
				r := approval.PendingAnswer{ID: q.ID, Digest: q.Digest, From: by, Decision: "directory"}
				switch by {
				case approval.AskedClient:
					letGo(yes)
				case approval.AskedTerminal:
					r.Code = a.code(q.ID)
					seen := c.raw("tools/call", toolCall("get-roots", `{}`)) + c.raw("tools/call", toolCall("list-tools", `{}`))
					if strings.Contains(seen, q.ID) || strings.Contains(seen, r.Code) {
						a.Errorf("a client is shown the id or the code: %s", seen)
					}
					fallthrough
				default:
					if err := a.h.Terminal().Answer(r); err != nil {
						a.Error(err)
					}
					<-told
				}
				if got := <-answer; got != "ok" {
					a.Errorf("answered %s", got)
				}
				a.pending(0)
				if got := a.h.Status().Sessions[0].Grants; len(got) != 1 || got[0].By != by {
					a.Errorf("grants %+v", got)
				}
				if err := a.h.Terminal().Answer(r); !errors.Is(err, approval.ErrAnswered) {
					a.Errorf("afterwards: %v", err)
				}
			}, func(c *Config, _ *validate.Config) {
				c.Approval.From = &approval.Channels{Client: true, Terminal: true, Console: true}
			})
		})
	}
}

// A modern client is asked by the answer to its call. What is allowed at the terminal meanwhile is its answer when it
// comes again, whatever it brings; a no that it brings before that counts.
func TestModernClientAndTerminal(t *testing.T) {
	modernWays(t, modernCaps, func(_ *testing.T, a *askedHub, c *modernWay) {
		one := reading(a.at("data", "one", "1.txt"))
		params, tag := echoing(one)
		asked := c.question(params)
		q := a.pending(1)[0]
		if err := a.answer(q, a.code(q.ID), "directory"); err != nil {
			a.Error(err)
		}
		synctest.Wait()
		if a.s.who(tag) == nil {
			a.Error("the call waits for its client, although it was allowed")
		}
		msg, denied := c.answer(asked, params, no)
		c.outcome(one, msg, denied, tag, "")

		two := reading(a.at("data", "two", "2.txt"))
		params, tag = echoing(two)
		asked = c.question(params)
		q = a.pending(1)[0]
		msg, denied = c.answer(asked, params, no)
		c.outcome(two, msg, denied, tag, "the person said no")
		if err := a.answer(q, "", "deny"); !errors.Is(err, approval.ErrAnswered) {
			a.Errorf("afterwards: %v", err)
		}
	}, atATerminal)
}

// If no one answers, the client is told where a person could have, by its progress and by the result, and by no command
// that answers.
func TestAClientIsToldWhereAPersonCanAnswer(t *testing.T) {
	approving(t, nil, func(a *askedHub) {
		c, _ := a.client(nil)
		var progress []string
		c.hears = func(m *jsonrpc.Message) {
			if m.Method == methods.Progress {
				text, _ := jsonrpc.String(m.Param("message"))
				progress = append(progress, text)
			}
		}
		params := strings.TrimSuffix(toolCall("kid__echo", reading(a.at("data", "one", "1.txt"))), "}") + `,"_meta":{"progressToken":1}}`
		msg, denied := text(c.raw("tools/call", params))
		const where = "at a terminal of the hub's user or on the page of the hub's console"
		if !denied || !strings.Contains(msg, "nobody has answered in time; a person could have answered "+where+" (ask your user to run `mcphub why`)") {
			a.Errorf("denied %v: %s", denied, msg)
		}
		synctest.Wait()
		if len(progress) == 0 || progress[0] != "waiting for approval: a person can answer "+where {
			a.Errorf("progress %q", progress)
		}
		if all := msg + fmt.Sprint(progress); strings.Contains(all, "mcphub approve") || strings.Contains(all, "mcphub console") {
			a.Errorf("a command is told: %s", all)
		}
	}, func(c *Config, _ *validate.Config) {
		c.Approval.From = &approval.Channels{Client: true, Terminal: true, Console: true}
	})
}

// Whom approval.from does not name is not asked, and cannot allow.
func TestWhoIsNotNamedAllowsNothing(t *testing.T) {
	approving(t, nil, func(a *askedHub) {
		p := saying(yes)
		c, _ := a.client(p)
		answer := a.begin(a.Context(), c, "kid__echo", reading(a.at("data", "one", "1.txt")))
		q := a.pending(1)[0]
		a.asks(p, 0)
		if _, err := a.h.Terminal().Code(q.ID); !errors.Is(err, approval.ErrNotAsked) {
			a.Errorf("a code: %v", err)
		}
		if err := a.answer(q, "", "directory"); !errors.Is(err, approval.ErrNotAsked) {
			a.Errorf("from a terminal: %v", err)
		}
		if err := a.h.Terminal().Answer(approval.PendingAnswer{ID: q.ID, Digest: q.Digest, From: approval.AskedConsole, Decision: "directory"}); err != nil {
			a.Errorf("the control: %v", err)
		}
		if got := <-answer; got != "ok" {
			a.Errorf("answered %s", got)
		}
	}, func(c *Config, _ *validate.Config) { c.Approval.From = &approval.Channels{Console: true} })
}
