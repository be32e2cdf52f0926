package main

import (
	"encoding/json"
	"fmt"
)

const tasksCapabilities = `,"tasks":{"cancel":{},"requests":{"tools":{"call":{}}}}`

// task returns one that works for ever. Its id is what the call named, so that the same calls make the same tasks.
func task(id string) []byte {
	return fmt.Appendf(nil, `{"taskId":%q,"status":"working","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttl":60000}`, id)
}

// tasked answers what is asked of a task, and reports whether that was asked.
func (s *server) tasked(id json.RawMessage, method string, params json.RawMessage) bool {
	var p struct{ TaskID string }
	_ = json.Unmarshal(params, &p)
	switch method {
	case "tasks/get", "tasks/cancel":
		s.result(id, task(p.TaskID))
	case "tasks/result":
		s.result(id, text("of "+p.TaskID))
	default:
		return false
	}
	return true
}
