package jsonrpc

import (
	"bytes"
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
	reader := c.newReader()
	c.reader = reader
	reader.Heard = &c.heard
	defer c.batch.Flush()
	var m Message
	for {
		line, err := reader.Next()
		holding := c.batch.Hold(len(line) <= FastFrame && reader.More())
		if len(line) > FastFrame {
			c.batch.Flush() // reading it takes a while
		}
		switch {
		case err != nil:
			var long *lines.TooLongError
			if !errors.As(err, &long) {
				return err
			}
			c.takeTooLong(long)
		case !isBlank(line):
			c.takeLine(reader, line, &m)
		}
		if !holding {
			c.batch.Flush()
		}
	}
}

func (c *Conn) newReader() *lines.Reader {
	if c.options.Kept != nil {
		return lines.NewKeptReader(c.in, c.options.FrameLimit, c.options.Kept)
	}
	return lines.NewReader(c.in, c.options.FrameLimit)
}

// openRequest enters a request into kept memory, before its line is committed.
func (c *Conn) openRequest(id []byte) { c.keptEntry = c.options.Kept.Open(id) }

// openedEntry returns the entry of the request that the read loop takes. Its answer is the caller's.
func (c *Conn) openedEntry() *kept.Entry {
	entry := c.keptEntry
	c.keptEntry = nil
	return entry
}

// takeLine deals with one line.
func (c *Conn) takeLine(reader *lines.Reader, line []byte, m *Message) {
	err := Split(line, c.options.Strict, m)
	if err == nil {
		if m.IsRequest() {
			c.openRequest(m.ID)
		}
		if c.options.Taking != nil {
			c.options.Taking(m)
		}
		reader.Commit()
	}
	switch {
	case err == nil && m.LongID(c.options.IDLimit) != "":
		c.batch.Flush()
		c.refuseRequest(m.ID, CodeInvalidRequest, m.LongID(c.options.IDLimit))
	case err == nil:
		c.dispatchMessage(reader, m)
	case errors.Is(err, ErrBatch) && c.options.Batches != nil && c.options.Batches():
		c.batch.Flush()
		c.takeBatch(reader)
	default:
		c.batch.Flush()
		c.takeBadLine(line, err, c.refuseRequest)
	}
	m.forgetFrame()
}

func isBlank(line []byte) bool {
	return len(bytes.TrimLeft(line, " \t\r")) == 0
}

func (c *Conn) dispatchMessage(reader *lines.Reader, m *Message) {
	switch {
	case m.IsRequest() && !c.onReadLoop(m) && c.offerFast(m):
		return
	case m.IsResponse():
		c.takeResponse(reader, m)
		return
	}
	c.batch.Flush() // what follows may take a while
	switch {
	case m.IsRequest():
		c.startRequest(reader, m)
	case m.Method == methodCancelled:
		c.takeCancellation(m)
	case m.IsNotification():
		c.takeNotification(m)
	case m.Result != nil || m.Error != nil:
		c.skipLine("an answer without an id", m.Frame)
	case c.options.Strict:
		c.refuseRequest(nil, CodeInvalidRequest, "a message needs a method, or an id with a result or an error")
	default:
		c.skipLine("neither a method nor an id", m.Frame)
	}
}

// startRequest registers one request of the peer, so that a cancellation that
// comes next finds it, and serves it off the read loop.
func (c *Conn) startRequest(reader *lines.Reader, m *Message) {
	if c.onReadLoop(m) {
		frame, _ := reader.Take()
		own := m.rebaseOn(frame)
		c.replyOnReadLoop(string(own.ID), c.callHandler(c.ctx, own))
		return
	}
	req, refusal := c.enterRequest(m)
	if req == nil {
		c.refuseRequest(m.ID, CodeInvalidRequest, refusal)
		return
	}
	// The buffer of a large request is left to the collector: a call to a child that
	// was cancelled may still be writing from it.
	frame, _ := reader.Take()
	req.message = m.rebaseOn(frame)
	c.spawnRequest(req)
}

// enterRequest registers a request; refusal reports why there is none.
func (c *Conn) enterRequest(m *Message) (req *peerRequest, refusal string) {
	req = &peerRequest{}
	req.ctx, req.cancel = context.WithCancelCause(c.ctx)
	if refusal = c.admitRequest(string(m.ID), req, len(m.Frame), cap(c.servingSlots)*(1+waitingRequests)); refusal != "" {
		req.cancel(nil)
		return nil, refusal
	}
	req.entry = c.openedEntry()
	return req, ""
}

// spawnRequest has a request served off the read loop.
func (c *Conn) spawnRequest(req *peerRequest) {
	c.busy.Add(1)
	c.workers.Go(&c.wg, req)
}

func (c *Conn) onReadLoop(m *Message) bool {
	return c.options.OnReadLoop != nil && c.options.OnReadLoop(m.Method)
}

// peerRequest is one request of the peer under way.
type peerRequest struct {
	ctx     context.Context
	cancel  context.CancelCauseFunc
	message *Message
	entry   *kept.Entry

	response *batchResponse // where it came in a batch
}

func (req *peerRequest) endWith(cause error) { req.cancel(cause) }

// admitRequest enters a request of size bytes into the table, if there are fewer than most;
// the text states why it is refused.
func (c *Conn) admitRequest(id string, r incoming, size, most int) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, twice := c.tables.serving[id]; twice {
		return "a request with this id is still being served"
	}
	if c.tables.active >= most {
		return fmt.Sprintf("too many requests at once (%d): send again when some have been answered", most)
	}
	if c.tables.active > 0 && c.tables.heldBytes+size > heldFrames*c.options.FrameLimit {
		return fmt.Sprintf("the requests that wait hold %d bytes: send again when some have been answered", c.tables.heldBytes)
	}
	c.tables.serving[id] = r
	c.tables.active++
	c.tables.heldBytes += size
	return ""
}

// freeID gives back the id of a request, before its answer can be seen.
func (c *Conn) freeID(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.tables.serving, id)
}

// freePlace gives back the place of a request, once the Writer has taken its answer.
func (c *Conn) freePlace(size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tables.active--
	c.tables.heldBytes -= size
}

// Serving returns how many requests of the peer are being served, those
// included whose answer the peer has not yet taken.
func (c *Conn) Serving() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tables.active
}

// serveRequest answers one request. The request keeps its place until the Writer has taken
// the answer, so a peer that asks and does not read cannot fill the memory.
func (c *Conn) serveRequest(req *peerRequest) {
	ctx, m := req.ctx, req.message
	defer c.busy.Done()
	defer req.cancel(nil)
	var answer Answer
	turn := false
	select {
	case c.servingSlots <- struct{}{}:
		turn = true
	case <-ctx.Done():
	}
	if c.ctx.Err() == nil && ctx.Err() == nil { // the end of c.ctx reaches one request after the other
		answer = c.callHandler(ctx, m)
	} else {
		answer = ErrorAnswer(CodeInternal, fmt.Sprintf("%s. The request was not served, so nothing was done", cmp.Or(context.Cause(c.ctx), context.Cause(ctx))))
	}
	c.freeID(string(m.ID))
	if req.response != nil {
		req.response.replyTo(ctx, string(m.ID), answer, req.entry)
	} else {
		c.replyTo(ctx, string(m.ID), answer, req.entry)
	}
	c.freePlace(len(m.Frame))
	if turn {
		<-c.servingSlots
	}
}

// callHandler calls the handler.
func (c *Conn) callHandler(ctx context.Context, m *Message) (answer Answer) {
	if !Guard(c.options.Log, m, func() { answer = c.handler.ServeRequest(ctx, m) }) {
		return PanicAnswer()
	}
	return answer
}

func (c *Conn) takeNotification(m *Message) {
	Guard(c.options.Log, m, func() { c.handler.ServeNotification(m) })
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

// PanicAnswer returns the answer to a request whose handler panicked.
func PanicAnswer() Answer {
	return ErrorAnswer(CodeInternal, "internal error: this request made its handler panic; the log has the details")
}

// replyTo sends an answer, unless its request was cancelled: then the peer
// expects none.
func (c *Conn) replyTo(ctx context.Context, id string, answer Answer, entry *kept.Entry) {
	if isCancelled(context.Cause(ctx)) {
		answer.Free()
		entry.Void()
		return
	}
	f := newFrame()
	f.makeAnswer(id, answer)
	queued, err := c.writer.Send(c.ctx, f.parts, entry.Marks()...)
	if errors.Is(err, lines.ErrLong) {
		f.freeFrame()
		answer.Free()
		c.replyTo(ctx, id, ErrorAnswer(CodeInternal, "the request may have run, and its answer was dropped: "+err.Error()), entry)
		return
	}
	if err != nil {
		c.options.Log.Debug().Err(err).Msg("an answer could not be written")
		if queued {
			return // the Writer may still use it
		}
	}
	f.freeFrame()
	answer.Free()
}

// replyOnReadLoop works like replyTo for the read loop, which must not block.
func (c *Conn) replyOnReadLoop(id string, answer Answer) {
	f := newFrame()
	defer f.freeFrame()
	f.makeAnswer(id, answer)
	entry := c.openedEntry()
	if c.writer.TrySend(controlGap, f.parts, entry.Marks()...) {
		answer.Free()
		return
	}
	c.busy.Add(1)
	c.wg.Go(func() {
		defer c.busy.Done()
		c.replyTo(c.ctx, id, answer, entry)
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
	c.reader.Commit()
	entry := c.openedEntry()
	if !c.writer.TrySend(controlGap, f.parts, entry.Marks()...) {
		c.dropped.Add(1)
		entry.Void()
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

func (c *Conn) takeCancellation(m *Message) {
	id := m.Param("requestId")
	text, _ := String(m.Param("reason"))
	c.mu.Lock()
	request := c.tables.serving[string(id)]
	c.mu.Unlock()
	if request != nil {
		request.endWith(&CancelledError{Reason: text})
	}
}

// takeResponse takes an answer of the peer. Without a reader the frame of m is its own.
func (c *Conn) takeResponse(reader *lines.Reader, m *Message) {
	if !c.options.Strict && m.Result == nil && m.Error == nil {
		c.skipLine("a line that is no answer, such as one of a log", m.Frame) // it may bear the id of a call, which goes on
		return
	}
	call := c.forgetRaw(string(m.ID))
	if call == nil && c.options.Strict && m.Result == nil && m.Error == nil {
		c.refuseRequest(m.ID, CodeInvalidRequest, "a message needs a method, a result or an error")
		return
	}
	if call == nil {
		c.skipLine("an answer that nobody waits for", m.Frame)
		return
	}
	if (m.Result == nil) == (m.Error == nil) {
		c.broken.Add(1)
		call.finishWith(callOutcome{err: &BrokenError{"it has neither a result nor an error, or both"}})
		return
	}
	if call.handler != nil && len(m.Frame) <= lines.CopyLimit {
		c.lentResponse = Response{Result: m.Result, Error: m.Error, batch: &c.batch, lent: true}
		call.finishWith(callOutcome{resp: &c.lentResponse})
		return
	}
	frame, buf := m.Frame, (*lines.Buffer)(nil)
	if reader != nil {
		frame, buf = reader.Take()
	}
	res := &Response{Result: m.movedPart(frame, m.Result), Error: m.movedPart(frame, m.Error), buf: buf}
	call.finishWith(callOutcome{resp: res})
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
		c.takeNotJSON(line, code, reason, refuse)
		return
	}
	e, object := envelopeOf(line)
	var id []byte
	if text := e.ID(); text != "" {
		id = []byte(text)
	}
	switch {
	case !object && c.options.Strict:
		c.skipped.Add(1)
		refuse(nil, code, "refused: "+reason)
	case !object:
		c.endBroken(broken.Scan(line).Answers, reason, line)
	case e.Answer && !e.Method:
		c.endBroken(e.IDs, reason, line)
	case e.Method && !e.HasID:
		c.skipLine(reason, line)
	case e.Method || c.options.Strict:
		c.skipped.Add(1)
		refuse(id, code, "refused: "+reason)
	default:
		c.endBroken(e.IDs, reason, line)
	}
}

// takeNotJSON deals with a line that is no JSON, or too deep to be sure of that.
func (c *Conn) takeNotJSON(line []byte, code int64, reason string, refuse func(id []byte, code int64, text string)) {
	f := broken.Scan(line)
	c.endBroken(f.Answers, reason, line)
	id := f.Request()
	switch {
	case c.options.Strict && code == CodeParse:
		refuse(nil, code, "not JSON: "+reason) // the id must be null then
	case id != "":
		refuse([]byte(id), code, "refused: "+reason)
	case c.options.Strict:
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

func (c *Conn) takeTooLong(e *lines.TooLongError) {
	switch {
	case len(e.Found.Answers) > 0:
		c.endBroken(e.Found.Answers, e.Error(), nil)
	case e.Found.Request() != "":
		c.skipped.Add(1)
		c.refuseRequest([]byte(e.Found.Request()), CodeInvalidParams, "refused: "+e.Error())
	case c.options.Strict && !e.Found.Asks:
		c.refuseRequest(nil, CodeInvalidRequest, "refused: "+e.Error())
	default:
		c.skipLine(e.Error(), nil)
	}
}

// endBroken ends the calls that a broken line may have answered.
func (c *Conn) endBroken(ids []string, reason string, line []byte) {
	ended := false
	for _, id := range ids {
		if call := c.forgetRaw(id); call != nil {
			c.broken.Add(1)
			ended = true
			call.finishWith(callOutcome{err: &BrokenError{reason}})
		}
	}
	if !ended {
		c.skipLine(reason, line)
	}
}

func (c *Conn) skipLine(reason string, line []byte) {
	c.skipped.Add(1)
	if c.options.OnSkip != nil {
		c.batch.Flush() // it may write a log
		c.options.OnSkip(reason, line)
	}
}
