package jsonrpc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/rs/zerolog"

	"mcphub/internal/jsonrpc/broken"
	"mcphub/internal/jsonrpc/lines"
	"mcphub/internal/kept"
	"mcphub/internal/printable"
)

func (c *Conn) readLoop() error {
	rd := c.newReader()
	c.lines = rd
	rd.Heard = &c.heard
	defer c.batch.Flush()
	var m Message
	for {
		line, err := rd.Next()
		held := c.batch.Hold(len(line) <= FastFrame && rd.More())
		if len(line) > FastFrame {
			c.batch.Flush() // reading it takes a while
		}
		switch {
		case err != nil:
			var long *lines.TooLongError
			if !errors.As(err, &long) {
				return err
			}
			c.tooLong(long)
		case !isBlank(line):
			c.takeLine(rd, line, &m)
		}
		if !held {
			c.batch.Flush()
		}
	}
}

func (c *Conn) newReader() *lines.Reader {
	if c.o.Kept != nil {
		return lines.NewKeptReader(c.r, c.o.FrameLimit, c.o.Kept)
	}
	return lines.NewReader(c.r, c.o.FrameLimit)
}

// openRequest enters a request into kept memory, before its line is committed.
func (c *Conn) openRequest(id []byte) { c.keptEntry = c.o.Kept.Open(id) }

// openedEntry returns the entry of the request that the read loop takes. Its answer is the caller's.
func (c *Conn) openedEntry() *kept.Entry {
	e := c.keptEntry
	c.keptEntry = nil
	return e
}

// takeLine deals with one line.
func (c *Conn) takeLine(rd *lines.Reader, line []byte, m *Message) {
	err := Split(line, c.o.Strict, m)
	if err == nil {
		if m.IsRequest() {
			c.openRequest(m.ID)
		}
		if c.o.Taking != nil {
			c.o.Taking(m)
		}
		rd.Commit()
	}
	switch {
	case err == nil && m.LongID(c.o.IDLimit) != "":
		c.batch.Flush()
		c.refuseRequest(m.ID, CodeInvalidRequest, m.LongID(c.o.IDLimit))
	case err == nil:
		c.dispatchMessage(rd, m)
	case errors.Is(err, ErrBatch) && c.o.Batches != nil && c.o.Batches():
		c.batch.Flush()
		c.takeBatch(rd)
	default:
		c.batch.Flush()
		c.takeBadLine(line, err, c.refuseRequest)
	}
	m.forgetFrame()
}

func isBlank(line []byte) bool {
	for _, b := range line {
		if b != ' ' && b != '\t' && b != '\r' {
			return false
		}
	}
	return true
}

func (c *Conn) dispatchMessage(rd *lines.Reader, m *Message) {
	switch {
	case m.IsRequest() && !c.onReadLoop(m) && c.offerFast(m):
		return
	case m.IsResponse():
		c.takeResponse(rd, m)
		return
	}
	c.batch.Flush() // what follows may take a while
	switch {
	case m.IsRequest():
		c.startRequest(rd, m)
	case m.Method == methodCancelled:
		c.peerCancelled(m)
	case m.IsNotification():
		c.takeNotification(m)
	case m.Result != nil || m.Error != nil:
		c.skipLine("an answer without an id", m.Frame)
	case c.o.Strict:
		c.refuseRequest(nil, CodeInvalidRequest, "a message needs a method, or an id with a result or an error")
	default:
		c.skipLine("neither a method nor an id", m.Frame)
	}
}

// startRequest registers one request of the peer, so that a cancellation that
// comes next finds it, and serves it off the read loop.
func (c *Conn) startRequest(rd *lines.Reader, m *Message) {
	if c.onReadLoop(m) {
		frame, _ := rd.Take()
		own := m.rebaseOn(frame)
		c.replyOnReadLoop(string(own.ID), c.callHandler(c.ctx, own))
		return
	}
	q, refusal := c.enterRequest(m)
	if q == nil {
		c.refuseRequest(m.ID, CodeInvalidRequest, refusal)
		return
	}
	// The buffer of a large request is left to the collector: a call to a child that
	// was cancelled may still be writing from it.
	frame, _ := rd.Take()
	q.m = m.rebaseOn(frame)
	c.spawnRequest(q)
}

// enterRequest registers a request; refusal reports why there is none.
func (c *Conn) enterRequest(m *Message) (q *request, refusal string) {
	q = &request{}
	q.ctx, q.cancel = context.WithCancelCause(c.ctx)
	if refusal = c.admitRequest(string(m.ID), q, len(m.Frame), cap(c.sem)*(1+waitingRequests)); refusal != "" {
		q.cancel(nil)
		return nil, refusal
	}
	q.entry = c.openedEntry()
	return q, ""
}

// spawnRequest has a request served off the read loop.
func (c *Conn) spawnRequest(q *request) {
	c.busy.Add(1)
	c.workers.Go(&c.wg, q)
}

func (c *Conn) onReadLoop(m *Message) bool { return c.o.OnReadLoop != nil && c.o.OnReadLoop(m.Method) }

// request is one request of the peer under way.
type request struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	m      *Message
	entry  *kept.Entry

	batch *batchReply // where it came in a batch
}

func (q *request) endWith(cause error) { q.cancel(cause) }

// admitRequest enters a request of size bytes into the table, if there are fewer than most;
// the text states why it is refused.
func (c *Conn) admitRequest(id string, r incoming, size, most int) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, twice := c.tabs.serving[id]; twice {
		return "a request with this id is still being served"
	}
	if c.tabs.active >= most {
		return fmt.Sprintf("too many requests at once (%d): send again when some have been answered", most)
	}
	if c.tabs.active > 0 && c.tabs.held+size > heldFrames*c.o.FrameLimit {
		return fmt.Sprintf("the requests that wait hold %d bytes: send again when some have been answered", c.tabs.held)
	}
	c.tabs.serving[id] = r
	c.tabs.active++
	c.tabs.held += size
	return ""
}

// freeID gives back the id of a request, before its answer can be seen.
func (c *Conn) freeID(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.tabs.serving, id)
}

// freePlace gives back the place of a request, once the Writer has taken its answer.
func (c *Conn) freePlace(size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tabs.active--
	c.tabs.held -= size
}

// Serving returns how many requests of the peer are being served, those
// included whose answer the peer has not yet taken.
func (c *Conn) Serving() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tabs.active
}

// serveRequest answers one request. The request keeps its place until the Writer has taken
// the answer, so a peer that asks and does not read cannot fill the memory.
func (c *Conn) serveRequest(q *request) {
	ctx, m := q.ctx, q.m
	defer c.busy.Done()
	defer q.cancel(nil)
	var a Answer
	turn := false
	select {
	case c.sem <- struct{}{}:
		turn = true
	case <-ctx.Done():
	}
	if c.ctx.Err() == nil && ctx.Err() == nil { // the end of c.ctx reaches one request after the other
		a = c.callHandler(ctx, m)
	} else {
		a = ErrorAnswer(CodeInternal, fmt.Sprintf("%s. The request was not served, so nothing was done", cmp.Or(context.Cause(c.ctx), context.Cause(ctx))))
	}
	c.freeID(string(m.ID))
	if q.batch != nil {
		q.batch.replyTo(ctx, string(m.ID), a, q.entry)
	} else {
		c.replyTo(ctx, string(m.ID), a, q.entry)
	}
	c.freePlace(len(m.Frame))
	if turn {
		<-c.sem
	}
}

// callHandler calls the handler.
func (c *Conn) callHandler(ctx context.Context, m *Message) (a Answer) {
	if !Guard(c.o.Log, m, func() { a = c.h.ServeRequest(ctx, m) }) {
		return Panicked()
	}
	return a
}

func (c *Conn) takeNotification(m *Message) {
	Guard(c.o.Log, m, func() { c.h.ServeNotification(m) })
}

// Guard calls serve, which serves m, and reports whether it returned. A panic is
// logged, and does not end the program: other messages go on.
func Guard(log zerolog.Logger, m *Message, serve func()) (ok bool) {
	defer func() {
		if p := recover(); p != nil {
			ok = false
			what := "a notification"
			if m.IsRequest() {
				what = "a request"
			}
			log.Error().Str("method", printable.Clip(m.Method, 100)).Str("panic", fmt.Sprint(p)).Bytes("stack", debug.Stack()).Msg(what + " made its handler panic")
		}
	}()
	serve()
	return true
}

// Panicked returns the answer to a request whose handler panicked.
func Panicked() Answer {
	return ErrorAnswer(CodeInternal, "internal error: this request made its handler panic; the log has the details")
}

// replyTo sends an answer, unless its request was cancelled: then the peer
// expects none.
func (c *Conn) replyTo(ctx context.Context, id string, a Answer, e *kept.Entry) {
	if isCancelled(context.Cause(ctx)) {
		a.Free()
		e.Void()
		return
	}
	f := newFrame()
	f.makeAnswer(id, a)
	queued, err := c.w.Send(c.ctx, f.parts, e.Marks()...)
	if errors.Is(err, lines.ErrLong) {
		f.freeFrame()
		a.Free()
		c.replyTo(ctx, id, ErrorAnswer(CodeInternal, "the request may have run, and its answer was dropped: "+err.Error()), e)
		return
	}
	if err != nil {
		c.o.Log.Debug().Err(err).Msg("an answer could not be written")
		if queued {
			return // the Writer may still use it
		}
	}
	f.freeFrame()
	a.Free()
}

// replyOnReadLoop works like replyTo for the read loop, which must not block.
func (c *Conn) replyOnReadLoop(id string, a Answer) {
	f := newFrame()
	defer f.freeFrame()
	f.makeAnswer(id, a)
	e := c.openedEntry()
	if c.w.TrySend(controlGap, f.parts, e.Marks()...) {
		a.Free()
		return
	}
	c.busy.Add(1)
	c.wg.Go(func() {
		defer c.busy.Done()
		c.replyTo(c.ctx, id, a, e)
	})
}

// refuseRequest answers with an error from the read loop, which must not block. A peer that
// sends many bad messages and does not read loses answers.
func (c *Conn) refuseRequest(id []byte, code int64, text string) {
	f := newFrame()
	defer f.freeFrame()
	f.makeAnswer(orNull(id), ErrorAnswer(code, text))
	if c.keptEntry == nil && id != nil { // of a line that is no message
		c.openRequest(id)
	}
	c.lines.Commit()
	e := c.openedEntry()
	if !c.w.TrySend(controlGap, f.parts, e.Marks()...) {
		c.dropped.Add(1)
		e.Void()
	}
}

// orNull returns the id of what is refused: null where none could be read.
func orNull(id []byte) string {
	if id == nil {
		return "null"
	}
	return string(id)
}

func isCancelled(cause error) bool {
	return cause != nil && errors.As(cause, new(*CancelledError))
}

func (c *Conn) peerCancelled(m *Message) {
	id := m.Param("requestId")
	text, _ := String(m.Param("reason"))
	c.mu.Lock()
	request := c.tabs.serving[string(id)]
	c.mu.Unlock()
	if request != nil {
		request.endWith(&CancelledError{Reason: text})
	}
}

// takeResponse takes an answer of the peer. Without rd the frame of m is its own.
func (c *Conn) takeResponse(rd *lines.Reader, m *Message) {
	if !c.o.Strict && m.Result == nil && m.Error == nil {
		c.skipLine("a line that is no answer, such as one of a log", m.Frame) // it may bear the id of a call, which goes on
		return
	}
	p := c.forgetRaw(string(m.ID))
	if p == nil && c.o.Strict && m.Result == nil && m.Error == nil {
		c.refuseRequest(m.ID, CodeInvalidRequest, "a message needs a method, a result or an error")
		return
	}
	if p == nil {
		c.skipLine("an answer that nobody waits for", m.Frame)
		return
	}
	if (m.Result == nil) == (m.Error == nil) {
		c.broken.Add(1)
		p.finishWith(outcome{err: &BrokenError{"it has neither a result nor an error, or both"}})
		return
	}
	if p.handler != nil && len(m.Frame) <= lines.CopyLimit {
		c.resp = Response{Result: m.Result, Error: m.Error, batch: &c.batch, lent: true}
		p.finishWith(outcome{resp: &c.resp})
		return
	}
	frame, buf := m.Frame, (*lines.Buffer)(nil)
	if rd != nil {
		frame, buf = rd.Take()
	}
	res := &Response{Result: m.movedPart(frame, m.Result), Error: m.movedPart(frame, m.Error), buf: buf}
	p.finishWith(outcome{resp: res})
}

// takeBadLine deals with a line that is no message. A line that is known to be an answer is
// never answered, because two peers that cannot read each other would go on for ever.
// Other lines are refused by refuse.
func (c *Conn) takeBadLine(line []byte, err error, refuse func(id []byte, code int64, text string)) {
	code, reason := int64(CodeParse), err.Error()
	if se, ok := errors.AsType[*SyntaxError](err); ok {
		code = se.Code
	}
	if code == CodeParse || !wellFormed(line) {
		c.notJSON(line, code, reason, refuse)
		return
	}
	e, object := envelopeOf(line)
	var id []byte
	if text := e.ID(); text != "" {
		id = []byte(text)
	}
	switch {
	case !object && c.o.Strict:
		c.skipped.Add(1)
		refuse(nil, code, "refused: "+reason)
	case !object:
		c.endBroken(broken.Scan(line).Answers, reason, line)
	case e.Answer && !e.Method:
		c.endBroken(e.IDs, reason, line)
	case e.Method && !e.HasID:
		c.skipLine(reason, line)
	case e.Method || c.o.Strict:
		c.skipped.Add(1)
		refuse(id, code, "refused: "+reason)
	default:
		c.endBroken(e.IDs, reason, line)
	}
}

// notJSON deals with a line that is no JSON, or too deep to be sure of that.
func (c *Conn) notJSON(line []byte, code int64, reason string, refuse func(id []byte, code int64, text string)) {
	f := broken.Scan(line)
	c.endBroken(f.Answers, reason, line)
	id := f.Request()
	switch {
	case c.o.Strict && code == CodeParse:
		refuse(nil, code, "not JSON: "+reason) // the id must be null then
	case id != "":
		refuse([]byte(id), code, "refused: "+reason)
	case c.o.Strict:
		refuse(nil, code, "refused: "+reason)
	}
}

// envelopeOf reads the members of a well-formed line; object reports whether
// it is one.
func envelopeOf(line []byte) (e broken.Envelope, object bool) {
	err := Members(line, func(name string, v []byte) bool {
		e.See(name)
		if name == "id" {
			e.AddID(string(v))
		}
		return true
	})
	return e, err == nil
}

func (c *Conn) tooLong(e *lines.TooLongError) {
	switch {
	case len(e.Found.Answers) > 0:
		c.endBroken(e.Found.Answers, e.Error(), nil)
	case e.Found.Request() != "":
		c.skipped.Add(1)
		c.refuseRequest([]byte(e.Found.Request()), CodeInvalidParams, "refused: "+e.Error())
	case c.o.Strict && !e.Found.Asks:
		c.refuseRequest(nil, CodeInvalidRequest, "refused: "+e.Error())
	default:
		c.skipLine(e.Error(), nil)
	}
}

// endBroken ends the calls that a broken line may have answered.
func (c *Conn) endBroken(ids []string, reason string, line []byte) {
	ended := false
	for _, id := range ids {
		if p := c.forgetRaw(id); p != nil {
			c.broken.Add(1)
			ended = true
			p.finishWith(outcome{err: &BrokenError{reason}})
		}
	}
	if !ended {
		c.skipLine(reason, line)
	}
}

func (c *Conn) skipLine(reason string, line []byte) {
	c.skipped.Add(1)
	if c.o.OnSkip != nil {
		c.batch.Flush() // it may write a log
		c.o.OnSkip(reason, line)
	}
}
