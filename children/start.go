package children

import (
	"context"

	"mcphub/internal/jsonrpc"
)

// This file is the short way of a call, for callers that must not wait: the
// read loop of a client's connection. What cannot be had at once is had by
// Acquire and Call.

// starter is a Link that can send a request without waiting.
type starter interface {
	Prepare(done func(*jsonrpc.Response, error)) *jsonrpc.Started
}

func (l *stdioLink) Prepare(done func(*jsonrpc.Response, error)) *jsonrpc.Started {
	return l.conn.Prepare(done)
}

// TryAcquire is Acquire where that takes no waiting.
func (s *Supervisor) TryAcquire(k Key) (*Lease, bool) {
	c := s.child(k)
	if c == nil {
		return nil, false
	}
	v := c.view.Load()
	if v.run == nil || v.gen < c.wanted().gen || !v.run.enter() {
		return nil, false
	}
	return &Lease{r: v.run, v: v}, true
}

// Start is Call without waiting. ok false: nothing was sent, and done will not
// be called. Otherwise done is called once, with what Call would return: an
// answer on the goroutine that reads what the child sends, which done must not
// hold up, and an error on any. b is the Batch of the read loop that calls, nil
// elsewhere. token is the raw progress token that the params
// hold, nil for none. abandon ends the call with a cause, and tells the child.
// The lease must not be released before done is called.
func (l *Lease) Start(b *jsonrpc.Batch, method string, token []byte, done func(*jsonrpc.Response, error), params ...[]byte) (abandon func(cause error), ok bool) {
	link, can := l.r.link.(starter)
	if !can {
		return nil, false
	}
	c := &startedCall{lease: l, done: done}
	c.started = link.Prepare(c.finish)
	if limit := l.r.c.spec.CallTimeout; limit > 0 {
		c.waiting = l.r.silent.begin(limit, string(token), func() {
			c.abandon(&TimeoutError{Child: l.r.c.key.Child, Method: method, After: limit})
		})
	}
	if !c.started.Start(b, method, params...) {
		c.end()
		return nil, false
	}
	return c.abandon, true
}

// startedCall is a call under way that no goroutine waits for.
type startedCall struct {
	lease   *Lease
	started *jsonrpc.Started
	waiting *silence
	done    func(*jsonrpc.Response, error)
}

// abandoned is the error of a call that was given up from this side.
type abandoned struct{ cause error }

func (a *abandoned) Error() string { return a.cause.Error() }

// Unwrap returns the cause.
func (a *abandoned) Unwrap() error { return a.cause }

func (c *startedCall) abandon(cause error) { c.started.Abandon(&abandoned{cause}) }

func (c *startedCall) end() {
	if c.waiting != nil {
		c.lease.r.silent.end(c.waiting)
	}
}

func (c *startedCall) finish(res *jsonrpc.Response, err error) {
	c.end()
	if err == nil {
		c.done(res, nil)
		return
	}
	if given, ok := err.(*abandoned); ok {
		c.done(nil, given.cause)
		return
	}
	// Saying what became of the child may take a moment, and this is its read loop.
	go func() { c.done(nil, c.lease.failed(context.Background(), asClosed(context.Background(), err))) }()
}
