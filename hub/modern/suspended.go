package modern

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"mcphub/internal/worker"
)

const (
	// MaxSuspended bounds the requests of one Server that wait for their client;
	// beyond that the oldest is given up. It is less than the number of questions
	// that a single child may have open: a new call finds room, whatever became
	// of old ones.
	MaxSuspended = 32
	// maxSuspendedInAll bounds those of all Servers together.
	maxSuspendedInAll = 1024
	// maxSuspendedBytes bounds what the suspended requests of one Server, and what
	// they were asked, hold together.
	maxSuspendedBytes = 16 << 20
	// maxIdle is how many goroutines wait for more work: a new one would have to
	// grow its stack again.
	maxIdle = 16
)

var (
	errFull    = errors.New("too many requests wait for what their clients were asked")
	errClosed  = errors.New("the session has ended")
	errGaveWay = errors.New("its client had not answered what it was asked, and calls of the same token wait for the server with other roots")
)

// A callRegistry has the requests of one Server that are worked on. Some of these
// are suspended: they wait for their client. The mutex is a leaf.
type callRegistry struct {
	total *atomic.Int64 // suspended calls of all Servers

	mu        sync.Mutex
	closed    bool
	working   map[*Client]struct{}
	suspended map[string]*suspendedCall // of suspended calls, by id
	order     []string                  // ids of suspended calls, the oldest first
	bytes     int                       // what suspended calls hold of their clients and servers
	lapsed    []string                  // ids of the ones that gave way, the oldest first
	workers   *worker.Pool[func()]
	over      chan struct{} // closed with the calls
	all       sync.WaitGroup
}

// A suspendedCall is one request that waits for its client.
type suspendedCall struct {
	client *Client
	bytes  int // held for it
	since  time.Time
	expire *time.Timer
}

// startWork starts the work on a call; false once the Server was closed.
func (registry *callRegistry) startWork(c *Client, work func()) bool {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	if registry.closed {
		return false
	}
	if registry.working == nil {
		registry.working, registry.suspended = map[*Client]struct{}{}, map[string]*suspendedCall{}
		registry.over = make(chan struct{})
		registry.workers = worker.NewPool(func(job func()) { job() }, maxIdle, registry.over)
	}
	registry.working[c] = struct{}{}
	registry.workers.Go(&registry.all, func() {
		defer registry.finishWork(c)
		work()
	})
	return true
}

func (registry *callRegistry) finishWork(c *Client) {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	delete(registry.working, c)
}

// suspendCall holds a call, and so many bytes of it, until its client comes again, for
// StateTime at most. Where too many of the Server are held the oldest is given up.
func (registry *callRegistry) suspendCall(id string, c *Client, size int) error {
	if registry.total.Add(1) > maxSuspendedInAll {
		registry.total.Add(-1)
		return errFull
	}
	registry.mu.Lock()
	if registry.closed {
		registry.mu.Unlock()
		registry.total.Add(-1)
		return errClosed
	}
	registry.suspended[id] = &suspendedCall{c, size, time.Now(), time.AfterFunc(StateTime, func() {
		if registry.takeCall(id) != nil {
			c.abandonWork(errAbandoned)
		}
	})}
	registry.order = append(registry.order, id)
	registry.bytes += size
	gone := registry.evictOldest()
	registry.mu.Unlock()
	for _, oldest := range gone {
		oldest.abandonWork(errFull)
	}
	return nil
}

// addAnswerSize counts the answer that a server gave to a call whose client is away.
func (registry *callRegistry) addAnswerSize(c *Client, n int) {
	registry.mu.Lock()
	var gone []*Client
	for _, slot := range registry.suspended {
		if slot.client == c {
			slot.bytes += n
			registry.bytes += n
			gone = registry.evictOldest()
			break
		}
	}
	registry.mu.Unlock()
	for _, oldest := range gone {
		oldest.abandonWork(errFull)
	}
}

// evictOldest takes out the oldest that there is no room for. The caller holds mu, and
// abandons them.
func (registry *callRegistry) evictOldest() (gone []*Client) {
	for len(registry.suspended) > MaxSuspended || registry.bytes > maxSuspendedBytes && len(registry.suspended) > 1 {
		gone = append(gone, registry.removeCall(registry.order[0]))
	}
	return gone
}

// removeCall takes a call out, nil for none. The caller holds mu.
func (registry *callRegistry) removeCall(id string) *Client {
	s := registry.suspended[id]
	if s == nil {
		return nil
	}
	s.expire.Stop()
	delete(registry.suspended, id)
	registry.order = slices.DeleteFunc(registry.order, func(other string) bool { return other == id })
	registry.bytes -= s.bytes
	registry.total.Add(-1)
	return s.client
}

// takeCall takes a call out that waits for its client; nil for none.
func (registry *callRegistry) takeCall(id string) *Client {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	return registry.removeCall(id)
}

// findCall works like takeCall, but leaves it there.
func (registry *callRegistry) findCall(id string) *Client {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	if s := registry.suspended[id]; s != nil {
		return s.client
	}
	return nil
}

// giveWay gives up the call that is admitted by a gate and has waited for its
// client since then or longer: others wait for the child. Their retries begin
// again.
func (registry *callRegistry) giveWay(gate *rootsGate, since time.Time) {
	registry.mu.Lock()
	long := map[string]*Client{}
	for id, s := range registry.suspended {
		if !s.since.After(since) {
			long[id] = s.client
		}
	}
	registry.mu.Unlock()
	for id, c := range long {
		if c.admissionNow().gate != gate {
			continue
		}
		registry.mu.Lock()
		gone := registry.removeCall(id)
		if gone != nil {
			registry.noteLapsed(id)
		}
		registry.mu.Unlock()
		if gone != nil {
			gone.abandonWork(errGaveWay)
		}
	}
}

// noteLapsed remembers one that gives way, instead of the oldest if there are many.
// The caller holds mu.
func (registry *callRegistry) noteLapsed(id string) {
	if len(registry.lapsed) == MaxSuspended {
		registry.lapsed = slices.Delete(registry.lapsed, 0, 1)
	}
	registry.lapsed = append(registry.lapsed, id)
}

// takeLapsed reports whether a request is one that gave way, the first time that it
// is asked.
func (registry *callRegistry) takeLapsed(id string) bool {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	i := slices.Index(registry.lapsed, id)
	if i < 0 {
		return false
	}
	registry.lapsed = slices.Delete(registry.lapsed, i, i+1)
	return true
}

// isBusy reports whether any work is under way, or waits for its client.
func (registry *callRegistry) isBusy() bool {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	return len(registry.working) > 0
}

// closeRegistry gives up everything, and returns when all work has ended.
func (registry *callRegistry) closeRegistry() {
	registry.mu.Lock()
	if registry.over != nil && !registry.closed {
		close(registry.over)
	}
	registry.closed = true
	working := registry.working
	registry.working = nil
	var held []*Client
	for len(registry.order) > 0 {
		held = append(held, registry.removeCall(registry.order[0]))
	}
	registry.mu.Unlock()
	for c := range working {
		c.end.End(errClosed)
	}
	for _, c := range held {
		c.abandonWork(errClosed)
	}
	registry.all.Wait()
}
