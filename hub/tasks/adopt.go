package tasks

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"mcphub/children"
	"mcphub/children/link"
	"mcphub/children/spec"
	"mcphub/hub/texts"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
)

// cancelTime bounds how long cancelling a task that is refused may take.
const cancelTime = 5 * time.Second

// IsTask reports whether a result of a child without a handshake is a task of the
// extension.
func IsTask(result []byte) bool {
	kind, _ := jsonrpc.GetString(result, "resultType")
	return kind == link.ResultTask
}

// Adopt enters the task that a child made of a call of a tool, and calls drop, which ends
// the call's progress, when the task ends. An answer without a task is an ordinary
// one: drop is called now. A task with the id of another child's is refused and
// cancelled: the first one keeps it.
func (t *Table) Adopt(ctx context.Context, s Session, lease *children.Lease, tool string, a jsonrpc.Answer, drop func()) jsonrpc.Answer {
	raw := jsonrpc.Get(a.Result, "task")
	if raw == nil && IsTask(a.Result) {
		raw = a.Result // as the extension of 2026-07-28 spells it
	}
	id, ok := jsonrpc.GetString(raw, "taskId")
	if !ok {
		drop()
		return a
	}
	key := lease.Key()
	refuse := func(why string) jsonrpc.Answer {
		a.Free()
		soon, cancel := context.WithTimeout(ctx, cancelTime)
		defer cancel()
		_, _ = lease.Call(soon, methods.CancelTask, append(jsonrpc.AppendString([]byte(`{"taskId":`), id), '}'))
		return jsonrpc.AnswerFailure(texts.TaskRefused(key.Child, why))
	}
	if len(id) > maxID {
		drop()
		return refuse(fmt.Sprintf("of more than %d bytes", maxID))
	}
	hold, _ := s.TryAcquire(key)
	made := newHolding(key, tool, holdTime(raw), func() {
		drop()
		if hold != nil {
			hold.Release()
		}
	})
	if !t.addTask(id, made) {
		made.release()
		return refuse("that a task of another server has")
	}
	if hasEnded(raw) {
		made.release()
	}
	return a
}

// holdTime returns how long a raw task may keep its child from resting: as long
// as it reports that it is kept, and no longer than maxHold.
func holdTime(raw []byte) time.Duration {
	ttl, err := strconv.ParseInt(string(jsonrpc.Get(raw, "ttl")), 10, 64)
	if err != nil || ttl < 0 {
		return maxHold
	}
	return time.Duration(min(ttl, maxHold.Milliseconds())) * time.Millisecond
}

// newHolding returns a task that is released once, after its time at the latest.
func newHolding(k spec.Key, tool string, limit time.Duration, release func()) *task {
	release = sync.OnceFunc(release)
	over := time.AfterFunc(limit, release)
	return &task{key: k, tool: tool, release: func() {
		over.Stop()
		release()
	}}
}
