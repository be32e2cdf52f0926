package jsonrpc

import (
	"context"
	"sync"
)

// A Stopper does work for a request. Abandon is called when the result is not wanted any more.
type Stopper interface {
	Abandon(cause error)
}

// An interest is the state of one request that may be cancelled: why its answer is not wanted any more, if it is not, and the
// Stopper that is told when that happens. Any goroutine may call its methods. The mutex is a leaf.
type interest struct {
	mu    sync.Mutex
	stop  Stopper
	cause error // why no caller waits for the answer any more
}

// endWith remembers that the answer is not wanted any more, and tells the Stopper. Only the first cause counts.
func (e *interest) endWith(cause error) {
	e.mu.Lock()
	first := e.cause == nil
	stop := e.stop
	if first {
		e.cause = cause
	}
	e.mu.Unlock()
	if first && stop != nil {
		stop.Abandon(cause)
	}
}

// Cause returns why no caller waits for the answer any more, nil while someone does.
func (e *interest) Cause() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.cause
}

// OnCancel sets the Stopper that is told when the request is cancelled, or the
// connection of its client ends. If that has happened already, it is told at once.
func (e *interest) OnCancel(stop Stopper) {
	e.mu.Lock()
	e.stop = stop
	cause := e.cause
	e.mu.Unlock()
	if cause != nil {
		stop.Abandon(cause)
	}
}

// A Cancellation ends one request before it is answered: its client cancels it, or
// the connection of that client ends. Any goroutine may call End, Cause and OnCancel,
// the one that serves the request the other methods. The zero value is ready for use.
type Cancellation struct {
	Base context.Context // whose values Context has; nil: none

	interest
	ctx    context.Context // nil until Context is called
	cancel context.CancelCauseFunc
}

// End ends the request. Only the first cause counts; nil does nothing.
func (c *Cancellation) End(cause error) {
	if cause != nil {
		c.endWith(cause)
	}
}

// ByClient reports whether the client has said that it does not want an answer.
func (c *Cancellation) ByClient() bool { return isCancelled(c.Cause()) }

// Context ends with the request. It is made at the first call: most requests need
// none, and it costs more than the rest of a Cancellation.
func (c *Cancellation) Context() context.Context {
	if c.ctx == nil {
		base := c.Base
		if base == nil {
			base = context.Background()
		}
		c.ctx, c.cancel = context.WithCancelCause(base)
		c.OnCancel(stopContext(c.cancel))
	}
	return c.ctx
}

// Free ends the Context, once the request was answered.
func (c *Cancellation) Free() {
	if c.cancel != nil {
		c.cancel(nil)
	}
}

// stopContext ends a context.
type stopContext context.CancelCauseFunc

func (s stopContext) Abandon(cause error) { s(cause) }
