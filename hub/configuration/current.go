package configuration

import (
	"errors"
	"reflect"
	"sync/atomic"
)

// A Current holds the Configuration that is in force: for all, or For one Audience. Its methods may be called by
// any goroutine.
type Current struct {
	now    atomic.Pointer[Configuration]         // nil of a Current For someone
	common *Current                              // of a Current For someone: what a reload sets; else nil
	who    atomic.Pointer[Audience]              // for whom, if common is not nil; it is not changed
	last   atomic.Pointer[audienceConfiguration] // of a Current For someone, the last that it was asked for
}

// An audienceConfiguration is a Configuration as it is for an Audience.
type audienceConfiguration struct {
	who  *Audience
	all  *Configuration
	view *Configuration
}

// For returns what is in force for a session: it follows c.
func (c *Current) For(who Audience) *Current {
	out := &Current{common: c.Common()}
	out.who.Store(&who)
	return out
}

// NoteClient takes in how the client of a session calls itself. c is For someone. It is called once, before anything is looked up.
func (c *Current) NoteClient(name string) {
	who := *c.who.Load()
	who.Toolsets.Client = name
	c.who.Store(&who)
}

// Common returns the Current that a reload sets: c itself, unless it is For someone.
func (c *Current) Common() *Current {
	if c.common != nil {
		return c.common
	}
	return c
}

// Set puts a Configuration in force. c is not For someone.
func (c *Current) Set(now *Configuration) { c.now.Store(now) }

// InForce returns the Configuration that counts for what starts now.
func (c *Current) InForce() *Configuration {
	if c.common == nil {
		return c.now.Load()
	}
	all, who := c.common.now.Load(), c.who.Load()
	if last := c.last.Load(); last != nil && last.all == all && last.who == who {
		return last.view
	}
	now := all.For(*who)
	c.last.Store(&audienceConfiguration{who, all, now})
	return now
}

// AwaitInForce waits until the children are run by what InForce returns: they may be asked for then.
func (c *Current) AwaitInForce() *Configuration {
	now := c.InForce()
	<-now.followed
	return now
}

// ErrSuperseded means that a reload has replaced a child between the lookup of
// its tool and the call: nothing was sent, and the tool must be looked up again.
var ErrSuperseded = errors.New("the configuration of this server has just changed; call again")

// IsSuperseded reports whether a child is no longer run as a Configuration has it, or is denied by now to those whom that
// Configuration is for, or whether toolsets show something else by now.
func (c *Current) IsSuperseded(by *Configuration, child string) bool {
	was, now := by.Child(child), c.InForce()
	is := now.Child(child)
	return was == nil || is == nil || is.Spec.Revision != was.Spec.Revision || now.IsDenied(child) && !by.IsDenied(child) ||
		now.toolsetView != by.toolsetView && !reflect.DeepEqual(now.toolsetView, by.toolsetView)
}

// maxReloads bounds how often one request is looked up again because a reload has overtaken it.
const maxReloads = 16

// RetryOnReload looks up and makes a request, and does both again if a reload came between: its
// error is ErrSuperseded then.
func RetryOnReload[T any](request func() (T, error)) T {
	for n := 1; ; n++ {
		a, err := request()
		if n == maxReloads || !errors.Is(err, ErrSuperseded) {
			return a
		}
	}
}
