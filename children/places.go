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
func (c *childInstance) Use(now time.Time) limits.Use {
	v := c.snapshot.Load()
	u := limits.Use{Leaving: v.status.State == Draining || c.accepting.Err() != nil, Evictable: v.run != nil && c.isEvictable()}
	if u.Evictable {
		u.Unused, u.Free = v.run.Leases.Unused(now, v.status.Since), v.run.Leases.IsFree()
	}
	return u
}

// Evict has the instance stop once it is idle.
func (c *childInstance) Evict() {
	c.updateWanted(func(w *wantedState) bool { w.evict = true; return true })
}

// Yield has the session end whose own the instance is, if no one uses that.
func (c *childInstance) Yield() bool { return c.common.Yield != nil && c.common.Yield(c.key) }

// isEvictable reports whether an idle run may be stopped to make room. A session's own
// process may hold state of the user, so it may not, unless its Spec sets an idle
// timeout.
func (c *childInstance) isEvictable() bool {
	return c.spec.Share != spec.ShareSession || c.spec.IdleTimeout > 0 || c.unheld.Load()
}

// ownerName returns the principal whose the instance is; "" for no one in particular.
func (c *childInstance) ownerName() string {
	if c.common.Principal == nil {
		return ""
	}
	return c.common.Principal(c.key)
}

// Session names the session whose own the instance is; of one that several share by their roots it is a digest of these.
func (c *childInstance) Session() string { return c.key.Instance }

// takePlace takes a place for a start.
func (c *childInstance) takePlace() *run.UnavailableError {
	owner := c.ownerName()
	err := c.common.places.Take(c.accepting, c, owner)
	if err == nil || c.accepting.Err() != nil {
		return nil
	}
	if errors.Is(err, limits.ErrOwnerBusy) {
		return c.unavailableError(fmt.Sprintf("%s runs %d children, as many as limits.principal.children in hub.json allows, and none of them can be stopped: try again when a session of it has ended, or has been idle for http.idle", owner, c.common.places.Each()), "", err)
	}
	return &run.UnavailableError{
		Child: c.key.Child, Err: err,
		Reason: fmt.Sprintf("the hub is busy: %d children run, as many as limits.children in hub.json allows, and none of them can be stopped; close a session that is not needed, or raise the limit", c.common.places.Most()),
	}
}

// noPlace reports that there was no place. It is no failure of the child.
func (c *childInstance) noPlace(err *run.UnavailableError) {
	c.history.next = time.Now().Add(busyPause)
	c.updateWanted(func(w *wantedState) bool { w.callerWaits, w.shouldRun = false, false; return false })
	c.publishSnapshot(func(v *instanceSnapshot) {
		v.status.State, v.status.Err, v.status.PID, v.status.NextStart, v.status.ByItself = BackingOff, err.Reason, 0, c.history.next, c.startsByItself()
		v.run, v.err = nil, err
		v.failed++
	})
	c.settleOnce.Do(func() { close(c.settled) })
}
