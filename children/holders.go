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
	child := s.instanceLocked(k, by)
	if child == nil {
		s.mu.Unlock()
		return 0
	}
	s.held[k]++
	wasUnheld := child.unheld.Swap(false)
	s.mu.Unlock()
	if wasUnheld {
		child.wakeOwner() // it may be about to end
	}
	return child.serial
}

// LeaveInstance takes one holder away. With the last one a session's own instance is
// stopped, and its calls with it. A shared one finishes its calls, and stops when
// it has been idle for its time. Callers that still wait in Acquire may be refused.
func (s *Supervisor) LeaveInstance(k spec.Key) {
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
	child := s.children[k]
	isPrivate := child != nil && child.spec.Share == spec.ShareSession
	if child != nil && !isPrivate {
		child.unheld.Store(true)
	}
	s.mu.Unlock()
	switch {
	case isPrivate:
		s.dropInstances(k.Instance, func(child *childInstance) bool { return child.key == k })
	case child != nil:
		child.wakeOwner()
	}
}

// dropUnheld takes an instance out that no one holds; false if a session has joined
// meanwhile. Only the instance's own goroutine calls it.
func (s *Supervisor) dropUnheld(child *childInstance) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held[child.key] > 0 || s.children[child.key] != child {
		return false
	}
	delete(s.children, child.key)
	child.endNow(errUnheld)
	return true
}

// giveUpInstance takes an instance out that ends by itself. From now on its Key names a new
// one. Only the instance's own goroutine calls it.
func (s *Supervisor) giveUpInstance(child *childInstance) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.children[child.key] == child {
		delete(s.children, child.key)
		s.retired[child] = struct{}{}
	}
}

// dropInstances stops the instances of one session that match, retired ones too, and
// forgets them.
func (s *Supervisor) dropInstances(instance string, match func(*childInstance) bool) {
	s.mu.Lock()
	var gone []*childInstance
	for _, child := range s.bySession[instance] {
		if match(child) {
			gone = append(gone, child)
			if s.children[child.key] == child {
				delete(s.children, child.key)
			}
		}
	}
	unstarted := s.takeGone(gone)
	s.mu.Unlock()
	for _, child := range gone {
		child.stopWith(errDropped)
	}
	for _, child := range unstarted {
		child.publishEnd()
	}
}

// takeGone takes those out of gone whose life has not started: no one else gives
// them their last snapshot. The caller holds mu.
func (s *Supervisor) takeGone(gone []*childInstance) (unstarted []*childInstance) {
	s.unstarted = slices.DeleteFunc(s.unstarted, func(child *childInstance) bool {
		isGone := slices.Contains(gone, child)
		if isGone {
			unstarted = append(unstarted, child)
			s.unlistChild(child)
		}
		return isGone
	})
	return unstarted
}
