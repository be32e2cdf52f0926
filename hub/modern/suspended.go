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
	// that one child may have open: a new call finds room, whatever became of old
	// ones.
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

// calls are the requests of one Server that work is under way on. Of these some
// are suspended: they wait for their client. The mutex is a leaf.
type calls struct {
	total *atomic.Int64 // suspended calls of all Servers

	mu      sync.Mutex
	closed  bool
	working map[*Client]struct{}
	slots   map[string]*slot // of suspended calls, by id
	order   []string         // ids of slots, the oldest first
	bytes   int              // what suspended calls hold of their clients and servers
	lapsed  []string         // ids of those that gave way, the oldest first
	workers *worker.Pool[func()]
	over    chan struct{} // closed with the calls
	all     sync.WaitGroup
}

// A slot has one suspended call.
type slot struct {
	c      *Client
	bytes  int // held for it
	since  time.Time
	expire *time.Timer
}

// start starts the work on a call; false once the Server was closed.
func (l *calls) start(c *Client, work func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	if l.working == nil {
		l.working, l.slots = map[*Client]struct{}{}, map[string]*slot{}
		l.over = make(chan struct{})
		l.workers = worker.NewPool(func(job func()) { job() }, maxIdle, l.over)
	}
	l.working[c] = struct{}{}
	l.workers.Go(&l.all, func() {
		defer l.left(c)
		work()
	})
	return true
}

func (l *calls) left(c *Client) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.working, c)
}

// suspend holds a call, and so many bytes of it, until its client comes again, for
// StateTime at most. Where too many of the Server are held the oldest is given up.
func (l *calls) suspend(id string, c *Client, size int) error {
	if l.total.Add(1) > maxSuspendedInAll {
		l.total.Add(-1)
		return errFull
	}
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		l.total.Add(-1)
		return errClosed
	}
	l.slots[id] = &slot{c, size, time.Now(), time.AfterFunc(StateTime, func() {
		if l.take(id) != nil {
			c.abandon(errAbandoned)
		}
	})}
	l.order = append(l.order, id)
	l.bytes += size
	gone := l.evict()
	l.mu.Unlock()
	for _, oldest := range gone {
		oldest.abandon(errFull)
	}
	return nil
}

// addAnswerSize counts the answer that a server gave to a call whose client is away.
func (l *calls) addAnswerSize(c *Client, n int) {
	l.mu.Lock()
	var gone []*Client
	for _, slot := range l.slots {
		if slot.c == c {
			slot.bytes += n
			l.bytes += n
			gone = l.evict()
			break
		}
	}
	l.mu.Unlock()
	for _, oldest := range gone {
		oldest.abandon(errFull)
	}
}

// evict takes out the oldest that there is no room for. The caller holds mu, and
// abandons them.
func (l *calls) evict() (gone []*Client) {
	for len(l.slots) > MaxSuspended || l.bytes > maxSuspendedBytes && len(l.slots) > 1 {
		gone = append(gone, l.remove(l.order[0]))
	}
	return gone
}

// remove takes a call out, nil for none. The caller holds mu.
func (l *calls) remove(id string) *Client {
	s := l.slots[id]
	if s == nil {
		return nil
	}
	s.expire.Stop()
	delete(l.slots, id)
	l.order = slices.DeleteFunc(l.order, func(other string) bool { return other == id })
	l.bytes -= s.bytes
	l.total.Add(-1)
	return s.c
}

// take takes a call out that waits for its client; nil for none.
func (l *calls) take(id string) *Client {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.remove(id)
}

// find is take that leaves it there.
func (l *calls) find(id string) *Client {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.slots[id]; s != nil {
		return s.c
	}
	return nil
}

// giveWay gives up whoever has a turn of a gate and has waited for its client
// since then or longer: others wait for the turn. Their retries begin anew.
func (l *calls) giveWay(gate *turnGate, since time.Time) {
	l.mu.Lock()
	long := map[string]*Client{}
	for id, s := range l.slots {
		if !s.since.After(since) {
			long[id] = s.c
		}
	}
	l.mu.Unlock()
	for id, c := range long {
		if c.turnNow().gate != gate {
			continue
		}
		l.mu.Lock()
		gone := l.remove(id)
		if gone != nil {
			l.lapse(id)
		}
		l.mu.Unlock()
		if gone != nil {
			gone.abandon(errGaveWay)
		}
	}
}

// lapse notes one that gives way, in place of the oldest where there are many.
// The caller holds mu.
func (l *calls) lapse(id string) {
	if len(l.lapsed) == MaxSuspended {
		l.lapsed = slices.Delete(l.lapsed, 0, 1)
	}
	l.lapsed = append(l.lapsed, id)
}

// takeLapsed reports whether a request is one that gave way, the first time that it
// is asked.
func (l *calls) takeLapsed(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(l.lapsed, id)
	if i < 0 {
		return false
	}
	l.lapsed = slices.Delete(l.lapsed, i, i+1)
	return true
}

// busy reports whether any work is under way, or waits for its client.
func (l *calls) busy() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.working) > 0
}

// close gives up everything, and returns when all work has ended.
func (l *calls) close() {
	l.mu.Lock()
	if l.over != nil && !l.closed {
		close(l.over)
	}
	l.closed = true
	working := l.working
	l.working = nil
	var held []*Client
	for len(l.order) > 0 {
		held = append(held, l.remove(l.order[0]))
	}
	l.mu.Unlock()
	for c := range working {
		c.end.End(errClosed)
	}
	for _, c := range held {
		c.abandon(errClosed)
	}
	l.all.Wait()
}
