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
func (t *callRegistry) startWork(c *Client, work func()) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return false
	}
	if t.working == nil {
		t.working, t.suspended = map[*Client]struct{}{}, map[string]*suspendedCall{}
		t.over = make(chan struct{})
		t.workers = worker.NewPool(func(job func()) { job() }, maxIdle, t.over)
	}
	t.working[c] = struct{}{}
	t.workers.Go(&t.all, func() {
		defer t.finishWork(c)
		work()
	})
	return true
}

func (t *callRegistry) finishWork(c *Client) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.working, c)
}

// suspendCall holds a call, and so many bytes of it, until its client comes again, for
// StateTime at most. Where too many of the Server are held the oldest is given up.
func (t *callRegistry) suspendCall(id string, c *Client, size int) error {
	if t.total.Add(1) > maxSuspendedInAll {
		t.total.Add(-1)
		return errFull
	}
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		t.total.Add(-1)
		return errClosed
	}
	t.suspended[id] = &suspendedCall{c, size, time.Now(), time.AfterFunc(StateTime, func() {
		if t.takeCall(id) != nil {
			c.abandonWork(errAbandoned)
		}
	})}
	t.order = append(t.order, id)
	t.bytes += size
	gone := t.evictOldest()
	t.mu.Unlock()
	for _, oldest := range gone {
		oldest.abandonWork(errFull)
	}
	return nil
}

// addAnswerSize counts the answer that a server gave to a call whose client is away.
func (t *callRegistry) addAnswerSize(c *Client, n int) {
	t.mu.Lock()
	var gone []*Client
	for _, slot := range t.suspended {
		if slot.client == c {
			slot.bytes += n
			t.bytes += n
			gone = t.evictOldest()
			break
		}
	}
	t.mu.Unlock()
	for _, oldest := range gone {
		oldest.abandonWork(errFull)
	}
}

// evictOldest takes out the oldest that there is no room for. The caller holds mu, and
// abandons them.
func (t *callRegistry) evictOldest() (gone []*Client) {
	for len(t.suspended) > MaxSuspended || t.bytes > maxSuspendedBytes && len(t.suspended) > 1 {
		gone = append(gone, t.removeCall(t.order[0]))
	}
	return gone
}

// removeCall takes a call out, nil for none. The caller holds mu.
func (t *callRegistry) removeCall(id string) *Client {
	s := t.suspended[id]
	if s == nil {
		return nil
	}
	s.expire.Stop()
	delete(t.suspended, id)
	t.order = slices.DeleteFunc(t.order, func(other string) bool { return other == id })
	t.bytes -= s.bytes
	t.total.Add(-1)
	return s.client
}

// takeCall takes a call out that waits for its client; nil for none.
func (t *callRegistry) takeCall(id string) *Client {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.removeCall(id)
}

// findCall works like takeCall, but leaves it there.
func (t *callRegistry) findCall(id string) *Client {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.suspended[id]; s != nil {
		return s.client
	}
	return nil
}

// giveWay gives up the call that is admitted by a gate and has waited for its
// client since then or longer: others wait for the child. Their retries begin
// again.
func (t *callRegistry) giveWay(gate *rootsGate, since time.Time) {
	t.mu.Lock()
	long := map[string]*Client{}
	for id, s := range t.suspended {
		if !s.since.After(since) {
			long[id] = s.client
		}
	}
	t.mu.Unlock()
	for id, c := range long {
		if c.admissionNow().gate != gate {
			continue
		}
		t.mu.Lock()
		gone := t.removeCall(id)
		if gone != nil {
			t.noteLapsed(id)
		}
		t.mu.Unlock()
		if gone != nil {
			gone.abandonWork(errGaveWay)
		}
	}
}

// noteLapsed remembers one that gives way, instead of the oldest if there are many.
// The caller holds mu.
func (t *callRegistry) noteLapsed(id string) {
	if len(t.lapsed) == MaxSuspended {
		t.lapsed = slices.Delete(t.lapsed, 0, 1)
	}
	t.lapsed = append(t.lapsed, id)
}

// takeLapsed reports whether a request is one that gave way, the first time that it
// is asked.
func (t *callRegistry) takeLapsed(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.Index(t.lapsed, id)
	if i < 0 {
		return false
	}
	t.lapsed = slices.Delete(t.lapsed, i, i+1)
	return true
}

// isBusy reports whether any work is under way, or waits for its client.
func (t *callRegistry) isBusy() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.working) > 0
}

// closeRegistry gives up everything, and returns when all work has ended.
func (t *callRegistry) closeRegistry() {
	t.mu.Lock()
	if t.over != nil && !t.closed {
		close(t.over)
	}
	t.closed = true
	working := t.working
	t.working = nil
	var held []*Client
	for len(t.order) > 0 {
		held = append(held, t.removeCall(t.order[0]))
	}
	t.mu.Unlock()
	for c := range working {
		c.end.End(errClosed)
	}
	for _, c := range held {
		c.abandonWork(errClosed)
	}
	t.all.Wait()
}
