package hub

import (
	"slices"
	"sync"
	"time"

	"mcphub/internal/jsonrpc"
)

// lot holds the parleys of one session: the work that is under way, and of
// that what waits for its client. The mutex is a leaf.
type lot struct {
	mu      sync.Mutex
	closed  bool
	working map[*parley]struct{}
	parked  map[string]*spot
	order   []string // of parked, the oldest first
	bytes   int      // of parked, what they hold of their clients and servers
	lapsed  []string // ids of those that gave way, the oldest first
	all     sync.WaitGroup
}

// A spot is where a parley is parked.
type spot struct {
	p      *parley
	since  time.Time
	expire *time.Timer
}

// enter begins the work of a parley; false once the session has ended.
func (l *lot) enter(p *parley, work func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	if l.working == nil {
		l.working, l.parked = map[*parley]struct{}{}, map[string]*spot{}
	}
	l.working[p] = struct{}{}
	l.all.Go(func() {
		defer l.left(p)
		work()
	})
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
	l.parked[id] = &spot{p, time.Now(), time.AfterFunc(stateTime, func() {
		if l.take(id) != nil {
			p.abandon(errAbandoned)
		}
	})}
	l.order = append(l.order, id)
	l.bytes += p.held
	gone := l.shed()
	l.mu.Unlock()
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
		if parked.p == p {
			p.held += n
			l.bytes += n
			gone = l.shed()
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
func (l *lot) shed() (gone []*parley) {
	for len(l.parked) > mostParked || l.bytes > mostParkedBytes && len(l.parked) > 1 {
		gone = append(gone, l.remove(l.order[0]))
	}
	return gone
}

// remove takes a parley out, nil for none. The caller holds mu.
func (l *lot) remove(id string) *parley {
	s := l.parked[id]
	if s == nil {
		return nil
	}
	s.expire.Stop()
	delete(l.parked, id)
	l.order = slices.DeleteFunc(l.order, func(other string) bool { return other == id })
	l.bytes -= s.p.held
	s.p.s.hub.parked.Add(-1)
	return s.p
}

// take takes a parley out that waits for its client; nil for none.
func (l *lot) take(id string) *parley {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.remove(id)
}

// find is take that leaves it there.
func (l *lot) find(id string) *parley {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.parked[id]; s != nil {
		return s.p
	}
	return nil
}

// giveWay gives up whoever has a turn of a gate and has waited for its client
// since then or longer: others wait for the turn. Their retries begin anew.
func (l *lot) giveWay(gate *turns, since time.Time) {
	l.mu.Lock()
	long := map[string]*parley{}
	for id, s := range l.parked {
		if !s.since.After(since) {
			long[id] = s.p
		}
	}
	l.mu.Unlock()
	for id, p := range long {
		if p.turnNow().gate != gate {
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
func (l *lot) lapse(id string) {
	if len(l.lapsed) == mostParked {
		l.lapsed = slices.Delete(l.lapsed, 0, 1)
	}
	l.lapsed = append(l.lapsed, id)
}

// anew reports whether a request is one that gave way, the first time that it
// is asked.
func (l *lot) anew(id string) bool {
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
func (l *lot) busy() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.working) > 0
}

// close gives up everything, and returns when all work has ended.
func (l *lot) close() {
	l.mu.Lock()
	l.closed = true
	working := l.working
	l.working = nil
	var parked []*parley
	for len(l.order) > 0 {
		parked = append(parked, l.remove(l.order[0]))
	}
	l.mu.Unlock()
	for p := range working {
		p.cancel(errLeft)
	}
	for _, p := range parked {
		p.abandon(errLeft)
	}
	l.all.Wait()
}

// abandon ends the work of a parley whose client does not come again. The child
// is told by the end of its call; what it answered is nobody's.
func (p *parley) abandon(cause error) {
	p.cancel(cause)
	p.mu.Lock()
	p.tab.left = true
	p.mu.Unlock()
	select {
	case a := <-p.done:
		discard(a)
	default:
	}
}

// deliver hands over what the work ended with, or lets go of it where nobody
// wants it any more.
func (p *parley) deliver(a jsonrpc.Answer) {
	p.mu.Lock()
	wanted := !p.tab.left
	if wanted {
		p.done <- a
	}
	p.mu.Unlock()
	if !wanted {
		discard(a)
	}
}

// discard lets go of an answer that is not sent.
func discard(a jsonrpc.Answer) {
	if a.Release != nil {
		a.Release()
	}
}
