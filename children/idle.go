package children

import "time"

// keepWarm is how long a shared instance that no one holds is kept if its Spec sets
// no idle timeout.
const keepWarm = 15 * time.Minute

// idleLimit returns how long a run may go without a call; 0: for ever.
func (child *childInstance) idleLimit() time.Duration {
	switch {
	case child.spec.IdleTimeout > 0:
		return child.spec.IdleTimeout
	case child.unheld.Load():
		return keepWarm
	}
	return 0
}

// checkIdle returns why a run ends that has been idle for too long, or is idle and
// must make room. Otherwise it sets the clock for the next look.
func (served *servedRun) checkIdle() (why string) {
	child, r := served.child, served.run
	evict := false
	child.updateWanted(func(w *wantedState) bool { evict, w.evict = w.evict, false; return false })
	if evict {
		if r.Leases.CloseUnused() {
			return evicted
		}
		child.common.places.Stir() // the one who waits for this place must find another
	}
	limit := child.idleLimit()
	if limit <= 0 {
		served.idleTimer.Stop()
		return ""
	}
	unused := r.Leases.Unused(time.Now(), served.since)
	if unused >= limit && r.Leases.CloseUnused() {
		return idle
	}
	served.idleTimer.Reset(max(limit-unused, time.Millisecond))
	return ""
}
