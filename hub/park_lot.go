package hub

import (
	"sync"
	"time"
)

// lot holds the parleys of one session: the work that is under way, and of
// that what waits for its client. The mutex is a leaf.
type lot struct {
	mu      sync.Mutex
	closed  bool
	working map[*parley]struct{}
	parked  map[string]*parley
	order   []string // of parked, the oldest first; some may have left
	bytes   int      // of parked, what they hold of their clients and servers
	crew    crew
	all     sync.WaitGroup
}

// mostResting is how many goroutines of a lot wait for more work: a new one
// would have to grow its stack again.
const mostResting = 16

// crew are the goroutines of a lot that wait for work.
type crew struct {
	resting int           // without work; guarded by the lot's mutex
	jobs    chan func()   // one for a goroutine that rests; never more than those
	over    chan struct{} // closed with the lot
}

// enter begins the work of a parley; false once the session has ended.
func (l *lot) enter(p *parley, work func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	if l.working == nil {
		l.working, l.parked = map[*parley]struct{}{}, map[string]*parley{}
		l.crew = crew{jobs: make(chan func(), mostResting), over: make(chan struct{})}
	}
	l.working[p] = struct{}{}
	job := func() {
		defer l.left(p)
		work()
	}
	if l.crew.resting > 0 {
		l.crew.resting--
		l.crew.jobs <- job
		return true
	}
	l.all.Go(func() {
		for job(); l.rest(); job() {
			select {
			case job = <-l.crew.jobs:
			case <-l.crew.over:
				select {
				case job = <-l.crew.jobs: // given before that
				default:
					return
				}
			}
		}
	})
	return true
}

// rest counts a goroutine that is about to wait; false: it is not needed.
func (l *lot) rest() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.crew.resting >= mostResting {
		return false
	}
	l.crew.resting++
	return true
}

func (l *lot) left(p *parley) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.working, p)
}

// park holds a parley until its client comes again, for stateTime at most.
// Where too many of the session are held the oldest is given up.
func (l *lot) park(id string, p *parley) error {
	h := p.s.hub
	if h.parked.Add(1) > mostParkedInAll {
		h.parked.Add(-1)
		return errFull
	}
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		h.parked.Add(-1)
		return errLeft
	}
	l.parked[id] = p
	l.order = append(l.order, id)
	l.bytes += p.held
	gone := l.shed(h)
	l.mu.Unlock()
	p.mu.Lock()
	p.tab.expire = time.AfterFunc(stateTime, func() {
		if l.take(id) != nil {
			p.abandon(errAbandoned)
		}
	})
	p.mu.Unlock()
	for _, oldest := range gone {
		oldest.abandon(errFull)
	}
	return nil
}

// grew counts the answer that a server gave to a parley whose client is away.
func (l *lot) grew(p *parley, n int) {
	l.mu.Lock()
	var gone []*parley
	for _, parked := range l.parked {
		if parked == p {
			p.held += n
			l.bytes += n
			gone = l.shed(p.s.hub)
			break
		}
	}
	l.mu.Unlock()
	for _, oldest := range gone {
		oldest.abandon(errFull)
	}
}

// shed takes out the oldest that there is no room for. The caller holds mu, and
// abandons them.
func (l *lot) shed(h *Hub) (gone []*parley) {
	for len(l.parked) > mostParked || l.bytes > mostParkedBytes && len(l.parked) > 1 {
		old := l.order[0]
		l.order = l.order[1:]
		if oldest := l.parked[old]; oldest != nil {
			delete(l.parked, old)
			l.bytes -= oldest.held
			h.parked.Add(-1)
			gone = append(gone, oldest)
		}
	}
	return gone
}

// take takes a parley out that waits for its client; nil for none.
func (l *lot) take(id string) *parley {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.parked[id]
	if p == nil {
		return nil
	}
	delete(l.parked, id)
	l.bytes -= p.held
	for i, other := range l.order {
		if other == id {
			l.order = append(l.order[:i:i], l.order[i+1:]...)
			break
		}
	}
	p.s.hub.parked.Add(-1)
	return p
}

// find is take that leaves it there.
func (l *lot) find(id string) *parley {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.parked[id]
}

// busy reports whether any work is under way, or waits for its client.
func (l *lot) busy() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.working) > 0
}

// close gives up everything, and returns when all work has ended.
func (l *lot) close() {
	l.mu.Lock()
	if l.crew.over != nil && !l.closed {
		close(l.crew.over)
	}
	l.closed = true
	working, parked := l.working, l.parked
	l.working, l.parked, l.order = nil, nil, nil
	l.mu.Unlock()
	for p := range working {
		p.cancel(errLeft)
	}
	for _, p := range parked {
		p.s.hub.parked.Add(-1)
		p.abandon(errLeft)
	}
	l.all.Wait()
}

// abandon ends the work of a parley whose client does not come again. The child
// is told by the end of its call.
func (p *parley) abandon(cause error) {
	p.mu.Lock()
	if p.tab.expire != nil {
		p.tab.expire.Stop()
	}
	p.mu.Unlock()
	p.cancel(cause)
}
