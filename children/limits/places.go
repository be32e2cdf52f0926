package limits

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
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

// ErrBusy means that all places are taken by those who cannot be stopped.
var ErrBusy = errors.New("no place is free")

// ErrOwnerBusy is ErrBusy for one owner, who has as many places as one may.
var ErrOwnerBusy = fmt.Errorf("no place of this owner is free: %w", ErrBusy)

// A Tenant is one who takes a place. Its methods must not block.
type Tenant interface {
	// Use returns how the place is used.
	Use(now time.Time) Use
	// Evict asks it to leave, if it is idle.
	Evict()
	// Session names who has it: the session whose own it is, or in a name that is no session's
	// what several share; "" where all do. It is always the same.
	Session() string
	// Yield has the session end whose own it is, if no one uses that; false: someone does, or
	// it is no session's own.
	Yield() bool
}

// Use is how a place is used.
type Use struct {
	Leaving   bool          // the tenant is on its way out already
	Evictable bool          // it is ready, and its state may be lost
	Free      bool          // no one uses it
	Unused    time.Duration // for how long no one has; 0 while someone does
}

// Places bound how many children run: a child holds its place from its
// start until its process has ended.
type Places struct {
	most int

	mu       sync.Mutex
	each     int // of one owner; 0: no bound
	taken    map[Tenant]place
	owned    map[string]int       // how many are of each owner
	moved    chan struct{}        // closed when it is worth looking again
	waiting  int                  // how many look for a place
	yielding map[string]time.Time // sessions that were asked to end, and when, while they have places
}

// A place is one that is taken.
type place struct {
	owner   string // "": no one in particular
	session string // the tenant's
}

// NewPlaces returns so many places, and so many of them for each owner; most 0: DefaultMaxChildren,
// each 0: as many.
func NewPlaces(most, each int) *Places {
	if most <= 0 {
		most = DefaultMaxChildren
	}
	return &Places{most: most, each: each, taken: map[Tenant]place{}, owned: map[string]int{}, moved: make(chan struct{}), yielding: map[string]time.Time{}}
}

// Most returns how many places there are.
func (p *Places) Most() int { return p.most }

// Each returns how many of them one owner may have; 0: as many.
func (p *Places) Each() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.each
}

// A PlaceUse is how many places are taken, by all owners and by the one that has most. A bound of 0 is none.
type PlaceUse struct{ All, Most, OfOne, MostOfOne int }

// Used returns how many places are taken.
func (p *Places) Used() PlaceUse {
	p.mu.Lock()
	defer p.mu.Unlock()
	u := PlaceUse{All: len(p.taken), Most: p.most, MostOfOne: p.each}
	for owner, n := range p.owned {
		if owner != "" {
			u.OfOne = max(u.OfOne, n)
		}
	}
	return u
}

// SetEach changes that. An owner who has more keeps them.
func (p *Places) SetEach(each int) {
	p.mu.Lock()
	p.each = each
	p.mu.Unlock()
	p.Stir()
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
	at, had := p.taken[c]
	if had {
		delete(p.taken, c)
		if p.owned[at.owner]--; p.owned[at.owner] == 0 {
			delete(p.owned, at.owner)
		}
		if _, asked := p.yielding[at.session]; asked && p.placesOf(at.session) == 0 {
			delete(p.yielding, at.session)
		}
	}
	p.mu.Unlock()
	if had {
		p.Stir()
	}
}

// placesOf returns how many places the tenants of a session have. mu is held.
func (p *Places) placesOf(session string) (n int) {
	for _, at := range p.taken {
		if at.session == session {
			n++
		}
	}
	return n
}

// A look is what tryTake finds if it takes no place.
type look struct {
	own     bool            // the owner has as many as it may
	tenants []Tenant        // who could leave for it
	richer  []Tenant        // tenants of owners with at least two places more than this one, or with any if this one has none; the owner with the most first
	coming  bool            // sessions were asked to end that have a place for each who looks for one
	moved   <-chan struct{} // when to look again
}

// tryTake takes a place, or returns a look.
func (p *Places) tryTake(c Tenant, owner, session string) (ok bool, l look) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l.own = owner != "" && p.each > 0 && p.owned[owner] >= p.each
	if len(p.taken) < p.most && !l.own {
		p.taken[c] = place{owner, session}
		p.owned[owner]++
		return true, l
	}
	l.moved = p.moved
	coming := 0
	than := p.owned[owner] + min(p.owned[owner], 1) // for one more than another has, a place would go to and fro
	for o, at := range p.taken {
		if l.own && at.owner != owner {
			continue
		}
		l.tenants = append(l.tenants, o)
		if p.wasAsked(at.session) {
			coming++
			continue
		}
		if !l.own && owner != "" && at.owner != "" && at.session != "" && p.owned[at.owner] > than {
			l.richer = append(l.richer, o)
		}
	}
	l.coming = coming >= p.waiting
	slices.SortFunc(l.richer, func(a, b Tenant) int { return cmp.Compare(p.owned[p.taken[b].owner], p.owned[p.taken[a].owner]) })
	return false, l
}

// wasAsked reports whether a session was asked to end of late: one that does not is asked again. mu is held.
func (p *Places) wasAsked(session string) bool {
	since, asked := p.yielding[session]
	return asked && time.Since(since) < evictWait
}

// addWaiting counts who looks for a place.
func (p *Places) addWaiting(more int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting += more
}

// yieldSession has one session end of those who may; false where none does. It is noted before it is asked, so that no one else asks another
// one for the place that this one leaves.
func (p *Places) yieldSession(richer []Tenant) bool {
	refused := false
	defer func() {
		if refused {
			p.Stir() // someone may have counted on them
		}
	}()
	for _, t := range richer {
		session := t.Session()
		p.mu.Lock()
		_, has := p.taken[t]
		asked := p.wasAsked(session)
		if has && !asked {
			p.yielding[session] = time.Now()
		}
		p.mu.Unlock()
		if !has || asked {
			continue
		}
		if t.Yield() {
			return true
		}
		p.mu.Lock()
		delete(p.yielding, session)
		refused = refused || p.waiting > 1
		p.mu.Unlock()
	}
	return false
}

// Take waits for a place. If all are taken, it stops the evictable tenant that has been idle longest. If there
// is none, it asks an owner with more places to end an unused session. The error is ErrBusy, ErrOwnerBusy, or
// the cause of ctx.
func (p *Places) Take(ctx context.Context, c Tenant, owner string) error {
	evictTimer := time.NewTimer(evictWait)
	defer evictTimer.Stop()
	p.addWaiting(1)
	defer p.addWaiting(-1)
	session := c.Session()
	for {
		ok, l := p.tryTake(c, owner, session)
		if ok {
			return nil
		}
		busy := ErrBusy
		if l.own {
			busy = ErrOwnerBusy
		}
		victim, leaving := longestIdle(l.tenants, time.Now())
		switch {
		case victim != nil:
			victim.Evict()
		case !leaving && !l.coming && !p.yieldSession(l.richer):
			return busy
		}
		select {
		case <-l.moved:
		case <-evictTimer.C:
			return busy
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
