package hub

import (
	"bytes"
	"context"
	"encoding/base64"
	"slices"
	"strings"
	"time"

	"mcphub/children"
	"mcphub/internal/jsonrpc"
)

// The tasks that the client made for children, of what they asked of it.

// mayUse refuses a child a task that the client did not make for it.
func (ts *tasks) mayUse(k children.Key, m *jsonrpc.Message) (jsonrpc.Answer, bool) {
	switch m.Method {
	case methodTaskGet, methodTaskResult, methodTaskCancel:
	default:
		return jsonrpc.Answer{}, true
	}
	id, _ := jsonrpc.String(m.Param("taskId"))
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ts.given[id] != k {
		return noTask(id), false
	}
	return jsonrpc.Answer{}, true
}

// answered takes in what the client answered a child: a task that it made, and
// of a list of tasks, which are the child's.
func (ts *tasks) answered(k children.Key, m *jsonrpc.Message, a jsonrpc.Answer) jsonrpc.Answer {
	switch {
	case a.Result == nil:
	case m.Method == methodTaskList:
		return ts.own(k, a)
	case isObject(m.Param("task")):
		if id, ok := jsonrpc.String(jsonrpc.Get(jsonrpc.Get(a.Result, "task"), "taskId")); ok {
			ts.give(id, k)
		}
	}
	return a
}

func (ts *tasks) give(id string, k children.Key) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if len(id) > longestID {
		return
	}
	if ts.given == nil {
		ts.given = map[string]children.Key{}
	}
	if _, again := ts.given[id]; !again {
		if at := roomFor(ts.ordered, func(id string) bool { return ts.given[id].Child == k.Child }); at >= 0 {
			delete(ts.given, ts.ordered[at])
			ts.ordered = slices.Delete(ts.ordered, at, at+1)
		}
		ts.ordered = append(ts.ordered, id)
	}
	ts.given[id] = k
}

// own leaves in a result of tasks/list what was made for one child.
func (ts *tasks) own(k children.Key, a jsonrpc.Answer) jsonrpc.Answer {
	old := jsonrpc.Get(a.Result, "tasks")
	var mine [][]byte
	ts.mu.Lock()
	_ = jsonrpc.Elements(old, func(raw []byte) bool {
		if id, ok := jsonrpc.String(jsonrpc.Get(raw, "taskId")); ok && ts.given[id] == k {
			mine = append(mine, raw)
		}
		return true
	})
	ts.mu.Unlock()
	if old == nil {
		return a
	}
	list := append(append([]byte{'['}, bytes.Join(mine, []byte{','})...), ']')
	return jsonrpc.Answer{Result: join(splice(a.Result, edit{Old: old, With: list})), Release: a.Release}
}

// clientTold passes on what the client tells of a task that it made for a child.
// News that there is no room for are dropped: nobody may rely on them.
func (s *Session) clientTold(m *jsonrpc.Message) {
	id, _ := jsonrpc.String(m.Param("taskId"))
	s.tasks.mu.Lock()
	k, ok := s.tasks.given[id]
	s.tasks.mu.Unlock()
	if !ok {
		return
	}
	params := bytes.Clone(m.Params)
	s.outbox.put(len(params), func(ctx context.Context) {
		if lease, ok := s.hub.sup.TryAcquire(k); ok {
			soon, cancel := context.WithTimeout(ctx, time.Second)
			_ = lease.Notify(soon, methodTaskStatus, params)
			cancel()
			lease.Release()
		}
	})
}

func tasksResult(entries [][]byte, next *taskCursor) jsonrpc.Answer {
	b := append([]byte(`{"tasks":[`), bytes.Join(entries, []byte{','})...)
	b = append(b, ']')
	if next != nil {
		text := base64.RawURLEncoding.EncodeToString([]byte(next.child + "\x00" + next.cursor))
		b = jsonrpc.AppendString(append(b, `,"nextCursor":`...), text)
	}
	return jsonrpc.ResultAnswer(append(b, '}'))
}

// readTaskCursor reads what tasksResult wrote. The child's cursor in it is put
// into a request as it is, so it must be a JSON string.
func readTaskCursor(raw []byte) (taskCursor, bool) {
	text, _ := jsonrpc.String(raw)
	b, err := base64.RawURLEncoding.DecodeString(text)
	child, cursor, ok := strings.Cut(string(b), "\x00")
	if cursor != "" {
		if _, is := jsonrpc.String([]byte(cursor)); !is {
			ok = false
		}
	}
	return taskCursor{child, cursor}, ok && err == nil
}
