package limits

import (
	"context"
	"errors"
	"sync"
	"time"
)

// DefaultMaxChildren bounds how many children run at a time.
const DefaultMaxChildren = 256

const (
	// evictWait bounds how long a start waits for a place that is being vacated:
	// longer than a stop ladder usually takes.
	evictWait = 5 * time.Second
)

// ErrBusy says that all places are taken by those who cannot be stopped.
var ErrBusy = errors.New("no place is free")

// A Tenant is one who takes a place. Its methods must not block.
type Tenant interface {
	// Use tells how the place is used.
	Use(now time.Time) Use
	// Evict asks it to leave, where it is idle.
	Evict()
}

// Use is how a place is used.
type Use struct {
	Leaving   bool          // the tenant is on its way out already
	Evictable bool          // it is ready, and its state may be lost
	Free      bool          // nobody uses it
	Unused    time.Duration // for how long nobody has; 0 while somebody does
}

// Most is how many places there are.
func (p *Places) Most() int { return p.most }

// Places bound how many children run: a child holds its place from its
// start until its process has ended.
type Places struct {
	most int

	mu    sync.Mutex
	taken map[Tenant]struct{}
	moved chan struct{} // closed when it is worth looking again
}

// NewPlaces returns so many places; 0: DefaultMaxChildren.
func NewPlaces(most int) *Places {
	if most <= 0 {
		most = DefaultMaxChildren
	}
	return &Places{most: most, taken: map[Tenant]struct{}{}, moved: make(chan struct{})}
}

// Stir wakes those who wait for a place.
func (p *Places) Stir() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.moved)
	p.moved = make(chan struct{})
}

// Leave gives the place of a tenant back, if it has one.
func (p *Places) Leave(c Tenant) {
	p.mu.Lock()
	_, had := p.taken[c]
	delete(p.taken, c)
	p.mu.Unlock()
	if had {
		p.Stir()
	}
}

// try takes a place, or returns who has them and when to look again.
func (p *Places) try(c Tenant) (ok bool, others []Tenant, moved <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.taken) < p.most {
		p.taken[c] = struct{}{}
		return true, nil, nil
	}
	others = make([]Tenant, 0, len(p.taken))
	for o := range p.taken {
		others = append(others, o)
	}
	return false, others, p.moved
}

// Take waits for a place. Where all are taken it has the longest idle child
// stopped that is nobody's own. The error is ErrBusy, or the cause of ctx.
func (p *Places) Take(ctx context.Context, c Tenant) error {
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
			victim.Evict()
		case !leaving:
			return ErrBusy
		}
		select {
		case <-moved:
		case <-over.C:
			return ErrBusy
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// longestIdle finds the child to evict, nil for none. leaving: one of them is
// on its way out already.
func longestIdle(all []Tenant, now time.Time) (victim Tenant, leaving bool) {
	var longest time.Duration
	for _, c := range all {
		use := c.Use(now)
		leaving = leaving || use.Leaving
		if !use.Evictable {
			continue
		}
		if use.Unused > longest || victim == nil && use.Free {
			victim, longest = c, use.Unused
		}
	}
	return victim, leaving
}
