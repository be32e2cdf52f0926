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

// For returns what is in force for a session. It follows what is in force for all.
func (current *Current) For(who Audience) *Current {
	out := &Current{common: current.Common()}
	out.who.Store(&who)
	return out
}

// NoteClient takes in how the client of a session calls itself. current is For someone. NoteClient is called once, before anything is looked up.
func (current *Current) NoteClient(name string) {
	who := *current.who.Load()
	who.Toolsets.Client = name
	current.who.Store(&who)
}

// Common returns the Current that a reload sets: current itself, unless it is For someone.
func (current *Current) Common() *Current {
	if current.common != nil {
		return current.common
	}
	return current
}

// Set puts a Configuration in force. current is not For someone.
func (current *Current) Set(now *Configuration) { current.now.Store(now) }

// InForce returns the Configuration that counts for what starts now.
func (current *Current) InForce() *Configuration {
	if current.common == nil {
		return current.now.Load()
	}
	all, who := current.common.now.Load(), current.who.Load()
	if last := current.last.Load(); last != nil && last.all == all && last.who == who {
		return last.view
	}
	now := all.For(*who)
	current.last.Store(&audienceConfiguration{who, all, now})
	return now
}

// AwaitInForce waits until the children are run by what InForce returns: they may be asked for then.
func (current *Current) AwaitInForce() *Configuration {
	now := current.InForce()
	<-now.followed
	return now
}

// ErrSuperseded means that a reload has replaced a child between the lookup of
// its tool and the call: nothing was sent, and the tool must be looked up again.
var ErrSuperseded = errors.New("the configuration of this server has just changed; call again")

// IsSuperseded reports whether a child is no longer run as a Configuration has it, or is denied by now to those whom that
// Configuration is for, or whether toolsets show something else by now.
func (current *Current) IsSuperseded(by *Configuration, child string) bool {
	was, now := by.Child(child), current.InForce()
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
