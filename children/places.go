package children

import (
	"errors"
	"fmt"
	"time"

	"mcphub/children/limits"
	"mcphub/children/run"
	"mcphub/children/spec"
)

const (
	// busyPause is the least time between two tries of a start that found no place.
	busyPause = time.Second

	evicted = "stopped to make room for another child (limits.children); the next call starts it"
)

// Use returns how the instance uses its place: a child holds it from its start
// until its process has ended.
func (child *childInstance) Use(now time.Time) limits.Use {
	v := child.snapshot.Load()
	u := limits.Use{Leaving: v.status.State == Draining || child.accepting.Err() != nil, Evictable: v.run != nil && child.isEvictable()}
	if u.Evictable {
		u.Unused, u.Free = v.run.Leases.Unused(now, v.status.Since), v.run.Leases.IsFree()
	}
	return u
}

// Evict has the instance stop once it is idle.
func (child *childInstance) Evict() {
	child.updateWanted(func(w *wantedState) bool { w.evict = true; return true })
}

// Yield has the session end whose own the instance is, if no one uses that.
func (child *childInstance) Yield() bool {
	return child.common.Yield != nil && child.common.Yield(child.key)
}

// isEvictable reports whether an idle run may be stopped to make room. A session's own
// process may hold state of the user, so it may not, unless its Spec sets an idle
// timeout.
func (child *childInstance) isEvictable() bool {
	return child.spec.Share != spec.ShareSession || child.spec.IdleTimeout > 0 || child.unheld.Load()
}

// ownerName returns the principal whose the instance is; "" for no one in particular.
func (child *childInstance) ownerName() string {
	if child.common.Principal == nil {
		return ""
	}
	return child.common.Principal(child.key)
}

// Session names the session whose own the instance is; of one that several share by their roots it is a digest of these.
func (child *childInstance) Session() string { return child.key.Instance }

// takePlace takes a place for a start.
func (child *childInstance) takePlace() *run.UnavailableError {
	owner := child.ownerName()
	err := child.common.places.Take(child.accepting, child, owner)
	if err == nil || child.accepting.Err() != nil {
		return nil
	}
	if errors.Is(err, limits.ErrOwnerBusy) {
		return child.unavailableError(fmt.Sprintf("%s runs %d children, as many as limits.principal.children in hub.json allows, and none of them can be stopped: try again when a session of it has ended, or has been idle for http.idle", owner, child.common.places.Each()), "", err)
	}
	return &run.UnavailableError{
		Child: child.key.Child, Err: err,
		Reason: fmt.Sprintf("the hub is busy: %d children run, as many as limits.children in hub.json allows, and none of them can be stopped; close a session that is not needed, or raise the limit", child.common.places.Most()),
	}
}

// reportNoPlace reports that there was no place. It is no failure of the child.
func (child *childInstance) reportNoPlace(err *run.UnavailableError) {
	child.history.nextStart = time.Now().Add(busyPause)
	child.updateWanted(func(w *wantedState) bool { w.callerWaits, w.shouldRun = false, false; return false })
	child.publishSnapshot(func(v *instanceSnapshot) {
		v.status.State, v.status.Err, v.status.PID, v.status.NextStart, v.status.ByItself = BackingOff, err.Reason, 0, child.history.nextStart, child.startsByItself()
		v.run, v.err = nil, err
		v.failed++
	})
	child.settleOnce.Do(func() { close(child.settled) })
}
