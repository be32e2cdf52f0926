package hub

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcphub/children/spec"
	"mcphub/e2e/childtest"
	"mcphub/internal/jsonrpc"
	"mcphub/validate/policy"
)

func tasked(child, id string) string {
	return fmt.Sprintf(`{"name":%q,"arguments":{"task":%q},"task":{"ttl":60000,"x":1.0}}`, child+"__task", id)
}

func (c *testClient) taskIDs() (ids []string) {
	cursor := ""
	for {
		params := `{}`
		if cursor != "" {
			params = fmt.Sprintf(`{"cursor":%q}`, cursor)
		}
		result := []byte(c.raw("tasks/list", params))
		_ = jsonrpc.Elements(jsonrpc.Get(result, "tasks"), func(raw []byte) bool {
			id, _ := jsonrpc.String(jsonrpc.Get(raw, "taskId"))
			ids = append(ids, id)
			return true
		})
		next, ok := jsonrpc.String(jsonrpc.Get(result, "nextCursor"))
		if !ok {
			return ids
		}
		cursor = next
	}
}

func TestTasksGoToTheChildThatMadeThem(t *testing.T) {
	specs := []spec.Spec{
		played("one", spec.ShareSession, childtest.Script{Asks: true}), played("two", spec.ShareSession, childtest.Script{Asks: true}),
		played("all", spec.ShareAll, childtest.Script{Asks: true}),
	}
	play(t, specs, func(t *testing.T, h *Hub, _ *stage) {
		a, _ := enter(t, h)
		b, _ := enter(t, h)
		heardA, heardB := a.hearing(), b.hearing()
		a.handshake(everything)
		b.handshake(everything)
		for child, id := range map[string]string{"one": "t1", "two": "t2", "all": "t3"} {
			want := fmt.Sprintf(`{"task":{"taskId":%q,"status":"working","ttl":60000,"x-odd":1.0},"_meta":{"n":12345678901234567890}}`, id)
			if got := a.raw("tools/call", tasked(child, id)); got != want {
				t.Errorf("%s answered %s", child, got)
			}
		}
		for child, id := range map[string]string{"one": "t1", "two": "t2", "all": "t3"} {
			if got := a.raw("tasks/get", fmt.Sprintf(`{"taskId":%q,"x":1.0}`, id)); got != fmt.Sprintf(`{"taskId":%q,"status":"working","ttl":1e3}`, id) {
				t.Errorf("tasks/get: %s", got)
			}
			if got := a.raw("tasks/result", fmt.Sprintf(`{"taskId":%q}`, id)); !strings.Contains(got, fmt.Sprintf(`{"of":%q}`, id)) {
				t.Errorf("tasks/result: %s", got)
			}
			a.raw("tasks/cancel", fmt.Sprintf(`{"taskId":%q}`, id))
			if got := a.noticed(child, "tasks/get"); len(got) != 1 || got[0] != fmt.Sprintf(`{"taskId":%q,"x":1.0}`, id) {
				t.Errorf("%s was asked %q", child, got)
			}
			for _, method := range []string{"tasks/get", "tasks/result", "tasks/cancel"} { // another user's
				if e := b.refused(method, fmt.Sprintf(`{"taskId":%q}`, id)); e.Code != jsonrpc.CodeInvalidParams {
					t.Errorf("%s of another session: %v", method, e)
				}
			}
			a.raw("tools/call", say(child, "notifications/tasks/status", fmt.Sprintf(`{"taskId":%q,"status":"completed"}`, id), 1))
		}
		if got := a.taskIDs(); !slices.Equal(got, []string{"t1", "t2", "t3"}) {
			t.Errorf("tasks/list: %q", got)
		}
		b.noticed("all", "")
		if got := b.taskIDs(); len(got) != 0 {
			t.Errorf("tasks/list of another session: %q", got)
		}
		if count(heardA(), "notifications/tasks/status") != 3 || count(heardB(), "notifications/tasks/status") != 0 {
			t.Errorf("heard %q and %q", heardA(), heardB())
		}
		for _, bad := range []string{`"x"`, `5`, `"` + "b25lAHt9" + `"`} {
			if e := a.refused("tasks/list", `{"cursor":`+bad+`}`); e.Code != jsonrpc.CodeInvalidParams {
				t.Errorf("cursor %s: %v", bad, e)
			}
		}
		// An id that another child's task has.
		if e := a.refused("tools/call", tasked("two", "t1")); e.Code != jsonrpc.CodeInternal || !strings.Contains(e.Message, "id") {
			t.Errorf("%v", e)
		}
		if got := a.noticed("two", "tasks/cancel"); len(got) != 2 {
			t.Errorf("the task with the other's id was not cancelled: %q", got)
		}
		if got := a.raw("tasks/result", `{"taskId":"t1"}`); !strings.Contains(got, `"t1"`) || len(a.noticed("one", "tasks/result")) != 2 {
			t.Errorf("the first child lost its task: %s", got)
		}
	})
}

// TestATaskIsNoWayAroundTheBoundary: a call that asks for a task is judged like
// any other.
func TestATaskIsNoWayAroundTheBoundary(t *testing.T) {
	root := t.TempDir()
	play(t, []spec.Spec{played("kid", spec.ShareSession, childtest.Script{Asks: true})}, func(t *testing.T, h *Hub, _ *stage) {
		c, _ := enter(t, h, root)
		c.handshake(everything)
		ask := func(path string) string {
			return c.raw("tools/call", fmt.Sprintf(`{"name":"kid__task","arguments":{"task":"t","path":%q},"task":{}}`, path))
		}
		if msg, bad := text(ask(filepath.Join(filepath.Dir(root), "other"))); !bad || !strings.HasPrefix(msg, "Access denied") {
			t.Errorf("outside: %s", msg)
		}
		if got := ask(filepath.Join(root, "x")); !strings.Contains(got, `"taskId":"t"`) { // the control
			t.Errorf("inside: %s", got)
		}
		for _, odd := range []string{`"Task":{}`, `"task\u0000":{}`} {
			if e := c.refused("tools/call", `{"name":"kid__task","arguments":{},`+odd+`}`); e.Code != jsonrpc.CodeInvalidParams {
				t.Errorf("%s: %v", odd, e)
			}
		}
	})
}

// TestNoTasks: tasks are offered as long as a server may turn out to have some. Who was told that there are none gets no list of them.
func TestNoTasks(t *testing.T) {
	for name, tc := range map[string]struct {
		specs []spec.Spec
		have  bool
	}{
		"none":        {[]spec.Spec{played("kid", spec.ShareSession, childtest.Script{})}, false},
		"one of two":  {[]spec.Spec{played("kid", spec.ShareSession, childtest.Script{}), played("other", spec.ShareSession, childtest.Script{Asks: true})}, true},
		"other tasks": {[]spec.Spec{played("kid", spec.ShareSession, childtest.Script{Era: "modern", Tasks: true})}, false},
		"no servers":  {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, tc.specs, func(t *testing.T, h *Hub, _ *stage) {
				for _, known := range []bool{len(tc.specs) == 0, true} {
					c, leave := enter(t, h)
					told := strings.Contains(c.raw("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}`), `"tasks":{`)
					c.raw("tools/list", `{}`)
					if want := tc.have || !known; told != want {
						t.Errorf("known %t: told of tasks %t", known, told)
					}
					resp, err := c.conn.Call(context.Background(), "tasks/list", []byte(`{}`))
					if err != nil {
						t.Fatal(err)
					}
					if e := resp.Err(); told && (e != nil || string(resp.Result) != `{"tasks":[]}`) || !told && (e == nil || e.Code != jsonrpc.CodeMethodNotFound) {
						t.Errorf("known %t: %s %v", known, resp.Result, e)
					}
					leave()
				}
			})
		})
	}
}

// TestTasksOfTheClientBelongToTheChildThatAsked: no child sees another's.
func TestTasksOfTheClientBelongToTheChildThatAsked(t *testing.T) {
	specs := []spec.Spec{played("one", spec.ShareSession, childtest.Script{Asks: true}), played("two", spec.ShareSession, childtest.Script{Asks: true})}
	play(t, specs, func(t *testing.T, h *Hub, _ *stage) {
		c, _ := enter(t, h)
		c.asks = func(_ context.Context, _ *testClient, m *jsonrpc.Message) jsonrpc.Answer {
			switch m.Method {
			case "elicitation/create":
				return jsonrpc.ResultAnswer([]byte(`{"task":{"taskId":"c1","status":"working"}}`))
			case "tasks/list":
				return jsonrpc.ResultAnswer([]byte(`{"tasks":[{"taskId":"c0"},{"taskId":"c1","z":1.0}],"nextCursor":"n"}`))
			}
			return jsonrpc.ResultAnswer([]byte(`{"got":true}`))
		}
		c.handshake(everything)
		c.raw("tools/call", asking("one", "elicitation/create", `{"message":"?","task":{}}`))
		for child, want := range map[string][2]string{
			"one": {`{"got":true}`, `{"tasks":[{"taskId":"c1","z":1.0}],"nextCursor":"n"}`},
			"two": {`{"error":{"code":-32602,"message":"There is no task \"c1\" here."}}`, `{"tasks":[],"nextCursor":"n"}`},
		} {
			if got := answerOf(c.raw("tools/call", asking(child, "tasks/result", `{"taskId":"c1"}`))); got != want[0] {
				t.Errorf("%s: tasks/result: %s", child, got)
			}
			if got := answerOf(c.raw("tools/call", asking(child, "tasks/list", `{}`))); got != want[1] {
				t.Errorf("%s: tasks/list: %s", child, got)
			}
		}
		_ = c.conn.Notify(context.Background(), "notifications/tasks/status", []byte(`{"taskId":"c1","status":"completed"}`))
		for len(c.noticed("one", "notifications/tasks/status")) == 0 {
		}
		if got := c.noticed("two", "notifications/tasks/status"); len(got) != 0 {
			t.Errorf("the other child was told %q", got)
		}
	})
}

// TestATaskOfADeniedTool: once a reload denies the tool whose call made a task, no part of the task is asked for, listed or told any more;
// it can be cancelled. Control: the same session before the reload, and a task of another tool after it.
func TestATaskOfADeniedTool(t *testing.T) {
	play(t, []spec.Spec{played("kid", spec.ShareSession, childtest.Script{Asks: true})}, func(t *testing.T, h *Hub, _ *stage) {
		c, _ := enter(t, h)
		heard := c.hearing()
		c.handshake(everything)
		c.raw("tools/call", tasked("kid", "t1"))
		ask := func(method string) (refused bool) {
			t.Helper()
			resp, err := c.conn.Call(t.Context(), method, []byte(`{"taskId":"t1"}`))
			if err != nil {
				t.Fatal(err)
			}
			return resp.Err() != nil
		}
		status := say("kid", "notifications/tasks/status", `{"taskId":"t1","status":"working"}`, 1)
		c.raw("tools/call", status)
		for _, denied := range []bool{false, true} {
			if denied {
				apply(t, h, under(t, h.currentConfiguration().Settings, policy.Policy{Rules: []policy.Rule{{Name: "no tasks", Then: policy.Deny, Tools: []string{"task"}}}}))
			}
			before := len(c.noticed("kid", "tasks/get")) + len(c.noticed("kid", "tasks/result"))
			for _, method := range []string{"tasks/get", "tasks/result"} {
				if got := ask(method); got != denied {
					t.Errorf("denied %v: %s is refused: %v", denied, method, got)
				}
			}
			if asked := len(c.noticed("kid", "tasks/get")) + len(c.noticed("kid", "tasks/result")) - before; asked > 0 == denied {
				t.Errorf("denied %v: the server was asked %d times", denied, asked)
			}
			if got := c.taskIDs(); (len(got) == 0) != denied {
				t.Errorf("denied %v: tasks/list has %q", denied, got)
			}
		}
		c.raw("tools/call", status)
		if n := count(heard(), "notifications/tasks/status"); n != 1 {
			t.Errorf("told %d times of the task", n)
		}
		if ask("tasks/cancel") || len(c.noticed("kid", "tasks/cancel")) != 1 {
			t.Error("it cannot be cancelled")
		}
	})
}
