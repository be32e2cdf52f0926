package tasks

import (
	"bytes"
	"slices"

	"mcphub/children/spec"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
)

// This file is about the tasks that the client makes of what children ask of it.

// MayUse refuses a child a task that the client did not make for it.
func (t *Table) MayUse(k spec.Key, m *jsonrpc.Message) (refusal jsonrpc.Answer, ok bool) {
	switch m.Method {
	case methods.GetTask, methods.TaskResult, methods.CancelTask:
	default:
		return jsonrpc.Answer{}, true
	}
	id, _ := jsonrpc.String(m.Param("taskId"))
	if owner, ok := t.ClientTaskOwner(id); !ok || owner != k {
		return noTask(id), false
	}
	return jsonrpc.Answer{}, true
}

// ClientTaskOwner tells for which instance the client made the task with an id.
func (t *Table) ClientTaskOwner(id string) (k spec.Key, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k, ok = t.clients[id]
	return k, ok
}

// HandleClientAnswer takes in what the client answered a child. It notes a task that the
// client made, and leaves in a list of tasks the ones that were made for the child.
func (t *Table) HandleClientAnswer(k spec.Key, m *jsonrpc.Message, a jsonrpc.Answer) jsonrpc.Answer {
	switch {
	case a.Result == nil:
	case m.Method == methods.ListTasks:
		return t.filterList(k, a)
	case jsonrpc.IsObject(m.Param("task")):
		if id, ok := jsonrpc.GetString(jsonrpc.Get(a.Result, "task"), "taskId"); ok {
			t.noteTask(id, k)
		}
	}
	return a
}

// noteTask enters a task that the client made for an instance.
func (t *Table) noteTask(id string, k spec.Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(id) > maxID {
		return
	}
	if t.clients == nil {
		t.clients = map[string]spec.Key{}
	}
	if _, again := t.clients[id]; !again {
		if at := oldestOf(t.clientsOrder, func(id string) bool { return t.clients[id].Child == k.Child }); at >= 0 {
			delete(t.clients, t.clientsOrder[at])
			t.clientsOrder = slices.Delete(t.clientsOrder, at, at+1)
		}
		t.clientsOrder = append(t.clientsOrder, id)
	}
	t.clients[id] = k
}

// filterList leaves in a result of tasks/list what was made for one instance.
func (t *Table) filterList(k spec.Key, a jsonrpc.Answer) jsonrpc.Answer {
	all := jsonrpc.Get(a.Result, "tasks")
	if all == nil {
		return a
	}
	var its [][]byte
	t.mu.Lock()
	_ = jsonrpc.Elements(all, func(raw []byte) bool {
		if id, ok := jsonrpc.GetString(raw, "taskId"); ok && t.clients[id] == k {
			its = append(its, raw)
		}
		return true
	})
	t.mu.Unlock()
	list := append(append([]byte{'['}, bytes.Join(its, []byte{','})...), ']')
	return a.WithEdits(jsonrpc.Edit{Old: all, With: list})
}
