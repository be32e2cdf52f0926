package tasks

import (
	"slices"
	"sync"
	"time"

	"mcphub/children/spec"
	"mcphub/internal/jsonrpc"
)

// Bounds of a Table.
const (
	maxTasks = 1024      // of one child, each way; its oldest are forgotten
	maxID    = 1 << 10   // bytes of the id of one: it is kept
	maxHold  = time.Hour // that a task keeps its child from resting
)

// A Table is the tasks of one session. A child sees none but its own. The zero
// Table is empty and ready.
type Table struct {
	mu     sync.Mutex
	byID   map[string]*task // that children made, by id
	order  []string         // the ids of byID, the oldest first
	closed bool

	clients      map[string]spec.Key // that the client made for a child, by id
	clientsOrder []string            // the ids of clients, the oldest first
}

// A task is one that a child made. It holds a lease of the child and the route of
// its progress until release is called.
type task struct {
	key     spec.Key
	tool    string // the child's own name of what was called; "" of one that only its list has shown
	release func()
}

// Find returns which instance made the task with an id.
func (t *Table) Find(id string) (k spec.Key, ok bool) {
	if found := t.findTask(id); found != nil {
		return found.key, true
	}
	return spec.Key{}, false
}

// IsDenied reports whether the rules deny by now the tool whose task it is that a child tells about.
func (t *Table) IsDenied(s Session, m *jsonrpc.Message) bool {
	id, _ := jsonrpc.String(m.Param("taskId"))
	found := t.findTask(id)
	return found != nil && s.Denies(found.key.Child, found.tool)
}

func (t *Table) findTask(id string) *task {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byID[id]
}

// addTask enters a task. It returns false where another child has one of this id.
func (t *Table) addTask(id string, made *task) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		defer made.release()
		return true
	}
	if old := t.byID[id]; old != nil {
		if old.key != made.key {
			return false
		}
		defer old.release()
		t.byID[id] = made
		return true
	}
	if t.byID == nil {
		t.byID = map[string]*task{}
	}
	if at := oldestOf(t.order, func(id string) bool { return t.byID[id].key.Child == made.key.Child }); at >= 0 {
		defer t.byID[t.order[at]].release()
		delete(t.byID, t.order[at])
		t.order = slices.Delete(t.order, at, at+1)
	}
	t.byID[id] = made
	t.order = append(t.order, id)
	return true
}

// oldestOf returns the index of the oldest task of a child that has as many as it
// may, and -1 if it has fewer. So one child takes no room of another.
func oldestOf(ids []string, its func(id string) bool) int {
	n, first := 0, -1
	for i, id := range ids {
		if !its(id) {
			continue
		}
		if n++; first < 0 {
			first = i
		}
	}
	if n < maxTasks {
		return -1
	}
	return first
}

// HandleStatus takes in what an instance tells about a task. known: there is a task of
// this id. mine: that instance made it.
func (t *Table) HandleStatus(k spec.Key, m *jsonrpc.Message) (mine, known bool) {
	id, ok := jsonrpc.String(m.Param("taskId"))
	if !ok {
		return false, true
	}
	found := t.findTask(id)
	if found == nil || found.key != k {
		return false, found != nil
	}
	if hasEnded(m.Params) {
		found.release()
	}
	return true, true
}

// admitListed reports whether the client may see a task that a child lists. It enters a task that
// is new, if the instance serves this session alone. An instance of the session's own may have made
// it at any time. One that several sessions share must have made it for this one.
func (t *Table) admitListed(id string, k spec.Key, own bool) bool {
	found := t.findTask(id)
	if found == nil && own && len(id) <= maxID {
		return t.addTask(id, &task{key: k, release: func() {}})
	}
	return found != nil && found.key == k
}

// Close releases all tasks. The ones that are added later are released at once.
func (t *Table) Close() {
	t.mu.Lock()
	all := t.byID
	t.byID, t.order, t.closed = nil, nil, true
	t.mu.Unlock()
	for _, made := range all {
		made.release()
	}
}

// hasEnded reports whether a raw task has come to its end.
func hasEnded(raw []byte) bool {
	switch status, _ := jsonrpc.GetString(raw, "status"); status {
	case "completed", "failed", "cancelled":
		return true
	}
	return false
}
