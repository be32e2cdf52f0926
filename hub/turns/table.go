package turns

import (
	"sync"
	"sync/atomic"
)

// A Table has the lines of a hub's servers. The zero value bounds no server.
type Table struct {
	bounded atomic.Pointer[map[string]*Line] // the lines of servers with limits; nil: no server has any

	mu  sync.Mutex       // of the one who sets limits
	all map[string]*Line // of each server that has ever had limits: what was under way then still ends there
}

// Line returns the line of a server; nil if nothing bounds its requests.
func (t *Table) Line(server string) *Line {
	if t == nil {
		return nil
	}
	lines := t.bounded.Load()
	if lines == nil {
		return nil
	}
	return (*lines)[server]
}

// BoundsAny reports whether some server has limits.
func (t *Table) BoundsAny() bool { return t != nil && t.bounded.Load() != nil }

// Set puts the limits of all servers in force, by server. What waits for its turn waits on, or begins if there is room now.
func (t *Table) Set(limits map[string]Limits) {
	t.mu.Lock()
	defer t.mu.Unlock()
	bounded := map[string]*Line{}
	for server, l := range limits {
		if l.AreNone() {
			continue
		}
		line := t.all[server]
		if line == nil {
			if t.all == nil {
				t.all = map[string]*Line{}
			}
			line = newLine(server)
			t.all[server] = line
		}
		line.setLimits(l)
		bounded[server] = line
	}
	for server, line := range t.all {
		if bounded[server] == nil {
			line.setLimits(Limits{})
		}
	}
	if len(bounded) == 0 {
		t.bounded.Store(nil)
		return
	}
	t.bounded.Store(&bounded)
}

// Waiting returns how many requests wait.
func (t *Table) Waiting() (n int64) {
	lines := t.bounded.Load()
	if lines == nil {
		return 0
	}
	for _, l := range *lines {
		l.mu.Lock()
		n += int64(l.waiting)
		l.mu.Unlock()
	}
	return n
}
