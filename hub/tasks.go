package hub

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"mcphub/children"
	"mcphub/hub/declaration"
	"mcphub/hub/inline"
	"mcphub/internal/jsonrpc"
)

// This file routes tasks (2025-11-25, basic/utilities/tasks) to whoever made
// them. Their ids stay as they are: they stand in many places.

const (
	methodTaskStatus = "notifications/tasks/status"
	methodTaskUpdate = "tasks/update" // of the extension of 2026-07-28

	mostTasks = 1024      // of one child of a session, each way; its oldest are forgotten
	longestID = 1 << 10   // bytes of the id of one: it is kept
	taskTime  = time.Hour // that a task keeps its child from resting, at most
)

// tasks are those of one session: made by children for the client, and by the
// client for children. A child sees none but its own.
type tasks struct {
	mu      sync.Mutex
	made    map[string]*task // by children, by id
	order   []string         // their ids, the oldest first
	given   map[string]children.Key
	ordered []string // ids of given, the oldest first
	over    bool
}

// A task of a child keeps it there, and the way of its progress open, until it
// has ended.
type task struct {
	key  children.Key
	rest func()
}

// adoptTask takes in the task that a child made of a call; drop ends the call's
// progress. An answer without a task is an ordinary one. A child that gives a
// task the id of another child's is refused: the first one keeps it.
func (s *Session) adoptTask(ctx context.Context, lease *children.Lease, a jsonrpc.Answer, drop func()) jsonrpc.Answer {
	raw := jsonrpc.Get(a.Result, "task")
	if raw == nil && isTask(a.Result) {
		raw = a.Result // as the extension of 2026-07-28 spells it
	}
	id, ok := jsonrpc.String(jsonrpc.Get(raw, "taskId"))
	if !ok {
		drop()
		return a
	}
	key := lease.Key()
	refuse := func(why string) jsonrpc.Answer {
		if a.Release != nil {
			a.Release()
		}
		soon, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		_, _ = lease.Call(soon, methodTaskCancel, append(jsonrpc.AppendString([]byte(`{"taskId":`), id), '}'))
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInternal, fmt.Sprintf("the server %q gave its task an id %s; the task was cancelled", key.Child, why))
	}
	if len(id) > longestID {
		drop()
		return refuse(fmt.Sprintf("of more than %d bytes", longestID))
	}
	hold, _ := s.hub.sup.TryAcquire(key)
	rest := func() {
		drop()
		if hold != nil {
			hold.Release()
		}
	}
	limit := taskTime
	if ttl, err := strconv.ParseInt(string(jsonrpc.Get(raw, "ttl")), 10, 64); err == nil && ttl >= 0 {
		limit = min(limit, time.Duration(min(ttl, taskTime.Milliseconds()))*time.Millisecond)
	}
	t := &task{key: key}
	over := time.AfterFunc(limit, rest)
	t.rest = sync.OnceFunc(func() {
		over.Stop()
		rest()
	})
	if s.tasks.add(id, t) {
		if ended(raw) {
			t.rest()
		}
		return a
	}
	t.rest()
	return refuse("that a task of another server has")
}

// isTask reports whether a result of a child without a handshake is a task of the
// extension.
func isTask(result []byte) bool {
	kind, _ := jsonrpc.String(jsonrpc.Get(result, "resultType"))
	return kind == children.ResultTask
}

// roomFor tells where among ids the oldest stands of a child that has as many tasks
// as it may; -1 where it has room. One child takes no room of another.
func roomFor(ids []string, its func(id string) bool) int {
	n, oldest := 0, -1
	for i, id := range ids {
		if !its(id) {
			continue
		}
		if n++; oldest < 0 {
			oldest = i
		}
	}
	if n < mostTasks {
		return -1
	}
	return oldest
}

// add enters a task; false where its id is another child's.
func (ts *tasks) add(id string, t *task) bool {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ts.over {
		defer t.rest()
		return true
	}
	if old := ts.made[id]; old != nil {
		if old.key != t.key {
			return false
		}
		defer old.rest()
		ts.made[id] = t
		return true
	}
	if ts.made == nil {
		ts.made = map[string]*task{}
	}
	if at := roomFor(ts.order, func(id string) bool { return ts.made[id].key.Child == t.key.Child }); at >= 0 {
		defer ts.made[ts.order[at]].rest()
		delete(ts.made, ts.order[at])
		ts.order = slices.Delete(ts.order, at, at+1)
	}
	ts.made[id] = t
	ts.order = append(ts.order, id)
	return true
}

// find returns the child's task with an id, nil for none.
func (ts *tasks) find(id string) *task {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return ts.made[id]
}

// close lets go of everything.
func (ts *tasks) close() {
	ts.mu.Lock()
	made := ts.made
	ts.made, ts.order, ts.over = nil, nil, true
	ts.mu.Unlock()
	for _, t := range made {
		t.rest()
	}
}

// ended reports whether a raw task has come to its end.
func ended(raw []byte) bool {
	switch status, _ := jsonrpc.String(jsonrpc.Get(raw, "status")); status {
	case "completed", "failed", "cancelled":
		return true
	}
	return false
}

func noTask(id string) jsonrpc.Answer {
	return jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidParams, "there is no task "+quotedName(id)+" here")
}

// aboutTask answers tasks/get, tasks/result and tasks/cancel: the child that
// made the task does.
func (s *Session) aboutTask(ctx context.Context, m *jsonrpc.Message) jsonrpc.Answer {
	_, id, err := stringAt(m, "taskId", "a task's id")
	if err != nil {
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidParams, err.Error())
	}
	t := s.tasks.find(id)
	if t == nil {
		return noTask(id)
	}
	lease, err := s.leaseOf(ctx, t.key)
	if err != nil {
		return noAnswer(ctx, t.key.Child, m.Method, err)
	}
	defer lease.Release()
	token := jsonrpc.Get(m.Param("_meta"), "progressToken")
	var own []byte
	if token != nil {
		own = s.hub.progress.add(t.key, s.clientOf(ctx), bytes.Clone(token))
		defer s.hub.progress.remove(own)
	}
	edits := []edit{{Old: token, With: own}}
	if responses := m.Param(inline.MemberResponses); m.Method == methodTaskUpdate && inline.AnswersRoots(responses) {
		roots, served := lease.Roots()
		edits = append(edits, edit{Old: responses, With: inline.WithRoots(responses, roots, served)})
	}
	away, back := s.track(children.WithProgressToken(ctx, own), &inFlight{}, t.key, nil)
	if m.Method == methodTaskResult {
		away = children.WithoutTimeout(away) // it is answered when the task has ended
	}
	resp, err := lease.Call(away, m.Method, splice(m.Params, edits...)...)
	back(err)
	if err != nil {
		return noAnswer(ctx, t.key.Child, m.Method, err)
	}
	if m.Method == methodTaskResult || ended(resp.Result) {
		t.rest()
	}
	return s.clientOf(ctx).Answer(lease, m.Method, resp)
}

// aboutModernTask answers what the extension of the modern era asks of a task:
// one that a child of the same era made. Other tasks do not exist for it.
func (s *Session) aboutModernTask(ctx context.Context, m *jsonrpc.Message) jsonrpc.Answer {
	id, _ := jsonrpc.String(m.Param("taskId"))
	if refusal, ok := declaresTasks(s.clientOf(ctx).Claims()); !ok {
		return refusal
	}
	if t := s.tasks.find(id); t != nil {
		lease, err := s.leaseOf(ctx, t.key)
		if err != nil {
			return noAnswer(ctx, t.key.Child, m.Method, err)
		}
		modern := lease.Modern()
		lease.Release()
		if !modern {
			return noTask(id)
		}
	}
	return s.aboutTask(ctx, m)
}

// extensionTasks is the extension of the modern era for tasks.
const extensionTasks = "io.modelcontextprotocol/tasks"

// declaresTasks refuses a request about tasks of a client that does not declare
// the extension (-32021, tasks, Protocol Errors).
func declaresTasks(client declaration.Client) (refusal jsonrpc.Answer, ok bool) {
	if isObject(jsonrpc.Get(jsonrpc.Get(client.Shown, "extensions"), extensionTasks)) {
		return jsonrpc.Answer{}, true
	}
	e := &jsonrpc.Error{
		Code: mcp.MISSING_REQUIRED_CLIENT_CAPABILITY, Message: "tasks are for clients that declare the extension " + extensionTasks + " with the request",
		Data: []byte(`{"requiredCapabilities":{"extensions":{"` + extensionTasks + `":{}}}}`),
	}
	return jsonrpc.Answer{Error: e.Raw()}, false
}

// taskNews tells the streams that asked for it what has become of a task of a
// child without a handshake, as it stands. It runs on the child's read loop.
func (h *Hub) taskNews(k children.Key, m *jsonrpc.Message) {
	id, ok := jsonrpc.String(m.Param("taskId"))
	if !ok {
		return
	}
	for _, s := range h.holding(k) {
		for _, l := range s.modern.hears.each() {
			if l.hearsOf(k, id) {
				l.told(m.Method, [][]byte{m.Params})
			}
		}
		if t := s.tasks.find(id); t != nil && t.key == k && ended(m.Params) {
			t.rest()
		}
	}
}

// leaseOf acquires the very instance that made a task.
func (s *Session) leaseOf(ctx context.Context, k children.Key) (*children.Lease, error) {
	if lease, ok := s.hub.sup.TryAcquire(k); ok {
		return lease, nil
	}
	defer s.clientOf(ctx).Lend()()
	ctx, cancel := context.WithTimeout(ctx, s.hub.now().startLimit(k.Child))
	defer cancel()
	return s.hub.sup.Acquire(ctx, k)
}

// taskTold passes on what a child tells of a task, to the session that it is
// for.
func (h *Hub) taskTold(k children.Key, m *jsonrpc.Message) {
	id, ok := jsonrpc.String(m.Param("taskId"))
	if !ok {
		return
	}
	own := h.owner(k)
	for _, s := range h.holding(k) {
		t := s.tasks.find(id)
		switch {
		case t != nil && t.key == k:
			s.client.TryNotify(m.Method, m.Params)
			if ended(m.Params) {
				t.rest()
			}
		case t == nil && s == own && s.handshaken():
			// The answer that made it is on its way.
			s.client.TryNotify(m.Method, m.Params)
		}
	}
}

// taskCursor names a page of tasks/list: of one child, with its own cursor.
// As text it is opaque to the client.
type taskCursor struct{ child, cursor string }

// listTasks answers tasks/list with what the children that run list, one page
// of one child at a time, in the order of hub.json. A child that does not run
// has no tasks.
func (s *Session) listTasks(ctx context.Context, m *jsonrpc.Message) jsonrpc.Answer {
	names := s.hub.now().names()
	at, cursor := 0, []byte(nil)
	if raw := m.Param("cursor"); raw != nil && string(raw) != "null" {
		c, ok := readTaskCursor(raw)
		if at = slices.Index(names, c.child); !ok || at < 0 {
			return jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidParams, "the cursor is none of this list; ask again without one")
		}
		if c.cursor != "" {
			cursor = []byte(c.cursor)
		}
	}
	for ; at < len(names); at, cursor = at+1, nil {
		entries, next, refusal := s.tasksOf(ctx, names[at], cursor)
		if refusal.Error != nil && cursor != nil {
			return refusal
		}
		if next != nil {
			return tasksResult(entries, &taskCursor{names[at], string(next)})
		}
		if len(entries) == 0 {
			continue
		}
		if at+1 < len(names) {
			return tasksResult(entries, &taskCursor{child: names[at+1]})
		}
		return tasksResult(entries, nil)
	}
	return tasksResult(nil, nil)
}

// tasksOf asks one child for one page of its tasks, and leaves out those that
// are not this session's. next is the child's raw cursor.
func (s *Session) tasksOf(ctx context.Context, name string, cursor []byte) (entries [][]byte, next []byte, refusal jsonrpc.Answer) {
	p, seated := s.seats.Load().by[name]
	if !seated {
		return nil, nil, jsonrpc.Answer{}
	}
	lease, ok := s.hub.sup.TryAcquire(p.key)
	if !ok {
		return nil, nil, jsonrpc.Answer{}
	}
	defer lease.Release()
	if jsonrpc.Get(jsonrpc.Get(lease.Offer().Capabilities, "tasks"), "list") == nil {
		return nil, nil, jsonrpc.Answer{}
	}
	var params [][]byte
	if cursor != nil {
		params = [][]byte{[]byte(`{"cursor":`), cursor, []byte(`}`)}
	}
	resp, err := lease.Call(ctx, methodTaskList, params...)
	if err != nil {
		return nil, nil, noAnswer(ctx, name, methodTaskList, err)
	}
	if resp.Error != nil {
		return nil, nil, jsonrpc.Answer{Error: bytes.Clone(resp.Error)}
	}
	defer resp.Release()
	private := s.hub.owner(p.key) == s
	_ = jsonrpc.Elements(jsonrpc.Get(resp.Result, "tasks"), func(raw []byte) bool {
		if id, ok := jsonrpc.String(jsonrpc.Get(raw, "taskId")); ok && s.tasks.lists(id, p.key, private) {
			entries = append(entries, bytes.Clone(raw))
		}
		return true
	})
	if c := jsonrpc.Get(resp.Result, "nextCursor"); len(c) > 2 && c[0] == '"' {
		next = bytes.Clone(c)
	}
	return entries, next, jsonrpc.Answer{}
}

// lists reports whether a task that a child lists is shown to the client: its
// own child may have made it at any time, one that is shared only for it.
func (ts *tasks) lists(id string, k children.Key, private bool) bool {
	t := ts.find(id)
	if t == nil && private && len(id) <= longestID {
		return ts.add(id, &task{key: k, rest: func() {}})
	}
	return t != nil && t.key == k
}
