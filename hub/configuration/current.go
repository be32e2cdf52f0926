package configuration

import (
	"errors"
	"sync/atomic"
)

// Current says which Configuration is in force. Its methods may be called by any
// goroutine.
type Current struct{ now atomic.Pointer[Configuration] }

// Set puts a Configuration in force.
func (c *Current) Set(now *Configuration) { c.now.Store(now) }

// Now is the one that counts for what starts now.
func (c *Current) Now() *Configuration { return c.now.Load() }

// Followed is Now, once the children are run by it: they may be asked for.
func (c *Current) Followed() *Configuration {
	now := c.Now()
	<-now.followed
	return now
}

// ErrSuperseded says that a reload has replaced a child between the lookup of
// its tool and the call: nothing was sent, and the tool must be looked up again.
var ErrSuperseded = errors.New("the configuration of this server has just changed; call again")

// Superseded reports whether this is no longer how the child is run.
func (c *Current) Superseded(child *Child) bool {
	now := c.Now().Child(child.Spec.Name)
	return now == nil || now.Spec.Revision != child.Spec.Revision
}
