package hub

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"mcphub/children/spec"
	"mcphub/e2e/childtest"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
)

// Over HTTP the question comes on the stream of the call that asks, and its
// answer as a POST of the session.
func TestApprovalOverHTTP(t *testing.T) {
	a := &askedHub{T: t, s: newStage()}
	cfg := a.config([]spec.Spec{played("kid", spec.ShareSession, childtest.Script{AskRoots: true})})
	cfg.Launcher = a.s
	a.h = runHub(t, cfg)
	w := serveWeb(t, a.h, HTTPOptions{})
	try := func(c *webClient, tag, answer string) (msg string, denied bool, asked int) {
		roots := c.answering(a.at("root"))
		got := c.frames(c.request("tools/call", toolCall("kid__echo", fmt.Sprintf(`{"tag":%q,"path":%q}`, tag, a.at("data", "one", "1.txt")))), func(m *jsonrpc.Message, event string) {
			roots(m, event)
			if m.Method != methods.Elicit {
				return
			}
			asked++
			if r := c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, answer)); r.StatusCode != http.StatusAccepted {
				t.Errorf("answering: %d", r.StatusCode)
			}
			// Again, and from someone else: no caller waits for it any more.
			c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, yes))
		})
		msg, denied = text(string(got.Result))
		return msg, denied, asked
	}
	c := w.initialize(canAsk).initialized()
	if msg, denied, asked := try(c, "declined", no); !denied || asked != 1 || !strings.Contains(msg, "the person said no") || a.s.who("declined") != nil {
		t.Errorf("declined: %d questions, %s", asked, msg)
	}
	if msg, denied, asked := try(c, "allowed", yes); denied || asked != 1 || a.s.who("allowed") == nil {
		t.Errorf("allowed: %d questions, %s", asked, msg)
	}
	if _, denied, asked := try(c, "granted", no); denied || asked != 0 {
		t.Errorf("granted: denied %v, %d questions", denied, asked)
	}
	other := w.initialize(canAsk).initialized()
	if _, denied, asked := try(other, "other", no); !denied || asked != 1 || a.s.who("other") != nil {
		t.Errorf("another session: denied %v, %d questions", denied, asked)
	}
	// Another session cannot answer.
	third := w.initialize(canAsk).initialized()
	roots := third.answering(a.at("root"))
	got := third.frames(third.request("tools/call", toolCall("kid__echo", fmt.Sprintf(`{"tag":"foreign","path":%q}`, a.at("data", "one", "1.txt")))), func(m *jsonrpc.Message, event string) {
		roots(m, event)
		if m.Method == methods.Elicit {
			c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, yes))
			other.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, yes))
			third.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, no))
		}
	})
	if _, denied := text(string(got.Result)); !denied || a.s.who("foreign") != nil {
		t.Errorf("another session has answered: %s", got.Result)
	}
}
