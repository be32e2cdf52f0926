package children

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// DefaultMaxChildren bounds how many children run at a time.
const DefaultMaxChildren = 256

const (
	// evictWait bounds how long a start waits for a place that is being vacated:
	// longer than a stop ladder usually takes.
	evictWait = 5 * time.Second
	// busyPause is the least time between two tries of a start that found no place.
	busyPause = time.Second

	evicted = "stopped to make room for another child (limits.children); the next call starts it"
)

var errBusy = errors.New("no place is free")

// places bounds how many children run (C5): a child holds its place from its
// start until its process has ended.
type places struct {
	most int

	mu    sync.Mutex
	taken map[*child]struct{}
	moved chan struct{} // closed when it is worth looking again
}

func newPlaces(most int) *places {
	if most <= 0 {
		most = DefaultMaxChildren
	}
	return &places{most: most, taken: map[*child]struct{}{}, moved: make(chan struct{})}
}

// stir wakes those who wait for a place.
func (p *places) stir() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.moved)
	p.moved = make(chan struct{})
}

func (p *places) leave(c *child) {
	p.mu.Lock()
	_, had := p.taken[c]
	delete(p.taken, c)
	p.mu.Unlock()
	if had {
		p.stir()
	}
}

// try takes a place, or returns who has them and when to look again.
func (p *places) try(c *child) (ok bool, others []*child, moved <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.taken) < p.most {
		p.taken[c] = struct{}{}
		return true, nil, nil
	}
	others = make([]*child, 0, len(p.taken))
	for o := range p.taken {
		others = append(others, o)
	}
	return false, others, p.moved
}

// take waits for a place. Where all are taken it has the longest idle child
// stopped that is nobody's own. The error is errBusy, or the cause of ctx.
func (p *places) take(ctx context.Context, c *child) error {
	over := time.NewTimer(evictWait)
	defer over.Stop()
	for {
		ok, others, moved := p.try(c)
		if ok {
			return nil
		}
		victim, leaving := longestIdle(others, time.Now())
		switch {
		case victim != nil:
			victim.ask(func(w *want) bool { w.evict = true; return true })
		case !leaving:
			return errBusy
		}
		select {
		case <-moved:
		case <-over.C:
			return errBusy
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// longestIdle finds the child to evict, nil for none. leaving: one of them is
// on its way out already.
func longestIdle(all []*child, now time.Time) (victim *child, leaving bool) {
	var longest time.Duration
	for _, c := range all {
		v := c.view.Load()
		leaving = leaving || v.status.State == Draining || c.ctx.Err() != nil
		if v.run == nil || !c.evictable() {
			continue
		}
		if unused := v.run.leases.unused(now, v.status.Since); unused > longest || victim == nil && v.run.leases.free() {
			victim, longest = c, unused
		}
	}
	return victim, leaving
}

// evictable reports whether the state of an idle run may be lost: a session's
// own process holds what is the user's, unless its Spec lets it idle out.
func (c *child) evictable() bool {
	return c.spec.Share != ShareSession || c.spec.IdleTimeout > 0 || c.unheld.Load()
}

// free reports whether no lease is held.
func (l *leases) free() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held == 0 && !l.closing
}

// place takes a place for a start.
func (c *child) place() *UnavailableError {
	err := c.common.places.take(c.ctx, c)
	if err == nil || c.ctx.Err() != nil {
		return nil
	}
	return &UnavailableError{
		Child: c.key.Child, Err: err,
		Reason: fmt.Sprintf("the hub is busy: %d children run, as many as limits.children in hub.json allows, and none of them can be stopped; close a session that is not needed, or raise the limit", c.common.places.most),
	}
}

// busy says that there was no place. It is no failure of the child.
func (c *child) busy(err *UnavailableError) {
	c.past.next = time.Now().Add(busyPause)
	c.ask(func(w *want) bool { w.demand, w.wish = false, false; return false })
	c.publish(func(v *view) {
		v.status.State, v.status.Err, v.status.PID, v.status.NextStart, v.status.ByItself = BackingOff, err.Reason, 0, c.past.next, c.again()
		v.run, v.err = nil, err
		v.failed++
	})
	c.settle.Do(func() { close(c.settled) })
}
