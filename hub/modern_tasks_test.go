package hub

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"mcphub/children/spec"
	"mcphub/e2e/childtest"
	"mcphub/hub/modern"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
)

const taskCaps = `{"roots":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}`

func taskCall(id string) string {
	return toolCall("kid__kind", fmt.Sprintf(`{"result":{"resultType":"task","taskId":%q,"status":"working","createdAt":"2026-07-28T00:00:00Z","lastUpdatedAt":"2026-07-28T00:00:00Z","ttlMs":null}}`, id))
}

func news(id, status string) string {
	return toolCall("kid__news", fmt.Sprintf(`{"taskId":%q,"status":%q}`, id, status))
}

// What becomes of a task is told on the streams that named it, of the client that it was made for.
func TestListenTellsOfTasks(t *testing.T) {
	specs := []spec.Spec{played("kid", spec.ShareAll, childtest.Script{Era: "modern", Asks: true, Tasks: true}), played("plain", spec.ShareSession, childtest.Script{Era: "modern"})}
	play(t, specs, func(t *testing.T, h *Hub, _ *stage) {
		c, _ := enterModern(t, h, taskCaps)
		other, _ := enterModern(t, h, taskCaps)
		c.raw("tools/list", `{}`)
		if caps := member(c.raw("server/discover", `{}`), "capabilities"); member(member(caps, "extensions"), methods.ExtensionTasks) != `{}` {
			t.Errorf("discover: %s", caps)
		}
		for _, id := range []string{"t1", "t2", "quiet"} {
			if got := c.raw("tools/call", taskCall(id)); member(got, "taskId") != fmt.Sprintf("%q", id) {
				t.Fatalf("no task: %s", got)
			}
		}
		end, ended := c.listen(`{"taskIds":["t1","quiet","nobody's","t1"],"toolsListChanged":true}`)
		all := c.said()
		if len(all) != 1 || !strings.Contains(all[0], `"notifications":{"toolsListChanged":true,"taskIds":["t1"]}`) {
			t.Fatalf("said %q", all)
		}
		id := member(member(strings.SplitN(all[0], " ", 2)[1], "_meta"), modern.MetaSubscription)
		second, _ := c.listen(`{"taskIds":["t1"]}`)
		_, _ = c.listen(`{"toolsListChanged":true}`)
		if all := c.said(); len(all) != 2 {
			t.Fatalf("said %q", all)
		}
		_, _ = other.listen(`{"taskIds":["t1"]}`) // not its own
		if all := other.said(); len(all) != 1 || !strings.Contains(all[0], `"notifications":{}`) {
			t.Errorf("another client: %q", all)
		}
		tell := func(id, status string) []string {
			c.raw("tools/call", news(id, status))
			return c.said()
		}
		all = tell("t1", "working")
		if len(all) != 2 {
			t.Errorf("two streams heard %q", all)
		}
		mine := 0
		for _, n := range all {
			if strings.HasPrefix(n, "notifications/tasks ") && strings.Contains(n, `"taskId":"t1","status":"working","n":1.0`) && strings.Contains(n, `"`+modern.MetaSubscription+`":`+id) {
				mine++
			}
		}
		if mine != 1 {
			t.Errorf("on the first stream: %q", all)
		}
		if all := tell("t2", "working"); len(all) != 0 {
			t.Errorf("of a task that no stream named: %q", all)
		}
		second(errors.New("enough"))
		c.said()
		if all := tell("t1", "input_required"); len(all) != 1 {
			t.Errorf("one stream heard %q", all)
		}
		end(errors.New("enough"))
		<-ended
		if all := c.said(); len(all) != 0 {
			t.Errorf("after the end: %q", all)
		}
		if got := c.raw("tools/call", news("t1", "completed")); member(member(got, "structuredContent"), "told") != "false" {
			t.Errorf("the child still tells: %s", got)
		}
		if all := other.said(); len(all) != 0 {
			t.Errorf("another client heard %q", all)
		}
	})
}

// Tasks are for clients that declare them with each request.
func TestTasksOfAClientThatDeclaresNone(t *testing.T) {
	specs := []spec.Spec{played("kid", spec.ShareSession, childtest.Script{Era: "modern", Asks: true, Tasks: true})}
	play(t, specs, func(t *testing.T, h *Hub, _ *stage) {
		c, _ := enterModern(t, h, `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`)
		c.raw("tools/call", taskCall("t1"))
		for method, params := range map[string]string{
			"tasks/get": `{"taskId":"t1"}`, "tasks/cancel": `{"taskId":"t1"}`, "tasks/update": `{"taskId":"t1","inputResponses":{}}`,
		} {
			if got := c.once(method, params); got.Err() != nil {
				t.Errorf("control: %s: %v", method, got.Err())
			}
			for _, caps := range []string{`{}`, `{"extensions":{}}`, `{"extensions":{"io.modelcontextprotocol/tasks":true}}`, `{"tasks":{}}`} {
				c.caps = caps
				e := c.refused(method, params)
				if e.Code != -32021 || string(e.Data) != `{"requiredCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}` {
					t.Errorf("%s with %s: %v %s", method, caps, e, e.Data)
				}
			}
			c.caps = `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`
		}
		c.caps = `{}`
		if e := c.refused("subscriptions/listen", `{"notifications":{"taskIds":["t1"]}}`); e.Code != -32021 || e.Data == nil {
			t.Errorf("listen: %v", e)
		}
		_, ended := c.listen(`{"taskIds":[]}`) // which asks for none
		if all := c.said(); len(all) != 1 || len(ended) != 0 {
			t.Errorf("said %q", all)
		}
		if e := c.refused("subscriptions/listen", `{"notifications":{"taskIds":"t1"}}`); e.Code != jsonrpc.CodeInvalidParams {
			t.Errorf("no list: %v", e)
		}
	})
}

// Of the answers that a client gives a task those about roots are made the ones that the child is served; all else passes as it is.
func TestUpdateOfATask(t *testing.T) {
	specs := []spec.Spec{played("kid", spec.ShareSession, childtest.Script{Era: "modern", Asks: true, Tasks: true})}
	play(t, specs, func(t *testing.T, h *Hub, _ *stage) {
		in := t.TempDir()
		c, _ := enterModern(t, h, taskCaps, in)
		c.full("tools/call", taskCall("t1"), nil)
		const update = `{"taskId":"t1","inputResponses":{"who": {"action":"accept","content":{"n":1.0}},"r":{"roots":[{"uri":"file:///"}]}}}`
		c.raw("tasks/update", update)
		got := c.noticed("kid", "tasks/update")
		if len(got) != 1 || strings.Contains(got[0], `"file:///"`) || !strings.Contains(got[0], in) || !strings.Contains(got[0], `"content":{"n":1.0}`) {
			t.Errorf("the child was sent %q", got)
		}
		c.raw("tasks/update", `{"taskId":"t1","inputResponses":{"who": {"action":"accept","content":{"roots": 1.0}}}}`)
		if got := c.noticed("kid", "tasks/update"); len(got) != 2 || !strings.Contains(got[1], `"inputResponses":{"who": {"action":"accept","content":{"roots": 1.0}}}`) {
			t.Errorf("the child was sent %q", got)
		}
	})
}

// TestALongIDOfATask: the client is told, and the task is cancelled.
func TestALongIDOfATask(t *testing.T) {
	specs := []spec.Spec{played("kid", spec.ShareAll, childtest.Script{Era: "modern", Asks: true, Tasks: true})}
	play(t, specs, func(t *testing.T, h *Hub, _ *stage) {
		c, _ := enterModern(t, h, taskCaps)
		c.raw("tools/list", `{}`)
		if got := c.raw("tools/call", taskCall(strings.Repeat("x", 1024))); member(got, "taskId") == "" {
			t.Errorf("no task: %.300s", got)
		}
		if e := c.refused("tools/call", taskCall(strings.Repeat("x", 1025))); !strings.Contains(e.Message, "more than 1024 bytes") {
			t.Errorf("a task with a longer id: %s", e.Message)
		}
	})
}
