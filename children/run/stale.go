package run

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"mcphub/children/offers"
	"mcphub/internal/worker"
)

// staleLists are the lists that are to be read again, and the ones that are being read.
type staleLists struct {
	sessions atomic.Uint64 // started instead of forgotten ones

	mu    sync.Mutex
	next  *listReading   // of what has become stale since the last one began; nil: of nothing
	under []*listReading // that have begun and are not over, in order
	read  [offers.Kinds]time.Time
}

// A listReading is one time that lists are read. It is over when the instance has taken in
// what was read.
type listReading struct {
	which    offers.Lists
	since    time.Time // some are stale
	finished chan struct{}
}

func newReading() *listReading { return &listReading{since: time.Now(), finished: make(chan struct{})} }

// addLists remembers lists that are to be read. news are the ones that were not to be read before.
func (s *staleLists) addLists(which offers.Lists) (news offers.Lists) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next == nil {
		s.next = newReading()
	}
	news = which &^ s.next.which
	s.next.which |= which
	return news
}

// isDue reports whether lists are to be read that no reading has begun with.
func (s *staleLists) isDue() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.next != nil
}

// beginReading returns what is to be read. Lists that become stale from here on belong to another reading.
func (s *staleLists) beginReading() *listReading {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.next
	if now == nil {
		now = newReading()
	}
	s.next, s.under = nil, append(s.under, now)
	for k := range s.read {
		if now.which&(1<<k) != 0 {
			s.read[k] = time.Now()
		}
	}
	return now
}

// endReadings ends readings.
func (s *staleLists) endReadings(all ...*listReading) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range all {
		s.under = slices.DeleteFunc(s.under, func(r *listReading) bool { return r == one })
		close(one.finished)
	}
}

// awaitLists returns what is closed when lists are as they are now or newer; nil if they are,
// or if that is awaited longer than within.
func (s *staleLists) awaitLists(which offers.Lists, within time.Duration) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.next
	for i := len(s.under) - 1; i >= 0 && (last == nil || last.which&which == 0); i-- {
		last = s.under[i]
	}
	if last == nil || last.which&which == 0 || time.Since(last.since) > within {
		return nil
	}
	return last.finished
}

// noteRead remembers that all lists have been read.
func (s *staleLists) noteRead() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k := range s.read {
		s.read[k] = time.Now()
	}
}

// olderThan picks the lists that were not read for so long. None is old before had.
func (s *staleLists) olderThan(which offers.Lists, than time.Duration) (old offers.Lists) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, at := range s.read {
		if which&(1<<k) != 0 && !at.IsZero() && time.Since(at) >= than {
			old |= 1 << k
		}
	}
	return old
}

// An Update is what a child offers after its lists were read again.
type Update struct {
	*offers.RawOffer
	stale *staleLists
	reads []*listReading
}

// MarkTaken reports that what is offered is in force: a call that has waited for it goes on.
func (u Update) MarkTaken() { u.stale.endReadings(u.reads...) }

// outdateLists has lists read again. news are the ones that were not to be read anyway.
func (r *Run) outdateLists(which offers.Lists) (news offers.Lists) {
	news = r.stale.addLists(which)
	worker.Signal(r.relist)
	return news
}

// Await waits until lists are in force that the child has said to have changed, or that
// are read again for another reason. It waits no longer than most, and for none that is
// awaited so long already.
func (r *Run) Await(ctx context.Context, which offers.Lists, most time.Duration) {
	over := r.stale.awaitLists(which, most)
	if over == nil {
		return
	}
	limit := time.NewTimer(most)
	defer limit.Stop()
	select {
	case <-over:
	case <-r.Ended():
	case <-limit.C:
	case <-ctx.Done():
	}
}

// Doubt has lists read again that an answer of the child does not agree with, unless
// that has been so too often. Await waits for them.
func (r *Run) Doubt(which offers.Lists) {
	if r.doubts.Allow() {
		r.outdateLists(which)
	}
}

// Refresh has those lists read again that were not read for so long.
func (r *Run) Refresh(which offers.Lists, after time.Duration) {
	if old := r.stale.olderThan(which, after); old != 0 {
		r.outdateLists(old)
	}
}
