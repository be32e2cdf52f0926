package tasks

import (
	"bytes"
	"context"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"mcphub/children"
	"mcphub/children/spec"
	"mcphub/hub/texts"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
)

// A Session is what requests about tasks need of the session that they come on.
type Session interface {
	// TryAcquire returns a lease of an instance if that takes no waiting.
	TryAcquire(k spec.Key) (*children.Lease, bool)
	// Acquire waits for a lease of the very instance that made a task.
	Acquire(ctx context.Context, k spec.Key) (*children.Lease, error)
	// Send sends a request of the client about a task of a tool to the instance of a lease and
	// returns the answer that the client gets. With an error, the instance did not answer.
	Send(ctx context.Context, lease *children.Lease, tool string, m *jsonrpc.Message) (jsonrpc.Answer, error)
	// Denies reports whether every call of a tool is denied by now, or all that the child has. Of tool "" it is told by the child alone.
	Denies(child, tool string) bool
	// Failed returns the answer if a child did not give one.
	Failed(ctx context.Context, child, method string, err error) jsonrpc.Answer
	// Children returns the names of all children, in the order of the configuration.
	Children() []string
	// Serving returns the instance of a child that serves the session now. own: it
	// serves no other session.
	Serving(child string) (k spec.Key, own, ok bool)
}

// RequireExtension refuses a request about tasks of a client whose raw capabilities do
// not have the extension (2026-07-28, tasks, Protocol Errors).
func RequireExtension(capabilities []byte) (refusal jsonrpc.Answer, ok bool) {
	if jsonrpc.IsObject(jsonrpc.Get(jsonrpc.Get(capabilities, "extensions"), methods.ExtensionTasks)) {
		return jsonrpc.Answer{}, true
	}
	e := &jsonrpc.Error{
		Code: mcp.MISSING_REQUIRED_CLIENT_CAPABILITY, Message: "tasks are for clients that declare the extension " + methods.ExtensionTasks + " with the request",
		Data: []byte(`{"requiredCapabilities":{"extensions":{"` + methods.ExtensionTasks + `":{}}}}`),
	}
	return jsonrpc.Answer{Error: e.Raw()}, false
}

func noTask(id string) jsonrpc.Answer {
	return jsonrpc.RefuseParams(texts.NoTask(id))
}

// Serve answers a request about one task: the instance that made it does. For a client of
// 2026-07-28 there are only tasks of children of the same era.
func (t *Table) Serve(ctx context.Context, s Session, m *jsonrpc.Message, modernClient bool) jsonrpc.Answer {
	id, ok := jsonrpc.String(m.Param("taskId"))
	if !ok {
		return jsonrpc.RefuseParams(texts.Lacks(m.Method, "a task's id (a string)", "/params/taskId"))
	}
	found := t.findTask(id)
	if found == nil {
		return noTask(id)
	}
	lease, refusal := found.acquireLease(ctx, s, m.Method)
	if lease == nil {
		return refusal
	}
	defer lease.Release()
	if modernClient && !lease.IsModern() {
		return noTask(id)
	}
	a, err := s.Send(ctx, lease, found.tool, m)
	if err == nil && (m.Method == methods.TaskResult || hasEnded(a.Result)) {
		found.release()
	}
	return a
}

// acquireLease returns a lease of the instance that made the task. A reload may have come to deny the tool: then no
// part of the task is told any more, and it can be cancelled for as long as its server runs.
func (t *task) acquireLease(ctx context.Context, s Session, method string) (*children.Lease, jsonrpc.Answer) {
	if s.Denies(t.key.Child, t.tool) {
		if lease, ok := s.TryAcquire(t.key); ok && method == methods.CancelTask {
			return lease, jsonrpc.Answer{}
		} else if ok {
			lease.Release()
		}
		return nil, jsonrpc.RefuseParams(texts.TaskDenied(t.tool, t.key.Child))
	}
	lease, err := s.Acquire(ctx, t.key)
	if err != nil {
		return nil, s.Failed(ctx, t.key.Child, method, err)
	}
	return lease, jsonrpc.Answer{}
}

// A cursor names a page of tasks/list: a child, and that child's own cursor. As
// text it is opaque to the client.
type cursor struct{ child, own string }

// List answers tasks/list with what the children that run list: one page of one
// child at a time, in the order of the configuration. A child that does not run
// has no tasks.
func (t *Table) List(ctx context.Context, s Session, m *jsonrpc.Message) jsonrpc.Answer {
	names := s.Children()
	at, own := 0, []byte(nil)
	if raw := m.Param("cursor"); raw != nil && string(raw) != "null" {
		c, ok := readCursor(raw)
		if at = slices.Index(names, c.child); !ok || at < 0 {
			return jsonrpc.RefuseParams(texts.OtherList)
		}
		if c.own != "" {
			own = []byte(c.own)
		}
	}
	for ; at < len(names); at, own = at+1, nil {
		entries, next, refusal := t.listPage(ctx, s, names[at], own)
		switch {
		case refusal.Error != nil && own != nil:
			return refusal
		case next != nil:
			return listAnswer(entries, &cursor{names[at], string(next)})
		case len(entries) == 0:
			continue
		case at+1 < len(names):
			return listAnswer(entries, &cursor{child: names[at+1]})
		}
		return listAnswer(entries, nil)
	}
	return listAnswer(nil, nil)
}

// listPage asks one child for one page of its tasks, and leaves out the ones that are
// not this session's. next is the child's raw cursor.
func (t *Table) listPage(ctx context.Context, s Session, name string, own []byte) (entries [][]byte, next []byte, refusal jsonrpc.Answer) {
	key, private, ok := s.Serving(name)
	if !ok {
		return nil, nil, jsonrpc.Answer{}
	}
	lease, ok := s.TryAcquire(key)
	if !ok {
		return nil, nil, jsonrpc.Answer{}
	}
	defer lease.Release()
	if jsonrpc.Get(jsonrpc.Get(lease.Offer().Capabilities, "tasks"), "list") == nil {
		return nil, nil, jsonrpc.Answer{}
	}
	var params [][]byte
	if own != nil {
		params = [][]byte{[]byte(`{"cursor":`), own, []byte(`}`)}
	}
	resp, err := lease.Call(ctx, methods.ListTasks, params...)
	if err != nil {
		return nil, nil, s.Failed(ctx, name, methods.ListTasks, err)
	}
	if resp.Error != nil {
		return nil, nil, jsonrpc.Answer{Error: bytes.Clone(resp.Error)}
	}
	defer resp.Release()
	_ = jsonrpc.Elements(jsonrpc.Get(resp.Result, "tasks"), func(raw []byte) bool {
		if id, ok := jsonrpc.GetString(raw, "taskId"); ok && t.admitListed(id, key, private) {
			if made := t.findTask(id); made != nil && !s.Denies(name, made.tool) {
				entries = append(entries, bytes.Clone(raw))
			}
		}
		return true
	})
	if c := jsonrpc.Get(resp.Result, "nextCursor"); len(c) > 2 && c[0] == '"' {
		next = bytes.Clone(c)
	}
	return entries, next, jsonrpc.Answer{}
}

func listAnswer(entries [][]byte, next *cursor) jsonrpc.Answer {
	b := append([]byte(`{"tasks":[`), bytes.Join(entries, []byte{','})...)
	b = append(b, ']')
	if next != nil {
		text := base64.RawURLEncoding.EncodeToString([]byte(next.child + "\x00" + next.own))
		b = jsonrpc.AppendString(append(b, `,"nextCursor":`...), text)
	}
	return jsonrpc.ResultAnswer(append(b, '}'))
}

// readCursor reads what listAnswer wrote. The child's cursor in it is put into a
// request as it is, so it must be a JSON string.
func readCursor(raw []byte) (cursor, bool) {
	text, _ := jsonrpc.String(raw)
	b, err := base64.RawURLEncoding.DecodeString(text)
	child, own, ok := strings.Cut(string(b), "\x00")
	if own != "" {
		if _, is := jsonrpc.String([]byte(own)); !is {
			ok = false
		}
	}
	return cursor{child, own}, ok && err == nil
}
