package turns

import (
	"sync"
	"sync/atomic"
)

// A Table has the queues of a hub's servers. The zero value bounds no server.
type Table struct {
	bounded atomic.Pointer[map[string]*ServerQueue] // the queues of servers with limits; nil: no server has any

	mu  sync.Mutex              // of the one who sets limits
	all map[string]*ServerQueue // of each server that has ever had limits: what was under way then still ends there
}

// QueueOf returns the queue of a server; nil if nothing bounds its requests.
func (table *Table) QueueOf(server string) *ServerQueue {
	if table == nil {
		return nil
	}
	queues := table.bounded.Load()
	if queues == nil {
		return nil
	}
	return (*queues)[server]
}

// BoundsAny reports whether some server has limits.
func (table *Table) BoundsAny() bool { return table != nil && table.bounded.Load() != nil }

// Set puts the limits of all servers in force, by server. What waits for its turn waits on, or begins if there is room now.
func (table *Table) Set(limits map[string]Limits) {
	table.mu.Lock()
	defer table.mu.Unlock()
	bounded := map[string]*ServerQueue{}
	for server, l := range limits {
		if l.AreNone() {
			continue
		}
		queue := table.all[server]
		if queue == nil {
			if table.all == nil {
				table.all = map[string]*ServerQueue{}
			}
			queue = newServerQueue(server)
			table.all[server] = queue
		}
		queue.setLimits(l)
		bounded[server] = queue
	}
	for server, queue := range table.all {
		if bounded[server] == nil {
			queue.setLimits(Limits{})
		}
	}
	if len(bounded) == 0 {
		table.bounded.Store(nil)
		return
	}
	table.bounded.Store(&bounded)
}

// Waiting returns how many requests wait.
func (table *Table) Waiting() (n int64) {
	queues := table.bounded.Load()
	if queues == nil {
		return 0
	}
	for _, q := range *queues {
		q.mu.Lock()
		n += int64(q.waiting)
		q.mu.Unlock()
	}
	return n
}
