package children

import (
	"errors"
	"slices"

	"mcphub/children/spec"
)

// This file counts the sessions that an instance serves. When there are none left,
// a session's own instance ends at once, and a shared one after its idle time.

// errUnheld ends an instance that no session holds.
var errUnheld = errors.New("no session needs it any more")

// Join makes one more session a holder of the instance. It starts nothing. The
// serial tells this instance from former ones of the same Key: see
// Status.Serial. 0: there is no Spec of this name, or the Supervisor has ended.
func (s *Supervisor) Join(k spec.Key) (serial uint64) { return s.JoinBy(k, nil) }

// JoinBy works like Join for a session that has surroundings of its own. by is the Spec as the
// session has it. If the instance has to be made, it starts in those surroundings.
func (s *Supervisor) JoinBy(k spec.Key, by *spec.Spec) (serial uint64) {
	s.mu.Lock()
	c := s.instanceLocked(k, by)
	if c == nil {
		s.mu.Unlock()
		return 0
	}
	s.held[k]++
	wasUnheld := c.unheld.Swap(false)
	s.mu.Unlock()
	if wasUnheld {
		c.wakeOwner() // it may be about to end
	}
	return c.serial
}

// Leave takes one holder away. With the last one a session's own instance is
// stopped, and its calls with it. A shared one finishes its calls, and stops when
// it has been idle for its time. Callers that still wait in Acquire may be refused.
func (s *Supervisor) Leave(k spec.Key) {
	s.mu.Lock()
	if s.held[k] == 0 {
		s.mu.Unlock()
		return
	}
	if s.held[k]--; s.held[k] > 0 {
		s.mu.Unlock()
		return
	}
	delete(s.held, k)
	c := s.children[k]
	isPrivate := c != nil && c.spec.Share == spec.ShareSession
	if c != nil && !isPrivate {
		c.unheld.Store(true)
	}
	s.mu.Unlock()
	switch {
	case isPrivate:
		s.dropInstances(k.Instance, func(c *childInstance) bool { return c.key == k })
	case c != nil:
		c.wakeOwner()
	}
}

// dropUnheld takes an instance out that no one holds; false if a session has joined
// meanwhile. Only the instance's own goroutine calls it.
func (s *Supervisor) dropUnheld(c *childInstance) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held[c.key] > 0 || s.children[c.key] != c {
		return false
	}
	delete(s.children, c.key)
	c.endNow(errUnheld)
	return true
}

// giveUp takes an instance out that ends by itself. From now on its Key names a new
// one. Only the instance's own goroutine calls it.
func (s *Supervisor) giveUp(c *childInstance) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.children[c.key] == c {
		delete(s.children, c.key)
		s.retired[c] = struct{}{}
	}
}

// dropInstances stops the instances of one session that match, retired ones too, and
// forgets them.
func (s *Supervisor) dropInstances(instance string, match func(*childInstance) bool) {
	s.mu.Lock()
	var gone []*childInstance
	for _, c := range s.bySession[instance] {
		if match(c) {
			gone = append(gone, c)
			if s.children[c.key] == c {
				delete(s.children, c.key)
			}
		}
	}
	unstarted := s.takeBack(gone)
	s.mu.Unlock()
	for _, c := range gone {
		c.stopWith(errDropped)
	}
	for _, c := range unstarted {
		c.publishEnd()
	}
}

// takeBack takes those out of gone whose life has not started: no one else gives
// them their last snapshot. The caller holds mu.
func (s *Supervisor) takeBack(gone []*childInstance) (unstarted []*childInstance) {
	s.unstarted = slices.DeleteFunc(s.unstarted, func(c *childInstance) bool {
		isGone := slices.Contains(gone, c)
		if isGone {
			unstarted = append(unstarted, c)
			s.unlistChild(c)
		}
		return isGone
	})
	return unstarted
}
