package jsonrpc

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"sync"
)

// This file is the short way of a small request: taken on the read loop of one
// Conn, sent on by another without waiting, answered on that one's read loop.
// No goroutine is woken between the four system calls of a relayed request.
// Whatever would have to wait takes the long way instead: a goroutine of its
// own and Call.

// fastFrame is the longest request, in bytes, that is offered the short way:
// what is done with it delays what lies behind it on the stream.
const fastFrame = 16 << 10

// A Reply answers, once, a request that Options.Fast has taken.
type Reply struct {
	c    *Conn
	id   string
	size int

	mu    sync.Mutex
	stop  Stopper
	cause error // why nobody waits for the answer any more
	spent bool  // answered, or left to the long way
}

// A Stopper can be told that nobody waits for what it does.
type Stopper interface {
	Abandon(cause error)
}

// spend reports whether the answer is still to be given, and by whom: once.
func (r *Reply) spend() (cause error, first bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	first = !r.spent
	r.spent = true
	return r.cause, first
}

// OnCancel sets what is called when the peer cancels the request or its Conn
// ends. Answer must be called all the same.
func (r *Reply) OnCancel(stop Stopper) {
	r.mu.Lock()
	r.stop = stop
	cause := r.cause
	r.mu.Unlock()
	if cause != nil { // it came first
		stop.Abandon(cause)
	}
}

func (r *Reply) end(cause error) {
	r.mu.Lock()
	first := r.cause == nil
	stop := r.stop
	if first {
		r.cause = cause
	}
	r.mu.Unlock()
	if first && stop != nil {
		stop.Abandon(cause)
	}
}

// Answer sends the answer and never blocks: one that there is no room for, or
// that is large and not taken by the peer at once, is left to a goroutine. A cancelled request is not answered,
// and a second answer is dropped.
func (r *Reply) Answer(a Answer) {
	cause, first := r.spend()
	if !first {
		a.release()
		return
	}
	c := r.c
	c.mu.Lock()
	delete(c.tabs.serving, r.id) // the id is free once its answer can be seen
	c.mu.Unlock()
	if isCancelled(cause) {
		a.release()
		r.over()
		return
	}
	member, body := a.parts()
	f := newFrame()
	f.answer(r.id, member, body)
	sent, slip := false, (*slip)(nil)
	if len(body) <= borrowed {
		sent = a.batch.send(c.w, f.parts)
	} else {
		slip, sent = c.w.offer(f.parts)
	}
	if sent && slip == nil {
		f.free()
		a.release()
		r.over()
		return
	}
	if slip == nil {
		a.own()
	}
	go r.later(f, slip, a)
}

func isCancelled(cause error) bool {
	if cause == nil {
		return false
	}
	var gone *CancelledError
	return errors.As(cause, &gone)
}

// later sends an answer that there was no room for, or waits until one that
// was taken in part has left.
func (r *Reply) later(f *frame, s *slip, a Answer) {
	defer r.over()
	if s == nil {
		r.c.reply(r.c.ctx, r.id, a)
	} else if s.wait(r.c.ctx) == nil {
		f.free()
		a.release()
	}
}

// Batch returns what gathers frames sent by Options.Fast, for Started.Start
// before Options.Fast returns.
func (r *Reply) Batch() *Batch { return &r.c.batch }

// over gives the request's turn back.
func (r *Reply) over() {
	r.c.mu.Lock()
	r.c.tabs.active--
	r.c.tabs.held -= r.size
	r.c.mu.Unlock()
	r.c.busy.Done()
}

// fast offers a request to Options.Fast. false: it goes the long way.
func (c *Conn) fast(m *Message) bool {
	if c.o.Fast == nil || len(m.Frame) > fastFrame {
		return false
	}
	r := &Reply{c: c, id: string(m.ID), size: len(m.Frame)}
	c.mu.Lock()
	_, twice := c.tabs.serving[r.id]
	if twice || c.tabs.active >= cap(c.sem) {
		c.mu.Unlock()
		return false
	}
	c.tabs.serving[r.id] = r
	c.tabs.active++
	c.tabs.held += r.size
	c.busy.Add(1)
	c.mu.Unlock()
	if c.taken(m, r) {
		return true
	}
	if _, first := r.spend(); !first {
		return true // by a handler that says no and answers all the same
	}
	c.mu.Lock()
	delete(c.tabs.serving, r.id)
	c.mu.Unlock()
	r.over()
	return false
}

// taken calls Options.Fast. One that panics has had its turn.
func (c *Conn) taken(m *Message, r *Reply) (ok bool) {
	if !Guard(c.o.Log, m, func() { ok = c.o.Fast(m, r) }) {
		r.Answer(Panicked())
		return true
	}
	return ok
}

// cancelServed cancels every request that is being served: those of the short
// way hang on no context.
func (c *Conn) cancelServed(cause error) {
	c.mu.Lock()
	all := slices.Collect(maps.Values(c.tabs.serving))
	c.mu.Unlock()
	for _, request := range all {
		request.end(cause)
	}
}

// An Asker is told what became of its request: on the read loop with an
// answer, which it must not hold up, or with an error on whichever goroutine
// ended the request. res and its parts are valid only until Answered returns.
type Asker interface {
	Answered(res *Response, err error)
}

// A Started is a request that no goroutine waits for. The zero Started can be
// prepared, once.
type Started struct {
	c *Conn
	n uint64
	p call
}

// Prepare makes s a request that Start will send. asker is told of its outcome
// once, if Start returns true.
func (c *Conn) Prepare(s *Started, asker Asker) {
	s.c, s.n, s.p.asker = c, c.next.Add(1), asker
}

// Start sends the request if that takes no waiting, with others where the
// caller is on a read loop and gives its Batch; false: nothing was sent, and
// its Asker will not be told. params may be used again when it returns.
func (s *Started) Start(b *Batch, method string, params ...[]byte) bool {
	c := s.c
	c.mu.Lock()
	if c.tabs.closed != nil {
		c.mu.Unlock()
		return false
	}
	c.tabs.pending[s.n] = &s.p
	c.mu.Unlock()
	f := newFrame()
	defer f.free()
	f.head = strconv.AppendUint(append(f.head, memberID0...), s.n, 10)
	f.method(method, params)
	if b.send(c.w, f.parts) {
		return true
	}
	if c.forget(s.n) == nil {
		return true // the Conn ended meanwhile, and has said so
	}
	return false
}

// Abandon ends the request with a cause, which the peer is told, unless it has
// been answered.
func (s *Started) Abandon(cause error) {
	p := s.c.forget(s.n)
	if p == nil {
		return
	}
	s.c.cancelled.Add(1)
	s.c.cancelPeer(s.n, cause)
	p.finish(answered{err: cause})
}

// finish hands the outcome to whoever waits for it.
func (p *call) finish(a answered) {
	if p.asker != nil {
		p.asker.Answered(a.resp, a.err)
		return
	}
	p.ch <- a
}
