package children

import "time"

// keepWarm is how long a shared instance that no one holds is kept if its Spec sets
// no idle timeout.
const keepWarm = 15 * time.Minute

// idleLimit returns how long a run may go without a call; 0: for ever.
func (c *childInstance) idleLimit() time.Duration {
	switch {
	case c.spec.IdleTimeout > 0:
		return c.spec.IdleTimeout
	case c.unheld.Load():
		return keepWarm
	}
	return 0
}

// checkIdle returns why a run ends that has been idle for too long, or is idle and
// must make room. Otherwise it sets the clock for the next look.
func (s *servedRun) checkIdle() (why string) {
	c, r := s.child, s.run
	evict := false
	c.updateWanted(func(w *wantedState) bool { evict, w.evict = w.evict, false; return false })
	if evict {
		if r.Leases.CloseUnused() {
			return evicted
		}
		c.common.places.Stir() // the one who waits for this place must find another
	}
	limit := c.idleLimit()
	if limit <= 0 {
		s.idleTimer.Stop()
		return ""
	}
	unused := r.Leases.Unused(time.Now(), s.since)
	if unused >= limit && r.Leases.CloseUnused() {
		return idle
	}
	s.idleTimer.Reset(max(limit-unused, time.Millisecond))
	return ""
}
