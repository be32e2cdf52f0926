package jsonrpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/rs/zerolog"
)

// DefaultMaxRequests bounds how many requests of a peer are served at a time.
const DefaultMaxRequests = 256

// waitingRequests is how many more may wait for their turn, for each that is
// served; beyond that a request is refused at once.
const waitingRequests = 16

const methodCancelled = "notifications/cancelled"

// A Handler serves what the peer sends.
type Handler interface {
	// ServeRequest answers one request, on a goroutine of its own. ctx ends when
	// the peer cancels the request (its cause is a *CancelledError) or the Conn
	// ends. m and its parts belong to the handler; Answer parts may alias them.
	ServeRequest(ctx context.Context, m *Message) Answer
	// ServeNotification is called on the read loop, in order. It must not block,
	// and m is valid only until it returns.
	ServeNotification(m *Message)
}

// Options shape a Conn. The zero value is a lenient peer with the defaults.
type Options struct {
	Strict      bool          // the peer is the client: refuse what has two readings
	FrameLimit  int           // bytes of one line; 0: DefaultFrameLimit
	MaxRequests int           // of the peer, served at a time; 0: DefaultMaxRequests
	QueueBytes  int           // waiting to be written; 0: DefaultQueue
	Grace       time.Duration // after the end of input, how long requests already read may go on
	// Inline, where set, picks requests that are served on the read loop, so
	// that what follows on the stream sees their effect. They must not block.
	Inline func(method string) bool
	// OnSkip, where set, is told of each line of a lenient peer that was skipped.
	OnSkip func(reason string, line []byte)
	Log    zerolog.Logger
}

// Stats counts what did not pass.
type Stats struct {
	Skipped   uint64 // lines without use: broken without an id, blank noise, unasked answers
	Broken    uint64 // lines that ended a call with a BrokenError
	Dropped   uint64 // notifications that TryNotify had no room for
	Cancelled uint64 // calls that ended by their context
}

// A Conn speaks JSON-RPC with one peer over a pair of streams.
type Conn struct {
	r   io.ReadCloser
	out io.Writer
	w   *Writer
	h   Handler
	o   Options

	ctx  context.Context // of the requests being served; ends with the Conn
	stop context.CancelCauseFunc
	sem  chan struct{}
	wg   sync.WaitGroup
	done chan struct{}

	next atomic.Uint64
	mu   sync.Mutex
	tabs tables

	skipped, broken, dropped, cancelled atomic.Uint64
}

// tables is what Conn.mu guards.
type tables struct {
	pending map[uint64]*call                   // our requests, by id
	serving map[string]context.CancelCauseFunc // the peer's requests, by raw id
	closed  error                              // set once nothing can be answered any more
}

type call struct{ ch chan answered }

type answered struct {
	resp *Response
	err  error
}

// NewConn returns a Conn that reads r and writes w, and closes both (w where
// it is an io.Closer) when Run ends. It starts nothing; calls may be made at
// once, and are answered once Run runs.
func NewConn(r io.ReadCloser, w io.Writer, h Handler, o Options) *Conn {
	if o.MaxRequests <= 0 {
		o.MaxRequests = DefaultMaxRequests
	}
	c := &Conn{r: r, out: w, w: NewWriter(w, o.QueueBytes), h: h, o: o, done: make(chan struct{})}
	c.ctx, c.stop = context.WithCancelCause(context.Background())
	c.sem = make(chan struct{}, o.MaxRequests)
	c.tabs = tables{pending: map[uint64]*call{}, serving: map[string]context.CancelCauseFunc{}}
	return c
}

// Run reads and serves until the input ends, reading fails, or ctx ends, which
// closes r. After the end of the input, requests already read may go on for
// Options.Grace. It returns nil at the end of the input, when all goroutines
// that it started have ended.
func (c *Conn) Run(ctx context.Context) error {
	unhook := context.AfterFunc(ctx, func() {
		_ = c.r.Close()
		c.stop(context.Cause(ctx))
	})
	defer unhook()
	err := c.readLoop()
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	c.failPending(err)
	if err == nil && c.o.Grace > 0 {
		c.drain(ctx)
	}
	c.stop(&ClosedError{err})
	c.w.Close(&ClosedError{err})
	_ = c.r.Close()
	if closer, ok := c.out.(io.Closer); ok {
		_ = closer.Close() // frees a writer that blocks
	}
	c.wg.Wait()
	c.w.Wait()
	close(c.done)
	return err
}

// drain waits for the requests under way, and for what they wrote.
func (c *Conn) drain(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, c.o.Grace)
	defer cancel()
	idle := make(chan struct{})
	go func() {
		c.wg.Wait()
		close(idle)
	}()
	select {
	case <-idle:
		_ = c.w.Flush(ctx)
	case <-ctx.Done():
		c.stop(&ClosedError{})
		<-idle
	}
}

// Done is closed when Run has returned.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Stats returns the counters so far.
func (c *Conn) Stats() Stats {
	return Stats{c.skipped.Load(), c.broken.Load(), c.dropped.Load(), c.cancelled.Load()}
}

func (c *Conn) readLoop() error {
	rd := NewReader(c.r, c.o.FrameLimit)
	var m Message
	for {
		line, err := rd.Next()
		var long *TooLongError
		switch {
		case errors.As(err, &long):
			c.tooLong(long)
			continue
		case err != nil:
			return err
		}
		if blank(line) {
			continue
		}
		if err := Split(line, c.o.Strict, &m); err != nil {
			c.bad(line, err)
			continue
		}
		c.dispatch(rd, &m)
	}
}

func blank(line []byte) bool {
	for _, b := range line {
		if b != ' ' && b != '\t' && b != '\r' {
			return false
		}
	}
	return true
}

func (c *Conn) dispatch(rd *Reader, m *Message) {
	switch {
	case m.IsRequest():
		c.request(rd, m)
	case m.Method == methodCancelled:
		c.peerCancelled(m)
	case m.IsNotification():
		c.h.ServeNotification(m)
	case m.IsResponse():
		c.response(rd, m)
	case c.o.Strict:
		c.refuse(nil, CodeInvalidRequest, "a message needs a method, or an id with a result or an error")
	default:
		c.skip("neither a method nor an id", m.Frame)
	}
}

// request registers one request of the peer, so that a cancellation that
// comes next finds it, and serves it off the read loop.
func (c *Conn) request(rd *Reader, m *Message) {
	if c.o.Inline != nil && c.o.Inline(m.Method) {
		frame, _ := rd.Take()
		own := m.rebase(frame)
		c.reply(c.ctx, own.ID, c.h.ServeRequest(c.ctx, own))
		return
	}
	ctx, cancel := context.WithCancelCause(c.ctx)
	c.mu.Lock()
	_, twice := c.tabs.serving[string(m.ID)]
	full := len(c.tabs.serving) >= cap(c.sem)*(1+waitingRequests)
	if !twice && !full {
		c.tabs.serving[string(m.ID)] = cancel
	}
	c.mu.Unlock()
	if twice || full {
		cancel(nil)
		text := "a request with this id is still being served"
		if full {
			text = fmt.Sprintf("too many requests at once (%d); send again when some have been answered", cap(c.sem)*(1+waitingRequests))
		}
		c.refuse(m.ID, CodeInvalidRequest, text)
		return
	}
	// The buffer of a large request is left to the collector: a call further
	// down that was given up may still be writing from it.
	frame, _ := rd.Take()
	own := m.rebase(frame)
	c.wg.Add(1)
	go c.serve(ctx, cancel, own)
}

func (c *Conn) serve(ctx context.Context, cancel context.CancelCauseFunc, m *Message) {
	defer c.wg.Done()
	var a Answer
	select {
	case c.sem <- struct{}{}:
		if ctx.Err() == nil {
			a = c.h.ServeRequest(ctx, m)
		}
		<-c.sem
	case <-ctx.Done():
	}
	c.mu.Lock()
	delete(c.tabs.serving, string(m.ID))
	c.mu.Unlock()
	c.reply(ctx, m.ID, a)
	cancel(nil)
}

// reply sends an answer, unless its request was cancelled: then the peer
// expects none.
func (c *Conn) reply(ctx context.Context, id []byte, a Answer) {
	var gone *CancelledError
	if errors.As(context.Cause(ctx), &gone) {
		return
	}
	member, body := []byte(`,"result":`), a.Result
	if body == nil {
		member, body = []byte(`,"error":`), a.Error
	}
	if body == nil {
		body = (&Error{Code: CodeInternal, Message: "the request was not answered"}).Raw()
	}
	if err := c.w.Send(c.ctx, []byte(`{"jsonrpc":"2.0","id":`), id, member, body, []byte(`}`)); err != nil {
		c.o.Log.Debug().Err(err).Msg("an answer could not be written")
		return // and may still be in the hands of the Writer
	}
	if a.Release != nil {
		a.Release()
	}
}

// refuse answers with an error from the read loop, which must not block: a
// peer that floods us with nonsense and does not read loses answers.
func (c *Conn) refuse(id []byte, code int64, text string) {
	if id == nil {
		id = []byte("null")
	}
	e := (&Error{Code: code, Message: text}).Raw()
	c.w.TrySend([]byte(`{"jsonrpc":"2.0","id":`), append([]byte(nil), id...), []byte(`,"error":`), e, []byte(`}`))
}

func (c *Conn) peerCancelled(m *Message) {
	id := m.Param("requestId")
	text, _ := String(m.Param("reason"))
	c.mu.Lock()
	cancel := c.tabs.serving[string(id)]
	c.mu.Unlock()
	if cancel != nil {
		cancel(&CancelledError{Reason: text})
	}
}

func (c *Conn) response(rd *Reader, m *Message) {
	n, err := strconv.ParseUint(string(m.ID), 10, 64)
	var p *call
	if err == nil {
		p = c.forget(n)
	}
	if p == nil {
		c.skip("an answer that nobody waits for", m.Frame)
		return
	}
	if (m.Result == nil) == (m.Error == nil) {
		c.broken.Add(1)
		p.ch <- answered{err: &BrokenError{"it has neither a result nor an error, or both"}}
		return
	}
	frame, buf := rd.Take()
	own := m.rebase(frame)
	p.ch <- answered{resp: &Response{Result: own.Result, Error: own.Error, buf: buf}}
}

// bad deals with a line that could not be split.
func (c *Conn) bad(line []byte, err error) {
	var se *SyntaxError
	errors.As(err, &se)
	switch loose := se.Loose; {
	case !c.o.Strict:
		c.endBroken(findIDs(line), se.Reason, line)
	case loose == nil && wellFormed(line):
		id := Get(line, "id")
		if id != nil && checkID(id) != nil {
			id = nil
		}
		c.refuse(id, CodeInvalidRequest, "refused: "+se.Reason)
	case loose == nil:
		c.endBroken(findIDs(line), se.Reason, line)
		c.refuse(nil, CodeParse, "not JSON: "+se.Reason)
	case loose.IsRequest():
		c.refuse(loose.ID, CodeInvalidParams, "refused: "+se.Reason)
	case loose.IsResponse():
		c.endBroken([]string{string(loose.ID)}, se.Reason, line)
	default:
		c.skip(se.Reason, line)
	}
}

// wellFormed reports whether line is one JSON value, whatever it says.
func wellFormed(line []byte) bool {
	return jsontext.Value(line).IsValid(lenientOptions...)
}

func (c *Conn) tooLong(e *TooLongError) {
	if c.o.Strict {
		var id []byte
		if len(e.IDs) == 1 {
			id = []byte(e.IDs[0])
		}
		c.refuse(id, CodeInvalidRequest, e.Error())
		return
	}
	c.endBroken(e.IDs, e.Error(), nil)
}

// endBroken ends the calls that a line without sense may have answered.
func (c *Conn) endBroken(ids []string, reason string, line []byte) {
	ended := false
	for _, id := range ids {
		n, err := strconv.ParseUint(id, 10, 64)
		if err != nil {
			continue
		}
		if p := c.forget(n); p != nil {
			c.broken.Add(1)
			ended = true
			p.ch <- answered{err: &BrokenError{reason}}
		}
	}
	if !ended {
		c.skip(reason, line)
	}
}

func (c *Conn) skip(reason string, line []byte) {
	c.skipped.Add(1)
	if c.o.OnSkip != nil {
		c.o.OnSkip(reason, line)
	}
}

// forget takes a pending call out of the table; nil when there is none.
func (c *Conn) forget(n uint64) *call {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.tabs.pending[n]
	delete(c.tabs.pending, n)
	return p
}

func (c *Conn) failPending(reason error) {
	c.mu.Lock()
	c.tabs.closed = &ClosedError{reason}
	pending := c.tabs.pending
	c.tabs.pending = nil
	c.mu.Unlock()
	for _, p := range pending {
		p.ch <- answered{err: &ClosedError{reason}}
	}
}

// Call sends a request and waits for its answer. params are the parts of one
// raw JSON value, written one after the other without a copy of the large
// ones; no part means no params member. When ctx ends first, the peer is sent
// notifications/cancelled (except for initialize, which must not be cancelled)
// and the error is the cause of ctx. Other errors match ErrClosed, or are a
// *BrokenError. An error object of the peer is not an error of Call.
func (c *Conn) Call(ctx context.Context, method string, params ...[]byte) (*Response, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	n := c.next.Add(1)
	p := &call{ch: make(chan answered, 1)}
	c.mu.Lock()
	if err := c.tabs.closed; err != nil {
		c.mu.Unlock()
		return nil, err
	}
	c.tabs.pending[n] = p
	c.mu.Unlock()

	head := make([]byte, 0, 96)
	head = append(head, `{"jsonrpc":"2.0","id":`...)
	head = strconv.AppendUint(head, n, 10)
	if err := c.w.Send(ctx, frame(head, method, params)...); err != nil {
		if c.forget(n) == nil {
			a := <-p.ch // the Conn ended meanwhile, and says why
			return a.resp, a.err
		}
		if ctx.Err() != nil {
			// A large frame may be on its way already.
			c.cancelPeer(n, method, err)
		}
		return nil, err
	}
	select {
	case a := <-p.ch:
		return a.resp, a.err
	case <-ctx.Done():
	}
	if c.forget(n) == nil {
		a := <-p.ch // the answer came at the same moment
		return a.resp, a.err
	}
	cause := context.Cause(ctx)
	c.cancelPeer(n, method, cause)
	return nil, cause
}

func (c *Conn) cancelPeer(n uint64, method string, cause error) {
	c.cancelled.Add(1)
	if method == "initialize" {
		return
	}
	text := cause.Error()
	var asked *CancelledError
	if errors.As(cause, &asked) {
		text = asked.Reason
	}
	b := append([]byte(nil), `{"requestId":`...)
	b = strconv.AppendUint(b, n, 10)
	if text != "" {
		b = AppendString(append(b, `,"reason":`...), text)
	}
	c.TryNotify(methodCancelled, append(b, '}'))
}

// Notify sends a notification, waiting for room as long as ctx lasts.
func (c *Conn) Notify(ctx context.Context, method string, params ...[]byte) error {
	return c.w.Send(ctx, frame([]byte(`{"jsonrpc":"2.0"`), method, params)...)
}

// TryNotify sends a notification if there is room for it, and never blocks;
// false means that it was dropped and counted.
func (c *Conn) TryNotify(method string, params ...[]byte) bool {
	if c.w.TrySend(frame([]byte(`{"jsonrpc":"2.0"`), method, params)...) {
		return true
	}
	c.dropped.Add(1)
	return false
}

// Flush waits until what was sent before has left for the peer.
func (c *Conn) Flush(ctx context.Context) error { return c.w.Flush(ctx) }

// frame puts method and params behind head, which ends within the envelope.
func frame(head []byte, method string, params [][]byte) [][]byte {
	head = append(head, `,"method":`...)
	head = AppendString(head, method)
	if len(params) == 0 {
		return [][]byte{append(head, '}')}
	}
	head = append(head, `,"params":`...)
	parts := make([][]byte, 0, len(params)+2)
	parts = append(append(parts, head), params...)
	return append(parts, []byte{'}'})
}
