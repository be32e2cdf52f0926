package jsonrpc

import (
	"context"
	"errors"
	"sync"
)

// A Cancellation ends one request before it is answered: its client cancels it, or
// the connection of that client ends. End may be called by any goroutine, the other
// methods by the one that serves the request, but where they say otherwise. The zero value is ready for use. The
// mutex is a leaf.
type Cancellation struct {
	Base context.Context // whose values Context has; nil: none

	mu    sync.Mutex
	stop  Stopper
	cause error // why nobody waits for the answer any more

	ctx    context.Context // nil until somebody needs it
	cancel context.CancelCauseFunc
}

// End ends the request. Only the first cause counts; nil does nothing.
func (c *Cancellation) End(cause error) {
	if cause == nil {
		return
	}
	c.mu.Lock()
	first := c.cause == nil
	stop := c.stop
	if first {
		c.cause = cause
	}
	c.mu.Unlock()
	if first && stop != nil {
		stop.Abandon(cause)
	}
}

// Cause is why the request has ended, nil while it has not. Any goroutine may call it.
func (c *Cancellation) Cause() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cause
}

// OnEnd sets what is told of the end, at once where the end came first.
func (c *Cancellation) OnEnd(stop Stopper) {
	c.mu.Lock()
	c.stop = stop
	cause := c.cause
	c.mu.Unlock()
	if cause != nil {
		stop.Abandon(cause)
	}
}

// ByClient reports whether the client has said that it does not want an answer.
func (c *Cancellation) ByClient() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	var cancelled *CancelledError
	return errors.As(c.cause, &cancelled)
}

// Context ends with the request. It is made at the first call: most requests need
// none, and it costs more than the rest of a Cancellation.
func (c *Cancellation) Context() context.Context {
	if c.ctx == nil {
		base := c.Base
		if base == nil {
			base = context.Background()
		}
		c.ctx, c.cancel = context.WithCancelCause(base)
		c.OnEnd(stopContext(c.cancel))
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
